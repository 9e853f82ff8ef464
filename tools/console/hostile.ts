/** Names and properties that a page must show as text, and that must not break its layout. */

const LEVELS = 31;
const BYTES = 16 * 1024;

/** 31 levels of objects around a text that fills 16 KiB. */
function nested(): object {
  const inner = JSON.parse(`${'{"a":'.repeat(LEVELS)}"x"${"}".repeat(LEVELS)}`);
  const size = JSON.stringify(inner).length - 1;
  return JSON.parse(JSON.stringify(inner).replace('"x"', JSON.stringify("<b>".padEnd(BYTES - size, "x"))));
}

/** Texts that ids, names and reasons of groups may have. */
export const HOSTILE_TEXTS: Record<string, string> = {
  markup: "<img src=x onerror=\"document.title='run'\"><script>document.title='run'</script><b>&amp;",
  attribute: `" autofocus onfocus="document.title='run'" x='`,
  bidi: "\u202Egnp.exe\u202C \u2066 right to left \u05D0\u05D1",
  "zero width": "zero\u200Bwidth\uFEFF \u2060\u3164",
  long: "W".repeat(255),
  blanks: "  blanks ",
  script: "javascript:document.title='run'",
  cjk: "客".repeat(255),
  emoji: "👩🏽‍🚀 ❤️‍🔥 🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f} 👨‍👩‍👧‍👦",
  combining: `Z\u0301${"\u0323\u0307".repeat(60)}`,
};

/** Those of the texts that a key may have as its name, which must be visible and not imitate another. */
export const HOSTILE_KEY_NAMES = [HOSTILE_TEXTS.markup, HOSTILE_TEXTS.attribute, HOSTILE_TEXTS.long].map(String);

/** What groups may have as properties. */
export const HOSTILE_PROPERTIES: Record<string, object> = {
  nested: nested(),
  keys: Object.fromEntries(Object.values(HOSTILE_TEXTS).map((text) => [text, text])),
  url: { homepage: "javascript:document.title='run'", list: ["<script>document.title='run'</script>", "\u202E"] },
  wide: { words: "W".repeat(8000) },
};
