/** Parses a positive integer in its only spelling; returns 0, an id never used, otherwise. */
export const pathNumber = (text = ""): number => (/^[1-9]\d{0,14}$/.test(text) ? Number(text) : 0);
