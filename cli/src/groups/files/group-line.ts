import { attempt } from "../../../../common/attempt.ts";
import { CONTENT, GROUP_FIELDS } from "../../../../common/content.ts";
import { parseExact } from "../../../../common/exact-json.ts";
import type { Line } from "../../support/lines.ts";
import type { Refusal } from "../../support/transport.ts";
import { cellOf, IGNORED, OBJECT_FIELDS } from "./csv-cells.ts";

/** The published names of the fields that an update can change. */
const COMPARED = GROUP_FIELDS.map((field) => CONTENT[field].column);

/** The group of a line: the body of the GET that creates it, and whether it is suspended, if the line says so. */
export type GroupLine = {
  fields: Fields;
  suspended: boolean | undefined;
  /** Whether the line changes only those keys of `mapping` and `properties` that it contains, as a row of a CSV does. */
  isPartial?: true;
};

/** One line of an import: its group, or the reason why it has none. `end` is the progress of the file after it. */
export type ImportLine = { number: number; end: number; group?: GroupLine; refusal?: Refusal };

/** The fields of a group, of a line or as GET /api/user_groups/{team_id} returns it, by their published names. */
type Fields = Record<string, unknown>;

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** The group of a line, or the reason why there is none; neither for an empty line. */
export function readLine({ bytes }: Line): { group?: GroupLine; refusal?: Refusal } {
  if (!bytes) return { refusal: { code: "body_too_large", message: "The line is larger than 1 MiB." } };
  const text = attempt(() => utf8.decode(bytes));
  if (text?.trim() === "") return {};
  // Checked here, because the call sends the parsed value again: the service would not see what JSON.parse has changed.
  const { value, issues } = parseExact(text ?? "");
  if (issues.length > 0)
    return { refusal: { code: "invalid_body", message: "The line cannot be kept exactly.", issues } };
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return { refusal: { code: "malformed_json", message: "The line is not a JSON object in UTF-8." } };
  const { state, ...rest } = Object.fromEntries(Object.entries(value));
  if (state !== undefined && state !== "active" && state !== "suspended")
    return { refusal: { code: "invalid_body", message: "Give the state active or suspended, or leave it out." } };
  const fields = Object.entries(rest)
    .filter(([name]) => !IGNORED.includes(name))
    .map(([name, field]) => [name === "provided_id" && !("user_group_id" in value) ? "user_group_id" : name, field]);
  return {
    group: { fields: Object.fromEntries(fields), suspended: state === undefined ? undefined : state === "suspended" },
  };
}

/** The fields of a PUT that makes the current group what its line says. A field that the line leaves out stays. */
export function differencesOf({ fields, suspended, isPartial }: GroupLine, current: Fields): Fields {
  const wanted = isPartial ? { ...fields, ...mergedObjects(fields, current) } : fields;
  const differing = COMPARED.filter((name) => name in wanted && !isSame(wanted[name], current[name]));
  return {
    ...Object.fromEntries(differing.map((name) => [name, wanted[name]])),
    ...(suspended !== undefined && suspended !== (current.state === "suspended") && { suspended }),
  };
}

/** Adds the group's other keys to the objects of a line. A value that gives the same cell stays, whatever its type. */
const mergedObjects = (fields: Fields, current: Fields) =>
  Object.fromEntries(
    OBJECT_FIELDS.flatMap((name) => {
      if (!(name in fields)) return [];
      const before = Object(current[name]);
      const changed = Object.entries(Object(fields[name])).filter(
        ([key, value]) => cellOf(ownOf(before, key)) !== value,
      );
      return [[name, changed.length === 0 ? current[name] : { ...before, ...Object.fromEntries(changed) }]];
    }),
  );

/** The value of a key of an object itself, which may be no object. */
export const ownOf = (value: unknown, key: string): unknown =>
  Object.hasOwn(Object(value), key) ? Reflect.get(Object(value), key) : undefined;

/** The names of the fields that differ, for people; of `mapping` and `properties`, the name of each key. */
export const changedNames = (differences: Fields, current: Fields): string[] =>
  Object.entries(differences).flatMap(([name, value]) => {
    if (name === "suspended") return ["state"];
    const [before, after] = [current[name], value];
    if (!isObject(before) || !isObject(after)) return [name];
    const keys = Object.keys({ ...before, ...after });
    return keys.filter((key) => !isSame(ownOf(before, key), ownOf(after, key))).map((key) => `${name}.${key}`);
  });

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;

/** Whether the values are the same JSON text, as the service compares them. */
const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);
