/** The number in a path; 0, which nothing has, for anything that is not the one spelling of a number. */
export const pathNumber = (text: string): number => (/^[1-9]\d{0,14}$/.test(text) ? Number(text) : 0);
