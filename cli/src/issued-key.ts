/** What `ug keys` and `ug operators` share. */
import type { Output } from "./command.ts";
import { readSeconds } from "./option-values.ts";
import type { ServiceOptions } from "./service-access.ts";

export const GRACE = [
  "--grace <time>",
  "how long the old key stays valid; by default not at all",
  readSeconds,
] as const;

export type RollOptions = ServiceOptions & { grace?: number };

/** When the key that a roll replaces ends. */
export const endOf = (graceSeconds: number | undefined): string =>
  graceSeconds ? `which stays valid for ${graceSeconds} s` : "which ends at once";

/** The output of a command that has issued a key: the item that has it, as JSON and as a table. `issued` names the key. */
export const issuedOutput = (key: string, item: object, table: string, issued: string): Output => ({
  body: { success: 1, ...item, key },
  text: `${table}\n\nThe key, shown this once:\n\n${key}`,
  issued,
});
