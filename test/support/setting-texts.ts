import type { SettingName } from "../../common/settings/settings.ts";

const KEY = Buffer.alloc(32, 3).toString("base64");
const TOKEN = "an-operator-token-of-more-than-32";

/** What surrounds a text that somebody has pasted, or that a program has written in its own way; and nothing but a blank. */
const slipsIn = (text: string): string[] => [`"${text}"`, ` ${text}`, `${text} `, `${text}\r`, `${text}\0`, " "];

const DAYS = {
  good: ["", "0", "30", "0.25", "0.00005", "36500"],
  wrong: [
    ...slipsIn("7"),
    ...["-3", "ninety", "7d", "7 days", "1,5", "36501", "1e3", "٧", "NaN", "Infinity", "0x7", "+7"],
  ],
};

/** What each setting can be, and mistakes that people make. An empty text is the default, but `SIGNING_KEYS` has none. */
export const SETTING_TEXTS: Record<SettingName, { good: readonly string[]; wrong: readonly string[] }> = {
  SIGNING_KEYS: {
    good: [`k1:${KEY}`, `k2:${KEY},k1:${KEY}`],
    wrong: [
      KEY,
      "k1:",
      `k1=${KEY}`,
      `"k1:${KEY}"`,
      `k1:${KEY};k2:${KEY}`,
      `k1:${KEY},k1:${KEY}`,
      `k1:${KEY},`,
      `k 1:${KEY}`,
      `k1:${KEY}\0`,
      `k1:${Buffer.alloc(31, 3).toString("base64")}`,
      `k1:${Buffer.alloc(65, 3).toString("base64")}`,
      `k1:${KEY.slice(0, -2)}é=`,
    ],
  },
  OPERATOR_TOKEN: {
    good: ["", "short", TOKEN, `"${TOKEN}"`],
    wrong: [
      `${TOKEN}\r`,
      `${TOKEN}\n`,
      `${TOKEN} `,
      ` ${TOKEN}`,
      `${TOKEN}\t`,
      `${TOKEN} and more`,
      `${TOKEN}\0`,
      `${TOKEN}é`,
      `${TOKEN}\u00a0`,
      `${TOKEN}\u200b`,
      `\ufeff${TOKEN}`,
      `${TOKEN}\u007f`,
    ],
  },
  PUBLIC_URL: {
    good: ["", "https://groups.example.com", "https://groups.example.com/", "http://localhost:8787", "loopback"],
    wrong: [
      ...slipsIn("https://groups.example.com"),
      "'https://groups.example.com'",
      "groups.example.com",
      "https://groups.example.com/path",
      "http://groups.example.com",
      "ftp://groups.example.com",
      "https://",
      "https://*.example.com",
      `https://${"x".repeat(300)}.example.com`,
      "Loopback",
    ],
  },
  BROWSER_TOKENS: {
    good: ["", "allow", "refuse"],
    wrong: [...slipsIn("allow"), "alow", "Allow", "REFUSE", "no", "false", "0"],
  },
  CONSOLE: { good: ["", "on", "off"], wrong: [...slipsIn("off"), "yes", "On", "OFF", "true", "1", "of"] },
  JURISDICTION: {
    good: ["", "eu", "us"],
    wrong: [...slipsIn("eu"), "fr", "EU", "eu,us", "europe", "fedramp", "0"],
  },
  LOG_CLIENT_ADDRESS: {
    good: ["", "credentials", "refused", "all", "none"],
    wrong: [...slipsIn("all"), "Refused", "credential", "Credentials", "ALL", "off", "false", "1", "refuse"],
  },
  CLIENT_ADDRESS_HEADER: {
    good: ["", "X-Real-IP", "CF-Connecting-IP"],
    wrong: [
      ...slipsIn("X-Real-IP"),
      ...["X Real IP", "X-Real-IP:", "X-Real-IP,X-Forwarded-For", "X-Réal-IP", "(X-Real-IP)", "X-Real-IP\u200b"],
    ],
  },
  EVENT_DAYS: DAYS,
  UNDO_DAYS: DAYS,
  SSO_HEADER: {
    good: ["", "Cf-Access-Jwt-Assertion", "X-Goog-IAP-JWT-Assertion"],
    wrong: [
      ...slipsIn("X-Assertion"),
      ...["Authorization", "authorization", "Proxy-Authorization", "Cookie"],
      ...["X-Assertion:", "X Assertion", "X-Assertion,X-Other", "X-Assertión"],
    ],
  },
  SSO_ISSUER: {
    good: ["", "https://acme.cloudflareaccess.com", "http://127.0.0.1:8080/realms/acme/"],
    wrong: urlMistakes("https://acme.cloudflareaccess.com"),
  },
  SSO_AUDIENCE: {
    good: [
      "",
      "4714c1358e65fe4b408ad6d432a5f878f08194bdb4752441fd56faefa9b2b6f2",
      "/projects/1/global/backendServices/2",
    ],
    wrong: [...slipsIn("a"), "'a'", "a b", '["a"]', "a,b", "á", "a\u200b", "a".repeat(256)],
  },
  SSO_JWKS_URL: {
    good: ["", "https://acme.cloudflareaccess.com/cdn-cgi/access/certs", "http://localhost:8080/jwks?a=b"],
    wrong: urlMistakes("https://acme.cloudflareaccess.com/cdn-cgi/access/certs"),
  },
};

/** The settings that are set together, or not at all. */
const TOGETHER: SettingName[] = ["SSO_HEADER", "SSO_ISSUER", "SSO_AUDIENCE", "SSO_JWKS_URL"];

/** This text of a setting, with good ones of those that it needs beside it. */
export function withOthers(name: SettingName, text: unknown): { [Name in SettingName]?: unknown } {
  const others = TOGETHER.includes(name) && text !== "" ? TOGETHER : [];
  return { ...Object.fromEntries(others.map((other) => [other, SETTING_TEXTS[other].good[1]])), [name]: text };
}

function urlMistakes(url: string): string[] {
  return [
    ...slipsIn(url),
    `'${url}'`,
    "acme.cloudflareaccess.com",
    url.replace("https:", "http:"),
    url.replace("https:", "ftp:"),
    `${url}#keys`,
    `${url},${url}`,
    url.replace("https://", "https://user:password@"),
    url.replace("acme", "ácme"),
    "https://",
    `${url}/${"x".repeat(500)}`,
  ];
}

/** The parts of a text that no message may repeat. */
export const secretsIn = (name: SettingName, text: string): string[] =>
  name === "SIGNING_KEYS" || name === "OPERATOR_TOKEN" ? (text.match(/[\w+/-]{16,}/g) ?? []) : [];
