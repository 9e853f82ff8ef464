/** The release after another one, planted as edits of the present code: what it may add while both run side by side. */
import type { Edit } from "./skewed-workerd.ts";

/** A new column, a new RPC method that its Worker does not call yet, a new type of event. */
export const GROWN_OBJECTS: Edit[] = [
  {
    file: "src/storage/schema.ts",
    from: "];\n\n/** The schema of the registry. */",
    to: `  { number: 99, readableBy: 18, statements: "ALTER TABLE user_groups ADD COLUMN colour TEXT; ALTER TABLE deleted_groups ADD COLUMN colour TEXT;" },
];

/** The schema of the registry. */`,
  },
  {
    file: "src/records.ts",
    from: '  "user_group.updated",\n',
    to: '  "user_group.updated",\n  "user_group.localized",\n',
  },
  {
    file: "src/domain/feed/event.ts",
    from: 'return "user_group.updated";',
    to: 'return after.name.startsWith("localized") ? "user_group.localized" : "user_group.updated";',
  },
  {
    file: "src/domain/group-directory.ts",
    from: "  /** Writes to the disk, and keeps nothing.",
    to: "  countColours(): number {\n    return 0;\n  }\n\n  /** Writes to the disk, and keeps nothing.",
  },
];

/** A new claim of sessions, and a new field of the group in a session that answers for itself. */
export const GROWN_SESSIONS: Edit[] = [
  {
    file: "src/domain/credentials/viewer-session.ts",
    from: "  exp: claims.expiresAtSeconds,\n",
    to: '  exp: claims.expiresAtSeconds,\n  ug_colour: "red",\n',
  },
  {
    file: "src/domain/credentials/viewer-session.ts",
    from: "group: claims.stale.group }",
    to: 'group: { ...claims.stale.group, colour: "red" } }',
  },
];

/** A new field of groups, which requests may set and answers, leases and sessions have: the column of `GROWN_OBJECTS`. */
export const GROWN_GROUPS: Edit[] = [
  {
    file: "common/content.ts",
    from: '  properties: { column: "properties",',
    to: '  colour: { column: "colour", kind: "text", max: 20, isNullable: true },\n  properties: { column: "properties",',
  },
];
