import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { afterAll, beforeAll, describe, inject, it } from "vitest";
import { freshCopy, removeCopy } from "./support/service.ts";

const { url, key } = inject("service");
/** The programs of the document that import the package. */
const [example = "", ...others] = [
  ...readFileSync("docs/typescript-client.md", "utf8").matchAll(
    /```ts\n([^`]*from "user-group-service\/client"[\s\S]*?)```/g,
  ),
].map(([, program = ""]) => program);

/** An empty project of a user, in which npm has installed the file that `npm pack` makes of a fresh copy. */
const project = mkdtempSync(join(tmpdir(), "user-group-client-"));
const installed = join(project, "node_modules", "user-group-service");

beforeAll(() => {
  const copy = freshCopy();
  execFileSync("npm", ["pack", "--pack-destination", project], { cwd: join(copy, "client"), stdio: "pipe" });
  removeCopy(copy);
  const [packed = ""] = readdirSync(project).filter((name) => name.endsWith(".tgz"));
  writeFileSync(join(project, "package.json"), '{ "type": "module" }');
  // Offline: there is nothing to download.
  execFileSync("npm", ["install", "--offline", "--no-audit", "--no-fund", packed], { cwd: project, stdio: "pipe" });
  // The example has no type annotations, so it is valid JavaScript, for a Node that cannot run TypeScript.
  for (const name of ["example.ts", "example.js"])
    writeFileSync(join(project, name), example.replaceAll("http://localhost:8787", url));
  for (const [index, program] of others.entries()) writeFileSync(join(project, `other-${index}.ts`), program);
});

afterAll(() => removeCopy(project));

it("the package installs nothing but itself", ({ expect }) => {
  const folders = readdirSync(join(project, "node_modules")).filter((name) => !name.startsWith("."));
  expect(folders).toEqual(["user-group-service"]);
});

it("the package has the version of the service that it is made for", ({ expect }) => {
  const versionIn = (file: string) => JSON.parse(readFileSync(file, "utf8")).version;
  expect(versionIn(join(installed, "package.json"))).toBe(versionIn("package.json"));
});

it("the package holds the client, its types, and nothing of the service", ({ expect }) => {
  const files = readdirSync(installed, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(installed.length + 1));
  expect(files).toEqual(
    expect.arrayContaining([
      "README.md",
      "package.json",
      ...["index", "viewer"].flatMap((entry) => [`dist/${entry}.js`, `dist/${entry}.d.ts`]),
    ]),
  );
  expect(
    files.filter(
      (file) => !/^(README\.md|package\.json|dist\/((index|viewer)\.js|([\w-]+\/)?[\w-]+\.d\.ts))$/.test(file),
    ),
  ).toEqual([]);
  for (const entry of ["index.js", "viewer.js"])
    expect(readFileSync(join(installed, "dist", entry), "utf8")).not.toMatch(/\b(import|require)\b[\s(]*["'{*]/);
});

/** A program on the PATH that is not npm's own. */
const programOf = (name: string): string | undefined =>
  (process.env.PATH ?? "")
    .split(delimiter)
    .filter((folder) => !resolve(folder).includes("node_modules") && resolve(folder) !== dirname(process.execPath))
    .map((folder) => join(folder, name))
    .find((file) => existsSync(file));

const RUNTIMES: [string, string | undefined, string[]][] = [
  ["the project's Node", process.execPath, ["example.js"]],
  ["the system's Node", programOf("node"), ["example.js"]],
  ["Deno", programOf("deno"), ["run", "--allow-env=API_KEY", "--allow-net", "example.ts"]],
  ["Bun", programOf("bun"), ["run", "example.ts"]],
];

describe.for(RUNTIMES)("on %s", ([, program, args]) => {
  it.skipIf(!program)("the example of the docs runs with the package, imported by its name", ({ expect }) => {
    const { stdout, stderr, status } = spawnSync(program ?? "", args, {
      cwd: project,
      encoding: "utf8",
      env: { ...process.env, API_KEY: key, NODE_OPTIONS: "" },
    });
    expect({ stderr, status, shown: JSON.parse(stdout || "null") }).toEqual({
      stderr: "",
      status: 0,
      shown: {
        user_group_id: "typescript",
        user_group_name: "typescript",
        viewer_id: "jane",
        "user_group.region": "us",
      },
    });
  });
});

it.for([
  ["bundlers", ["--module", "esnext", "--moduleResolution", "bundler"]],
  ["Node", ["--module", "nodenext"]],
] as const)("the examples of the docs compile with the types as %s find them", ([, args], { expect }) => {
  const { stdout } = spawnSync(
    resolve("node_modules/.bin/tsc"),
    [
      ...["--ignoreConfig", "--noEmit", "--strict", "--target", "es2022", "--skipLibCheck", "false", ...args],
      ...["--typeRoots", resolve("node_modules/@types"), "--types", "node", "example.ts"],
      ...others.map((_, index) => `other-${index}.ts`),
    ],
    { cwd: project, encoding: "utf8" },
  );
  expect(others).toHaveLength(1);
  expect(stdout).toBe("");
});
