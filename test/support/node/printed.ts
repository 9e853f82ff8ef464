import type { Readable } from "node:stream";

/** The text that streams of a process have printed, which grows as they print more. */
export function printedOn(...streams: (Readable | null)[]): { text: string } {
  const printed = { text: "" };
  for (const stream of streams)
    stream?.on("data", (data) => {
      printed.text += data;
    });
  return printed;
}
