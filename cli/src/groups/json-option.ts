import type { JsonObject } from "../../../client/src/index.ts";
import { UsageError } from "../../../common/command-error.ts";
import { findInexact } from "../../../common/exact-json.ts";

/** The value of an option that is a JSON object, or `null` to clear the field. @throws UsageError if it cannot be kept exactly */
export function objectOrNull(name: string, text: string | undefined): JsonObject | null | undefined {
  if (text === undefined) return undefined;
  const value = parse(name, text);
  if (value === null) return null;
  const [issue] = findInexact(text, value);
  if (issue) throw new UsageError(`--${name} cannot be kept exactly: ${issue.path.join(".")}: ${issue.message}`);
  return value;
}

function parse(name: string, text: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(text);
    if (value === null || (typeof value === "object" && !Array.isArray(value))) return value as JsonObject | null;
  } catch {
    // The same sentence as for a value of another type.
  }
  throw new UsageError(`Give --${name} as a JSON object, such as '{"a":"b"}', or as null to clear it.`);
}
