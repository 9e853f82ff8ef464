import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from "vitest";
import { hasChromium, skippedWithoutChromium, startChromium } from "../../tools/browser.ts";
import { docExamples } from "../support/node/doc-examples.ts";
import {
  compile,
  folderWith,
  linesOfEach,
  packedClient,
  programsOf,
  RESOLUTIONS,
  SHOWN_BY_FIRST,
  writePrograms,
} from "../support/node/packed-client.ts";
import { standIn } from "../support/node/stand-in.ts";

const { url, key } = inject("service");

const { project, installed, remove } = packedClient();
afterAll(remove);

/** Those that import a framework are tested beside its package. */
const isOurs = (program: string) => !/from "(?:express|fastify)"/.test(program);

it("the package installs nothing but itself", () => {
  const folders = readdirSync(join(project, "node_modules")).filter((name) => !name.startsWith("."));
  expect(folders).toEqual(["user-group-service"]);
});

it("the package holds the client, its types, ug, and nothing of the service", () => {
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
        !/^(README\.md|package\.json|bin\/(ug\.[cm]js|licences)|dist\/((index|postgres|server|viewer)\.js|([\w-]+\/)?[\w-]+\.d\.ts))$/.test(
          file,
        ),
    ),
  ).toEqual([]);
  for (const entry of ["index.js", "postgres.js", "server.js", "viewer.js"])
    expect(readFileSync(join(installed, "dist", entry), "utf8")).not.toMatch(/\b(import|require)\b[\s(]*["'{*]/);
});

describe("the programs of the documents and of the docstrings", () => {
  const folder = join(project, "programs");
  const examples = docExamples().filter(({ program }) => isOurs(program));
  const pages = ["typescript-client", "server-kit", "embedding"].map((page) => `docs/integrators/${page}.md`);
  const shown = [...pages, "client/README.md"].flatMap(programsOf).filter((program) => program.includes("import "));
  let files: { examples: string[]; shown: string[] };
  let printed: string[][];

  beforeAll(async () => {
    const ours = ["hono", "@hono", "pg", "@types"].map((name) => [name, "node_modules"]);
    folderWith(folder, installed, Object.fromEntries(ours));
    files = {
      examples: writePrograms(
        folder,
        "example",
        examples.map(({ program }) => program),
      ),
      shown: writePrograms(folder, "shown", shown.filter(isOurs)),
    };
    printed = await linesOfEach(folder, [...files.examples, ...files.shown.slice(0, 1)]);
  });

  it.for(RESOLUTIONS)("compile with the types as %s find them", ([, args]) => {
    expect(shown).toHaveLength(7);
    expect(compile(folder, args, [...files.examples, ...files.shown])).toBe("");
  });

  it.for(examples.map(({ name, printed: lines }, index) => [name, lines, index] as const))(
    "%s prints what it says",
    ([, lines, index]) => {
      expect(printed[index]).toEqual(lines);
    },
  );

  it("run with the package, imported by its name", () => {
    expect(JSON.parse(printed.at(-1)?.join("\n") ?? "")).toEqual(SHOWN_BY_FIRST);
  });

  it("are there for each function and each class that the package exports", async () => {
    const exported = await Promise.all(
      ["index", "server", "viewer"].map((file) => import(join(installed, `dist/${file}.js`))),
    );
    const names = new Set(exported.flatMap((module) => Object.keys(module)));
    const explained = docExamples().map(({ name }) => name.split(" ")[0]);
    expect([...names].filter((name) => !explained.includes(name))).toEqual([]);
  });
});

it("what TypeScript emits for a CommonJS project runs", () => {
  const folder = join(project, "commonjs");
  mkdirSync(folder);
  writeFileSync(join(folder, "package.json"), "{}");
  writeFileSync(
    join(folder, "program.ts"),
    'import { UserGroupClient } from "user-group-service/client";\nconsole.info(typeof UserGroupClient);\n',
  );
  expect(compile(folder, ["--module", "node20", "--noEmit", "false"], ["program.ts"])).toBe("");
  expect(readFileSync(join(folder, "program.js"), "utf8")).toContain('require("user-group-service/client")');
  const env = { ...process.env, NODE_OPTIONS: "" };
  expect(execFileSync(process.execPath, ["program.js"], { cwd: folder, encoding: "utf8", env })).toBe("function\n");
});

it.skipIf(!hasChromium)(`the package's files for pages run in a browser${skippedWithoutChromium}`, async () => {
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
});
