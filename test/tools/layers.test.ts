import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname, extname, join, relative } from "node:path";
import { expect, it } from "vitest";

/** The source files of a room by their paths below it, without the generated types. */
const filesOf = (room: string) =>
  readdirSync(room, { recursive: true, withFileTypes: true })
    .filter(({ name }) => /\.tsx?$/.test(name) && !name.endsWith(".d.ts"))
    .map(({ parentPath, name }) => join(parentPath, name))
    .map((file) => ({ file: relative(room, file), text: readFileSync(file, "utf8") }));

/** The sources of the Worker. */
const sources = filesOf("src");
const ROOMS = ["src", "common", "client/src", "cli/src", "prove/src"];

it.for(ROOMS)("no file of %s has more than 400 lines, and no folder more than 15 files", (room) => {
  const all = filesOf(room);
  const long = all.filter(({ text }) => text.split("\n").length > 401).map(({ file }) => file);
  const folders = Object.entries(Object.groupBy(all, ({ file }) => dirname(file)));
  const full = folders.filter(([, files]) => (files?.length ?? 0) > 15).map(([folder]) => folder);
  expect([...long, ...full]).toEqual([]);
});

it("no two files of the Worker have one name with other endings", () => {
  const endingsOf = Object.groupBy(sources, ({ file }) => basename(file, extname(file)));
  const mixed = Object.entries(endingsOf).filter(
    ([, files]) => new Set(files?.map(({ file }) => extname(file))).size > 1,
  );
  expect(mixed.map(([name]) => name)).toEqual([]);
});

it("only storage uses SQL or KV, and only http uses HTTP", () => {
  const offenders = sources
    // The templates of users are SQL too, and pages have examples of them.
    .filter(({ file }) => !file.startsWith("http/console/"))
    .filter(
      ({ file, text }) =>
        (!file.startsWith("storage/") && /\.exec\(["`]|\bSELECT\b/.test(text)) ||
        (!file.startsWith("http/") && /from "hono|\bResponse\b|\bRequest\b/.test(text)),
    )
    .map(({ file }) => file);
  expect(offenders).toEqual([]);
});

it("one file reads the binding of KV, which a deployment may lack", () => {
  const readers = sources.filter(({ text }) => /TOKEN_INDEX/.test(text)).map(({ file }) => file);
  expect(readers).toEqual(["storage/token-index.ts"]);
});

it("the client needs no package", () => {
  // Without the examples in docstrings, which import the package by its name.
  const codeOf = (text: string) => text.replaceAll(/^ *\*.*$/gm, "");
  const imports = filesOf("client/src").flatMap(({ text }) =>
    [...codeOf(text).matchAll(/\b(?:from|import)\b[\s(]*"([^"]+)"/g)].map(([, path = ""]) => path),
  );
  expect(imports.length).toBeGreaterThan(10);
  expect(imports.filter((path) => !/^\.\.?\/[\w./-]+\.ts$/.test(path))).toEqual([]);
});

it("no command uses node:readline, which ends lines at U+2028 too", () => {
  const files = ["cli", "prove", "tools"].flatMap(filesOf);
  expect(files.length).toBeGreaterThan(50);
  expect(files.filter(({ text }) => /from "node:readline/.test(text))).toEqual([]);
});
