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

/** The values of the settings. */
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
  LOG_CLIENT_ADDRESS: "refused" | "all" | "none";
  /** Milliseconds. */
  EVENT_DAYS: number;
  UNDO_DAYS: number;
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
  PUBLIC_URL: {
    read: (text) => (text === "" ? ok(undefined) : text === LOOPBACK_ONLY ? ok(text) : originIn(text)),
    advice: PUBLIC_URL_ADVICE,
  },
  // As in 1.0, which took only these words for permission.
  BROWSER_TOKENS: { ...oneOf(["allow", "refuse"]), empty: "refuse" },
  CONSOLE: { ...oneOf(["on", "off"]), empty: "off" },
  JURISDICTION: {
    read: (text) => (text === "" ? ok(undefined) : oneOf<Jurisdiction>(JURISDICTIONS).read(text)),
    advice: "Give eu or us, or leave it empty.",
  },
  CLIENT_ADDRESS_HEADER: {
    read: (text) => {
      if (text === "") return ok(undefined);
      return HEADER_NAME.test(text) ? ok(text) : fail("it is no name of a header");
    },
    advice: "Give a name such as X-Real-IP, or leave it empty.",
  },
  LOG_CLIENT_ADDRESS: oneOf(["refused", "all", "none"]),
  EVENT_DAYS: days(EVENT_DAYS_DEFAULT),
  UNDO_DAYS: days(UNDO_DAYS_DEFAULT),
};

/** The names of all settings. */
export const SETTING_NAMES = Object.keys(SETTINGS).filter((name): name is SettingName => name in SETTINGS);

/** One of some words. */
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

/** A sentence for each setting that cannot be read. */
export const unreadableSettings = (texts: SettingTexts): string[] =>
  SETTING_NAMES.flatMap((name) => {
    const setting = readSetting(texts, name);
    return setting.ok ? [] : [setting.failure];
  });

/**
 * For how long a deleted group can be restored, in milliseconds. While the setting cannot be read, nothing is purged: somebody may
 * have been promised more than the default.
 */
export const undoMsOf = (texts: SettingTexts): number => keptMs(readSetting(texts, "UNDO_DAYS"));

/** For how long events are kept, in milliseconds. While the setting cannot be read, none is deleted. */
export const eventMsOf = (texts: SettingTexts): number => keptMs(readSetting(texts, "EVENT_DAYS"));

const keptMs = (setting: Result<number, string>): number => (setting.ok ? setting.value : DAYS_MAX * DAY_MS);

/** Whether the console is on. While the setting cannot be read, it is off. */
export function hasConsole(texts: SettingTexts): boolean {
  const setting = readSetting(texts, "CONSOLE");
  return setting.ok && setting.value === "on";
}
