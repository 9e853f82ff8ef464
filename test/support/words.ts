/** The words of a text, such as the names of fields. */
export const words = (text: string): string[] => text.trim().split(/\s+/);
