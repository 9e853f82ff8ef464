/** JSON's own escapes for the UTF-16 code units of a text, such as \u009b. */
const escapesOf = (text: string): string =>
  text.replaceAll(/[\s\S]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** Escapes what a terminal interprets or does not show: control, format and private-use characters, line separators. */
export const escapeInvisible = (text: string): string =>
  text.replaceAll(/[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]/gu, escapesOf);

/** A text of a user in quotation marks, so that it cannot be taken for another part of the line. */
export const quoted = (text: string): string => escapeInvisible(JSON.stringify(text));

/**
 * A line of JSON for a terminal. `JSON.stringify` escapes U+0000 to U+001F alone; terminals take U+0080 to U+009F for control
 * sequences too, and some readers end a line at U+2028 and U+2029. Such characters occur only in strings, so the JSON keeps its value.
 */
export const escapeJson = (json: string): string => json.replaceAll(/[\p{Cc}\u2028\u2029]/gu, escapesOf);

export const jsonLineOf = (value: object): string => escapeJson(JSON.stringify(value));

/** A text with its first letter in upper case. */
export const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
