import type { SettingName } from "../../common/settings/settings.ts";

const KEY = Buffer.alloc(32, 3).toString("base64");
const TOKEN = "an-operator-token-of-more-than-32";

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
      "groups.example.com",
      "https://groups.example.com/path",
      "https://groups.example.com ",
      '"https://groups.example.com"',
      "'https://groups.example.com'",
      "https://groups.example.com\r",
      "http://groups.example.com",
      "ftp://groups.example.com",
      "https://",
      "https://*.example.com",
      "https://groups.example.com\0",
      `https://${"x".repeat(300)}.example.com`,
      "Loopback",
      " ",
    ],
  },
  BROWSER_TOKENS: {
    good: ["", "allow", "refuse"],
    wrong: ["alow", "Allow", "REFUSE", "refuse ", " allow", "allow\r", '"refuse"', "no", "false", "0", "refuse\0", " "],
  },
  CONSOLE: {
    good: ["", "on", "off"],
    wrong: ["yes", "On", "OFF", "off ", " on", "on\r", '"off"', "true", "1", "off\0", "of", " "],
  },
  JURISDICTION: {
    good: ["", "eu", "us"],
    wrong: ["fr", "EU", "eu ", " us", "eu\r", '"eu"', "eu,us", "europe", "fedramp", "eu\0", "0", " "],
  },
  LOG_CLIENT_ADDRESS: {
    good: ["", "refused", "all", "none"],
    wrong: ["Refused", "ALL", "none ", " none", "all\r", '"all"', "off", "false", "1", "none\0", "refuse", " "],
  },
  CLIENT_ADDRESS_HEADER: {
    good: ["", "X-Real-IP", "CF-Connecting-IP"],
    wrong: [
      "X-Real-IP ",
      " X-Real-IP",
      "X Real IP",
      "X-Real-IP:",
      '"X-Real-IP"',
      "X-Real-IP\r",
      "X-Real-IP\0",
      "X-Real-IP,X-Forwarded-For",
      "X-Réal-IP",
      "(X-Real-IP)",
      "X-Real-IP\u200b",
      " ",
    ],
  },
  EVENT_DAYS: daysTexts(),
  UNDO_DAYS: daysTexts(),
};

function daysTexts() {
  return {
    good: ["", "0", "30", "0.25", "0.00005", "36500"],
    wrong: [
      "-3",
      "ninety",
      "7d",
      "7 days",
      "1,5",
      '"7"',
      "7\r",
      " 7",
      "36501",
      "1e3",
      "٧",
      "7\0",
      "NaN",
      "Infinity",
      "0x7",
      "+7",
      " ",
    ],
  };
}

/** The parts of a text that no message may repeat. */
export const secretsIn = (name: SettingName, text: string): string[] =>
  name === "SIGNING_KEYS" || name === "OPERATOR_TOKEN" ? (text.match(/[\w+/-]{16,}/g) ?? []) : [];
