/** Above this, the indentation of deeply nested objects would make a page many times as long as what is stored. */
const PRETTY_UNITS_MAX = 24_000;

/** A stored object with line breaks; empty for none, and as it is stored if the line breaks would make it too long. */
export function prettyJson(text: string | null): string {
  if (text === null) return "";
  const pretty = JSON.stringify(JSON.parse(text), null, 2);
  return pretty.length <= PRETTY_UNITS_MAX ? pretty : text;
}
