const ASCII = /^[\0-\x7f]*$/;
/** Combining Diacritical Marks, the accents of European and Vietnamese letters (Unicode, block U+0300). */
const ACCENTS = /[\u0300-\u036f]+/g;

/** Whether a text folds to its lower case alone, which takes a fraction of the time. */
export const isAscii = (text: string): boolean => ASCII.test(text);

/**
 * The text without regard to case and accents, for comparison with other folded text: in compatibility decomposition (NFKD; Unicode,
 * UAX 15), without accents, in the lower case of no particular language. `ß` is `ss`, and a final sigma a sigma, as in capitals.
 */
export function fold(text: string): string {
  if (isAscii(text)) return text.toLowerCase();
  return text.normalize("NFKD").replace(ACCENTS, "").toLowerCase().replaceAll("ß", "ss").replaceAll("ς", "σ");
}
