import fc from "fast-check";
import { expect, it } from "vitest";
import { report, runs } from "../../../proof/effort.ts";
import { backUp, linesOf, rehashed, restorePage, wipe } from "../../../support/backups.ts";
import { codeOf } from "../../../support/client.ts";
import { issueOperator, newIntegrator } from "../../../support/states.ts";

/** Somebody who can write the files of backups, and has no signing key, edits pages and computes their hashes again. */

type Line = Record<string, unknown>;

const textOf = (lines: Line[]) => lines.map((line) => `${JSON.stringify(line)}\n`).join("");

/** Edits of the lines before the last one, by a number that chooses the line and the field. */
const EDITS: Record<string, (lines: Line[], at: number) => Line[]> = {
  "leaves a line out": (lines, at) => lines.toSpliced(at % lines.length, 1),
  "repeats a line": (lines, at) => [...lines, lines[at % lines.length] ?? {}],
  "exchanges two lines": (lines, at) => {
    const first = at % (lines.length - 1);
    return lines.toSpliced(first, 2, lines[first + 1] ?? {}, lines[first] ?? {});
  },
  "changes a value": (lines, at) => {
    const line = lines[at % lines.length] ?? {};
    const names = Object.keys(line);
    const name = names[Math.floor(at / lines.length) % names.length] ?? "kind";
    const value = line[name];
    const changed = typeof value === "number" ? value + 1 : typeof value === "string" ? `${value}x` : 1;
    return lines.with(at % lines.length, { ...line, [name]: changed });
  },
  "adds a field": (lines, at) => lines.with(at % lines.length, { ...lines[at % lines.length], extra: at }),
  "gives a key more rights": (lines) =>
    lines.map((line) =>
      typeof line.rights === "string" ? { ...line, rights: line.rights === "admin" ? "viewer" : "admin" } : line,
    ),
};

/** Edits of the last line, which has the hash and the MAC. */
const LAST_LINES: Record<string, (line: Line) => Line> = {
  "keeps the MAC": (line) => line,
  "has no MAC": ({ mac: _, signed_by: __, ...line }) => line,
  "has an empty MAC": (line) => ({ ...line, mac: "" }),
  "has another MAC": (line) => ({ ...line, mac: String(line.mac).split("").toReversed().join("") }),
  "names another key": (line) => ({ ...line, signed_by: "another" }),
};

it("no backup that was edited without the keys is restored", async () => {
  const { tokenOf } = await newIntegrator();
  for (const id of ["acme", "hooli", "initech"]) await tokenOf(id, { properties: { plan: id } });
  for (const role of ["viewer", "support", "admin"] as const) await issueOperator(role);
  const [ofEnvironment = "", ofRegistry = ""] = [...(await backUp()), ...(await backUp(""))];
  await wipe("acme/Testing");
  await wipe("registry");
  let refused = 0;

  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...Object.keys(EDITS)),
      fc.constantFrom(...Object.keys(LAST_LINES)),
      fc.nat({ max: 10_000 }),
      fc.boolean(),
      async (edit, lastLine, at, isRegistry) => {
        const page = isRegistry ? ofRegistry : ofEnvironment;
        const edited = textOf(EDITS[edit]?.(linesOf(page).slice(0, -1), at) ?? []);
        const kept = textOf(linesOf(page).slice(0, -1));
        // An environment's page has no rights of operators to change, and two equal lines can be exchanged.
        fc.pre(edited !== kept);
        const hashed = await rehashed(page, () => edited);
        const last = LAST_LINES[lastLine]?.(linesOf(hashed).at(-1)) ?? {};
        const answer = await restorePage(edited + textOf([last]), isRegistry ? "" : undefined);
        expect(codeOf(answer), `${edit}, ${lastLine}`).toEqual([422, "invalid_backup"]);
        refused += 1;
      },
    ),
    runs(100, 2000, 0.02),
  );
  report("edited backups", { refused });

  expect((await restorePage(ofRegistry, "")).status).toBe(200);
  expect((await restorePage(ofEnvironment)).status).toBe(200);
});
