import { execFile, execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, inject, it, onTestFinished } from "vitest";
import { hasChromium, skippedWithoutChromium, startChromium } from "../../tools/browser.ts";
import { docExamples } from "../support/node/doc-examples.ts";
import { nodeOf } from "../support/node/node-versions.ts";
import { freshCopy, removeCopy } from "../support/node/service.ts";
import { standIn } from "../support/node/stand-in.ts";

const { url, key, operatorToken } = inject("service");
/** The programs of the document that import the package. */
const [example = "", ...others] = [
  ...readFileSync("docs/integrators/typescript-client.md", "utf8").matchAll(
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
      ...["index", "postgres", "server", "viewer"].flatMap((entry) => [`dist/${entry}.js`, `dist/${entry}.d.ts`]),
    ]),
  );
  expect(
    files.filter(
      (file) =>
        !/^(README\.md|package\.json|dist\/((index|postgres|server|viewer)\.js|([\w-]+\/)?[\w-]+\.d\.ts))$/.test(file),
    ),
  ).toEqual([]);
  for (const entry of ["index.js", "postgres.js", "server.js", "viewer.js"])
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
  ["the project's Node 24", process.execPath, ["example.js"]],
  ["Node 22", nodeOf("22.23.3"), ["example.js"]],
  ["Node 20", nodeOf("20.20.2"), ["example.js"]],
  ["Deno", programOf("deno"), ["run", "--allow-env=API_KEY", "--allow-net", "example.ts"]],
  ["Bun", programOf("bun"), ["run", "example.ts"]],
];

describe.for(RUNTIMES)("on %s", ([, program, args]) => {
  const skipped = program ? "" : ", skipped: it is not installed, and npm does not find it";

  it.skipIf(!program)(`the example of the docs runs with the package, imported by its name${skipped}`, ({ expect }) => {
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

const RESOLUTIONS = [
  ["bundlers", ["--module", "esnext", "--moduleResolution", "bundler"]],
  ["Node 16 and newer", ["--module", "node16"]],
  ["the present Node", ["--module", "nodenext"]],
] as const;

/** Compiles programs, and returns what the compiler says. */
const compile = (folder: string, args: readonly string[], programs: readonly string[]): string =>
  spawnSync(
    resolve("node_modules/.bin/tsc"),
    [
      ...["--ignoreConfig", "--noEmit", "--strict", "--target", "es2022", "--skipLibCheck", "false", ...args],
      ...["--typeRoots", resolve("node_modules/@types"), "--types", "node", ...programs],
    ],
    { cwd: folder, encoding: "utf8" },
  ).stdout;

it.for(RESOLUTIONS)("the examples of the docs compile with the types as %s find them", ([, args], { expect }) => {
  expect(others).toHaveLength(1);
  expect(compile(project, args, ["example.ts", ...others.map((_, index) => `other-${index}.ts`)])).toBe("");
});

/** What TypeScript says of the imports of a CommonJS file, by its settings. The docs name those that work. */
const COMMONJS = [
  [["--module", "node20"], ""],
  [["--module", "nodenext"], ""],
  [["--module", "commonjs", "--moduleResolution", "bundler"], ""],
  [["--module", "node18"], "TS1479"],
  [["--module", "node16"], "TS1479"],
] as const;

describe("in a CommonJS project", () => {
  const folder = join(project, "commonjs");
  const program =
    'import { UserGroupClient } from "user-group-service/client";\nconsole.info(typeof UserGroupClient);\n';

  beforeAll(() => {
    mkdirSync(folder);
    writeFileSync(join(folder, "package.json"), "{}");
    writeFileSync(join(folder, "program.ts"), program);
    writeFileSync(join(folder, "module.mts"), program);
  });

  it.for(COMMONJS)("TypeScript with %j says %j of an import", ([args, code], { expect }) => {
    const said = compile(folder, args, ["program.ts"]);
    if (code === "") expect(said).toBe("");
    else expect(said).toContain(code);
  });

  it("a file .mts compiles with each module of Node", ({ expect }) => {
    for (const name of ["node16", "node18", "node20", "nodenext"])
      expect(compile(folder, ["--module", name], ["module.mts"])).toBe("");
  });

  it.for([
    ["Node 24", process.execPath],
    ["Node 22", nodeOf("22.23.3")],
  ] as const)("what TypeScript emits runs with %s", ([, node], { expect, skip }) => {
    if (node === undefined) return skip("npm does not find it");
    compile(folder, ["--module", "node20", "--noEmit", "false"], ["program.ts"]);
    expect(readFileSync(join(folder, "program.js"), "utf8")).toContain('require("user-group-service/client")');
    const env = { ...process.env, NODE_OPTIONS: "" };
    const { stdout, status } = spawnSync(node, ["program.js"], { cwd: folder, encoding: "utf8", env });
    expect([stdout.trim(), status]).toEqual(["function", 0]);
  });
});

/** The programs of the pages on the server kit and on embedding, which are for several frameworks, and those of the package's README. */
const shown = ["docs/integrators/server-kit.md", "docs/integrators/embedding.md", "client/README.md"].flatMap((file) =>
  [...readFileSync(file, "utf8").matchAll(/```ts\n([\s\S]*?)```/g)].map(([, text = ""]) => text),
);

describe("the examples in the docstrings", () => {
  const folder = join(project, "docstrings");
  const examples = docExamples();
  const fileOf = (index: number) => `example-${index}.ts`;

  beforeAll(() => {
    mkdirSync(join(folder, "node_modules"), { recursive: true });
    writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
    symlinkSync(installed, join(folder, "node_modules", "user-group-service"));
    // Those of the adapters need their frameworks.
    for (const name of ["express", "fastify", "hono", "@hono", "pg", "@types"])
      symlinkSync(resolve("node_modules", name), join(folder, "node_modules", name));
    for (const [index, { program }] of examples.entries())
      writeFileSync(join(folder, fileOf(index)), program.replaceAll("http://localhost:8787", url));
    for (const [index, program] of shown.entries()) writeFileSync(join(folder, `shown-${index}.ts`), program);
  });

  it.for(RESOLUTIONS)(
    "and the programs of the pages compile with the types as %s find them",
    ([, args], { expect }) => {
      const files = [...examples.map((_, index) => fileOf(index)), ...shown.map((_, index) => `shown-${index}.ts`)];
      expect(shown).toHaveLength(12);
      // The types of Express and Fastify do not compile themselves without this.
      expect(compile(folder, [...args, "--skipLibCheck", "true"], files)).toBe("");
    },
  );

  it.for(examples.map(({ name, printed }, index) => [name, printed, index] as const))(
    "%s prints what it says",
    async ([, printed, index], { expect }) => {
      const env = { ...process.env, API_KEY: key, OPERATOR_KEY: operatorToken, NODE_OPTIONS: "" };
      const { stdout, stderr } = await promisify(execFile)(process.execPath, [fileOf(index)], { cwd: folder, env });
      expect(stderr).toBe("");
      expect(stdout.split("\n").slice(0, -1)).toEqual(printed);
    },
  );

  it("are there for each function and each class that the package exports", async ({ expect }) => {
    const exported = await Promise.all(
      ["index", "server", "viewer"].map((file) => import(join(installed, `dist/${file}.js`))),
    );
    const names = new Set(exported.flatMap((module) => Object.keys(module)));
    const explained = examples.map(({ name }) => name.split(" ")[0]);
    expect([...names].filter((name) => !explained.includes(name))).toEqual([]);
  });
});

it.skipIf(!hasChromium)(
  `the package's files for pages run in a browser${skippedWithoutChromium}`,
  async ({ expect }) => {
    const browser = await startChromium();
    onTestFinished(() => browser.close());
    const page = await browser.newPage();
    // A page that a test makes up may not call a service on this machine, so a server has to serve it.
    const { url: site } = await standIn(({ path }) => ({
      status: 200,
      headers: { "Content-Type": path.endsWith(".js") ? "text/javascript" : "text/html" },
      body: path.endsWith(".js") ? readFileSync(join(installed, "dist", path), "utf8") : "<title>Site</title>",
    }));
    await page.goto(site);
    const { UserGroupClient } = await import(join(installed, "dist/index.js"));
    const groups = new UserGroupClient({ url, apiKey: key });
    await groups.ensure({ userGroupId: "packed", name: "Packed Inc." });
    const session = await groups.mintSession({ userGroupId: "packed", origins: [site] });
    for (const file of ["viewer.js", "index.js"]) {
      const shown = await page.evaluate(
        `import("/${file}").then(({ ViewerClient }) =>
          new ViewerClient({ url: "${url}", session: async () => (${JSON.stringify(session)}) }).view())`,
      );
      expect(shown, file).toMatchObject({ group: { name: "Packed Inc." } });
    }
  },
);
