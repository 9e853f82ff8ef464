import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { it } from "vitest";

/** Every source file by its path below src, without the generated types. */
const all = readdirSync("src", { recursive: true, withFileTypes: true })
  .filter(({ name }) => /\.tsx?$/.test(name) && !name.endsWith(".d.ts"))
  .map(({ parentPath, name }) => join(parentPath, name))
  .map((file) => ({ file: relative("src", file), text: readFileSync(file, "utf8") }));

const client = all.filter(({ file }) => file.startsWith("client/"));
/** The sources of the Worker. */
const sources = all.filter((source) => !client.includes(source));

it("no file has more than 400 lines, and no folder more than 15 files", ({ expect }) => {
  const long = all.filter(({ text }) => text.split("\n").length > 401).map(({ file }) => file);
  const folders = Object.entries(Object.groupBy(all, ({ file }) => dirname(file)));
  const full = folders.filter(([, files]) => (files?.length ?? 0) > 15).map(([folder]) => folder);
  expect([...long, ...full]).toEqual([]);
});

it("only storage uses SQL or KV, and only http uses HTTP", ({ expect }) => {
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

it("one file reads the binding of KV, which a deployment may lack", ({ expect }) => {
  const readers = sources.filter(({ text }) => /TOKEN_INDEX/.test(text)).map(({ file }) => file);
  expect(readers).toEqual(["storage/token-index.ts"]);
});

it("the client and the Worker share nothing, and the client needs no package", ({ expect }) => {
  // Without the examples in docstrings, which import the package by its name.
  const codeOf = (text: string) => text.replaceAll(/^ *\*.*$/gm, "");
  const importsOf = (files: typeof all) =>
    files.flatMap(({ text }) =>
      [...codeOf(text).matchAll(/\b(?:from|import)\b[\s(]*"([^"]+)"/g)].map(([, path = ""]) => path),
    );
  expect(importsOf(client).length).toBeGreaterThan(10);
  expect(importsOf(client).filter((path) => !/^\.\.?\/[\w./-]+\.ts$/.test(path))).toEqual([]);
  expect(importsOf(sources).filter((path) => /\/client\//.test(path))).toEqual([]);
});

it("no command uses node:readline, which ends lines at U+2028 too", ({ expect }) => {
  const scripts = readdirSync("scripts", { recursive: true, withFileTypes: true })
    .filter(({ name }) => name.endsWith(".ts"))
    .map(({ parentPath, name }) => join(parentPath, name));
  const readers = scripts.filter((file) => /from "node:readline/.test(readFileSync(file, "utf8")));
  expect(scripts.length).toBeGreaterThan(50);
  expect(readers).toEqual([]);
});
