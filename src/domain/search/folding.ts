const ASCII = /^[\0-\x7f]*$/;
/** Combining Diacritical Marks, the accents of European and Vietnamese letters (Unicode, block U+0300). */
const ACCENTS = /[\u0300-\u036f]+/g;

/** Letters that have no decomposition, with what people type in their place: strokes, ligatures, and a final sigma. */
const LETTERS: Record<string, string> = {
  ß: "ss",
  æ: "ae",
  œ: "oe",
  þ: "th",
  ø: "o",
  ł: "l",
  đ: "d",
  ð: "d",
  ħ: "h",
  ŧ: "t",
  ı: "i",
  ς: "σ",
};
const WITHOUT_DECOMPOSITION = new RegExp(`[${Object.keys(LETTERS).join("")}]`, "g");

/** Whether a text folds to its lower case alone, which takes a fraction of the time. */
export const isAscii = (text: string): boolean => ASCII.test(text);

/**
 * The text without regard to case and accents, for comparison with other folded text: in compatibility decomposition (NFKD; Unicode,
 * UAX 15), without accents, in the lower case of no particular language. A letter with a stroke is the letter, and a ligature is its letters.
 */
export function fold(text: string): string {
  if (isAscii(text)) return text.toLowerCase();
  const lower = text.normalize("NFKD").replace(ACCENTS, "").toLowerCase();
  return lower.replace(WITHOUT_DECOMPOSITION, (letter) => LETTERS[letter] ?? letter);
}
