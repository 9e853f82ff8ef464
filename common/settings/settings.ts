import { DAY_MS, DAYS_MAX, EVENT_DAYS_DEFAULT, OPERATOR_TOKEN_UNITS_MIN, UNDO_DAYS_DEFAULT } from "../limits.ts";
import { isProtected, normalizeOrigin } from "../origin.ts";
import { fail, ok, type Result } from "../result.ts";
import { readSigningKeys, type SigningKey } from "./signing-keys.ts";

/**
 * The settings of a deployment: the variables and secrets of the Worker. The Worker, `/ready`, `ug serve` and `ug doctor` read them
 * here alone. Nothing here does I/O, and Node runs it too.
 */

/** Where the platform keeps the Durable Objects of a deployment (Durable Objects, "Data location"). */
const JURISDICTIONS = ["eu", "us"] as const;
export type Jurisdiction = (typeof JURISDICTIONS)[number];

/** The value of PUBLIC_URL under which only the hosts of this machine count. `ug serve` sets it if there is no other. */
export const LOOPBACK_ONLY = "loopback";

type Values = {
  SIGNING_KEYS: SigningKey[];
  /** `undefined` if it is missing or short: then it admits nobody. */
  OPERATOR_TOKEN: string | undefined;
  /** An origin, or `LOOPBACK_ONLY`, or `undefined` for the origin of each request. */
  PUBLIC_URL: string | undefined;
  BROWSER_TOKENS: "allow" | "refuse";
  CONSOLE: "on" | "off";
  JURISDICTION: Jurisdiction | undefined;
  /** `undefined` for the other end of the connection. */
  CLIENT_ADDRESS_HEADER: string | undefined;
  LOG_CLIENT_ADDRESS: "credentials" | "refused" | "all" | "none";
  /** Milliseconds. */
  EVENT_DAYS: number;
  UNDO_DAYS: number;
  /** Those of the sign-in with the company; each is `undefined` if it is not set up. `ssoIn` reads them together. */
  SSO_HEADER: string | undefined;
  SSO_ISSUER: string | undefined;
  SSO_AUDIENCE: string | undefined;
  SSO_JWKS_URL: string | undefined;
};

export type SettingName = keyof Values;

/** The texts of the settings. One that is missing is `undefined`, or `null` in workerd. Without quotation marks in wrangler.toml, one is a number. */
export type SettingTexts = { readonly [Name in SettingName]?: unknown };

/**
 * Reads the text of a setting. `advice` says how to fix one that cannot be read. No failure quotes the text, which may be a secret.
 * `empty` is the value of an empty text, if that differs from the value of a missing one.
 */
type Setting<Value> = { read: (text: string) => Result<Value, string>; advice: string; empty?: Value };

/** How to set a secret. */
export const howToSet = (name: string): string =>
  `On Cloudflare, set it with: npx wrangler secret put ${name}. On one box, set it in the file of --env-file.`;

export const PUBLIC_URL_ADVICE =
  "Set PUBLIC_URL to the origin by which users reach this service, such as https://groups.example.com, without a path. http is for " +
  "localhost, 127.0.0.1 and [::1] alone.";

/** A name of a header (RFC 9110, section 5.1). `Headers` throws for anything else. */
const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]+$/;
const DAYS = /^\d{1,10}(?:\.\d{1,40})?$/;
/** What a header can carry without a blank. */
const TOKEN = /^[\x21-\x7e]*$/;
/** An audience is a name, a number, a path or a URL. A comma or a quotation mark in one is a mistake. */
const AUDIENCE = /^[\w.:/@~+=%-]{1,255}$/;
const URL_UNITS_MAX = 500;

const SETTINGS: { readonly [Name in SettingName]: Setting<Values[Name]> } = {
  SIGNING_KEYS: {
    read: readSigningKeys,
    advice: `Correct it, and make no new key: the service refuses every credential that a missing key has signed. ${howToSet("SIGNING_KEYS")}`,
  },
  OPERATOR_TOKEN: {
    read: (text) =>
      TOKEN.test(text)
        ? ok(text.length >= OPERATOR_TOKEN_UNITS_MIN ? text : undefined)
        : fail("it has a blank, a line break or another character that a header cannot carry"),
    advice: howToSet("OPERATOR_TOKEN"),
  },
  PUBLIC_URL: optional((text) => (text === LOOPBACK_ONLY ? ok(text) : originIn(text)), PUBLIC_URL_ADVICE),
  // As in 1.0, which took only these words for permission.
  BROWSER_TOKENS: { ...oneOf(["allow", "refuse"]), empty: "refuse" },
  CONSOLE: { ...oneOf(["on", "off"]), empty: "off" },
  JURISDICTION: optional(oneOf<Jurisdiction>(JURISDICTIONS).read, "Give eu or us, or leave it empty."),
  CLIENT_ADDRESS_HEADER: optional(headerName, "Give a name such as X-Real-IP, or leave it empty."),
  LOG_CLIENT_ADDRESS: oneOf(["credentials", "refused", "all", "none"]),
  EVENT_DAYS: days(EVENT_DAYS_DEFAULT),
  UNDO_DAYS: days(UNDO_DAYS_DEFAULT),
  SSO_HEADER: optional((text) => {
    const isTaken = CREDENTIAL_HEADERS.includes(text.toLowerCase());
    return isTaken ? fail("this header carries other credentials") : headerName(text);
  }, "Give the header in which the proxy sends its assertion, such as Cf-Access-Jwt-Assertion, or leave it empty."),
  SSO_ISSUER: optional(
    httpsUrl,
    "Give the claim iss of the proxy's assertions to the letter, such as https://acme.cloudflareaccess.com, or leave it empty.",
  ),
  SSO_AUDIENCE: optional(
    (text) => (AUDIENCE.test(text) ? ok(text) : fail("it is no name of one application")),
    "Give the claim aud of the proxy's assertions to the letter, without quotation marks, or leave it empty.",
  ),
  SSO_JWKS_URL: optional(
    httpsUrl,
    "Give the URL of the proxy's public keys, such as https://acme.cloudflareaccess.com/cdn-cgi/access/certs, or leave it empty.",
  ),
};

/** What the service and browsers read in these headers is no assertion. */
const CREDENTIAL_HEADERS = ["authorization", "proxy-authorization", "cookie"];

/** The names of all settings. */
export const SETTING_NAMES = Object.keys(SETTINGS).filter((name): name is SettingName => name in SETTINGS);

function oneOf<Word extends string>(words: readonly [Word, ...Word[]]): Setting<Word> {
  const [byDefault] = words;
  return {
    read: (text) => {
      const word = text === "" ? byDefault : words.find((each) => each === text);
      return word ? ok(word) : fail(`it is neither ${words.join(" nor ")}`);
    },
    advice: `Give ${words.join(" or ")}, or leave it out for ${byDefault}.`,
  };
}

/** A number of days, fractions allowed, in milliseconds. A time in the far future would be no valid date. */
function days(daysByDefault: number): Setting<number> {
  return {
    read: (text) => {
      const number = text === "" ? daysByDefault : DAYS.test(text) ? Number(text) : Number.NaN;
      return number <= DAYS_MAX ? ok(number * DAY_MS) : fail(`it is no number from 0 to ${DAYS_MAX}`);
    },
    advice: `Give a number of days without a unit, such as 30 or 0.5, or leave it empty for ${daysByDefault}.`,
  };
}

function optional<Value extends string>(read: Setting<Value>["read"], advice: string): Setting<Value | undefined> {
  return { read: (text) => (text === "" ? ok(undefined) : read(text)), advice };
}

function headerName(text: string): Result<string, string> {
  return HEADER_NAME.test(text) ? ok(text) : fail("it is no name of a header");
}

/** A URL with https, or with http on this machine. It stays as it is written, because an issuer is compared to the letter. */
function httpsUrl(text: string): Result<string, string> {
  const url =
    TOKEN.test(text) && /^https?:\/\/[^\\"'<>,]+$/.test(text) && URL.canParse(text) ? new URL(text) : undefined;
  if (!url || text.length > URL_UNITS_MAX || url.username !== "" || url.password !== "" || text.includes("#"))
    return fail("it is no URL");
  return isProtected(url) ? ok(text) : fail("it is no URL with https");
}

function originIn(text: string): Result<string, string> {
  // The URL parser would leave control characters out.
  const origin = /\p{Cc}/u.test(text) ? fail("") : normalizeOrigin(text);
  return origin.ok && isProtected(new URL(origin.value)) ? origin : fail("it is no origin with https");
}

/** Reads one setting; an empty text means its default, but for those with an `empty` of their own. A failure is a sentence that says how to fix it. */
export function readSetting<Name extends SettingName>(texts: SettingTexts, name: Name): Result<Values[Name], string> {
  const { read, advice, empty } = SETTINGS[name];
  const text = String(texts[name] ?? "");
  const result = texts[name] === "" && empty !== undefined ? ok(empty) : read(text);
  if (result.ok) return result;
  return fail(
    text === "" ? `${name} is missing. ${howToSet(name)}` : `${name} cannot be read: ${result.failure}. ${advice}`,
  );
}

/** The value of a setting, or `otherwise` while it cannot be read. */
export function settingOr<Name extends SettingName>(
  texts: SettingTexts,
  name: Name,
  otherwise: Values[Name],
): Values[Name] {
  const setting = readSetting(texts, name);
  return setting.ok ? setting.value : otherwise;
}

/** A setting, or the first of several, that cannot be used, and a sentence that says how to fix it. */
export type UnusableSetting = { name: SettingName; problem: string };

/** The settings that cannot be read, and those that lack others. */
export function unusableSettings(texts: SettingTexts): UnusableSetting[] {
  const unreadable = SETTING_NAMES.flatMap((name) => {
    const setting = readSetting(texts, name);
    return setting.ok ? [] : [{ name, problem: setting.failure }];
  });
  const missing = SSO_NAMES.filter((name) => isEmpty(texts, name));
  const [name] = missing;
  if (name === undefined || missing.length === SSO_NAMES.length) return unreadable;
  const problem = `${missing.join(" and ")} ${missing.length > 1 ? "are" : "is"} missing. Set all of ${SSO_NAMES.join(", ")}, or none of them.`;
  return [...unreadable, { name, problem }];
}

/** A sentence for each setting that cannot be used. */
export const unreadableSettings = (texts: SettingTexts): string[] =>
  unusableSettings(texts).map(({ problem }) => problem);

const SSO_NAMES = ["SSO_HEADER", "SSO_ISSUER", "SSO_AUDIENCE", "SSO_JWKS_URL"] as const;

const isEmpty = (texts: SettingTexts, name: SettingName): boolean => (texts[name] ?? "") === "";

/** How operators sign in with their company: the header of the assertion, its claims `iss` and `aud`, and the URL of its keys. */
export type Sso = { header: string; issuer: string; audience: string; jwksUrl: string };

/** The sign-in with the company; `undefined` if it is not set up, or if one of its settings cannot be read. */
export function ssoIn(texts: SettingTexts): Sso | undefined {
  const [header, issuer, audience, jwksUrl] = SSO_NAMES.map((name) => settingOr(texts, name, undefined));
  return header && issuer && audience && jwksUrl ? { header, issuer, audience, jwksUrl } : undefined;
}

/**
 * For how long a deleted group can be restored, in milliseconds. While the setting cannot be read, nothing is purged: somebody may
 * have been promised more than the default.
 */
export const undoMsOf = (texts: SettingTexts): number => settingOr(texts, "UNDO_DAYS", DAYS_MAX * DAY_MS);

/** For how long events are kept, in milliseconds. While the setting cannot be read, none is deleted. */
export const eventMsOf = (texts: SettingTexts): number => settingOr(texts, "EVENT_DAYS", DAYS_MAX * DAY_MS);

/** Whether the console is on. While the setting cannot be read, it is off. */
export const hasConsole = (texts: SettingTexts): boolean => settingOr(texts, "CONSOLE", "off") === "on";
