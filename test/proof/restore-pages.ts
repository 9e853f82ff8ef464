/** Pages for `POST /api/restore`: a real backup, and what differs from it in one place. */
import { createHash } from "node:crypto";
import fc from "fast-check";

/** Into how many environments the pages go. Each takes one whole backup, and is full then. */
const ENVIRONMENTS = 200;

/** The page of these lines, with the hash that it must have. */
export function pageOf(lines: readonly string[], number = 1, nextCursor: string | null = null): string {
  const text = lines.map((line) => `${line}\n`).join("");
  const sha256 = createHash("sha256").update(text).digest("hex");
  return `${text}${JSON.stringify({ kind: "page", number, next_cursor: nextCursor, sha256 })}\n`;
}

/** A page, and the workspace whose environment Testing it is sent to. */
export type RestorePage = { workspace: string; body: Buffer };

/** A backup of one page as another environment's, whole or with one mistake, of which most are behind a right hash. */
export function restorePages(backup: string, values: fc.Arbitrary<unknown>): fc.Arbitrary<RestorePage> {
  const lines = backup.trimEnd().split("\n").slice(0, -1);
  const at = fc.nat({ max: lines.length - 1 });
  const fields = [...new Set(lines.flatMap((line) => Object.keys(JSON.parse(line))))];
  const change = (index: number, edit: (line: Record<string, unknown>) => object) =>
    lines.map((line, each) => (each === index ? JSON.stringify(edit(JSON.parse(line))) : line));
  const edited = fc.oneof(
    { weight: 2, arbitrary: fc.constant(lines) },
    {
      weight: 6,
      arbitrary: fc
        .tuple(at, fc.constantFrom(...fields), values)
        .map(([index, field, value]) => change(index, (line) => ({ ...line, [field]: value }))),
    },
    fc
      .tuple(at, fc.constantFrom(...fields))
      .map(([index, field]) => change(index, ({ [field]: _, ...others }) => others)),
    at.map((index) => lines.toSpliced(index, 1)),
    fc.tuple(at, at).map(([from, to]) => lines.toSpliced(to, 0, lines[from] ?? "")),
  );
  const asPage = fc.oneof(
    { weight: 8, arbitrary: fc.constant((each: string[]) => Buffer.from(pageOf(each))) },
    fc.constantFrom(
      (each: string[]) => Buffer.from(pageOf(each, 2)),
      (each: string[]) => Buffer.from(pageOf(each, 1, "next")),
      (each: string[]) => Buffer.from(pageOf(each).slice(0, -20)),
      (each: string[]) => Buffer.from(pageOf(each), "utf16le"),
    ),
  );
  return fc
    .record({ edited, asPage, target: fc.nat({ max: ENVIRONMENTS - 1 }) })
    .map(({ edited: taken, asPage: toBody, target }) => {
      const workspace = `fuzz-restored-${target}`;
      const moved = taken.map((line) => line.replace(/^(\{"kind":"header".*?"workspace":)"[^"]*"/, `$1"${workspace}"`));
      return { workspace, body: toBody(moved) };
    });
}
