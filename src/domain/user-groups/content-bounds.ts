const utf8 = new TextEncoder();

/** Why `what` may not be this JSON, if it may not: it has more than `bytesMax` bytes. */
export function sizeRefusal(what: string, json: string, bytesMax: number): string | undefined {
  const bytes = utf8.encode(json).length;
  return bytes > bytesMax ? `The ${what} are ${bytes} bytes of JSON; ${bytesMax} is the most.` : undefined;
}

/** Why a mapping may not have so many entries, if it may not. */
export const entriesRefusal = (entries: number, most: number): string | undefined =>
  entries > most ? `A mapping of ${entries} entries is too large; ${most} is the most.` : undefined;
