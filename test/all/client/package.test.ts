import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { docExamples } from "../../support/node/doc-examples.ts";
import { newFolder } from "../../support/node/new-folder.ts";
import { nodeOf } from "../../support/node/node-versions.ts";
import {
  compile,
  folderWith,
  linesOfEach,
  packedClient,
  programsOf,
  RESOLUTIONS,
  SHOWN_BY_FIRST,
  writePrograms,
} from "../../support/node/packed-client.ts";

const { url, key } = inject("service");

const { project, installed, remove } = packedClient();
afterAll(remove);

/** A program on the PATH that is not npm's own. */
const programOf = (name: string): string | undefined =>
  (process.env.PATH ?? "")
    .split(delimiter)
    .filter((folder) => !resolve(folder).includes("node_modules") && resolve(folder) !== dirname(process.execPath))
    .map((folder) => join(folder, name))
    .find((file) => existsSync(file));

const RUNTIMES: [string, string | undefined, string[]][] = [
  ["Node 22", nodeOf("22.23.3"), ["example.js"]],
  ["Node 20", nodeOf("20.20.2"), ["example.js"]],
  ["Deno", programOf("deno"), ["run", "--allow-env=API_KEY", "--allow-net", "example.ts"]],
  ["Bun", programOf("bun"), ["run", "example.ts"]],
];

describe.for(RUNTIMES)("on %s", ([, program, args]) => {
  const skipped = program ? "" : ", skipped: it is not installed, and npm does not find it";

  it.skipIf(!program)(`the example of the docs runs with the package, imported by its name${skipped}`, () => {
    const [example = ""] = programsOf("docs/integrators/typescript-client.md");
    // It has no type annotations, so it is valid JavaScript, for a Node that cannot run TypeScript.
    for (const name of ["example.ts", "example.js"])
      writeFileSync(join(project, name), example.replaceAll("http://localhost:8787", url));
    const { stdout, stderr, status } = spawnSync(program ?? "", args, {
      cwd: project,
      encoding: "utf8",
      env: { ...process.env, API_KEY: key, NODE_OPTIONS: "" },
    });
    expect({ stderr, status, shown: JSON.parse(stdout || "null") }).toEqual({
      stderr: "",
      status: 0,
      shown: SHOWN_BY_FIRST,
    });
  });
});

/** Each part of the package, and what TypeScript infers of it. */
const TYPED = `
import { OperatorClient, UserGroupClient } from "user-group-service/client";
import { withSession } from "user-group-service/postgres";
import { requireSession, sessionHandler, signOutHandler } from "user-group-service/server";
import { ViewerClient } from "user-group-service/viewer";

const options = { audience: "acme/Customer", origins: ["https://app.example.com"] };
const client = new UserGroupClient({ url: "https://groups.example.com", apiKey: "ugk_x" });
const check = requireSession(() => ({ ...options, client, user: ({ teamId }) => ({ number: teamId }) }));
export const next = async (request: Request): Promise<Response | number> => {
  const session = await check(request);
  return session instanceof Response ? session : session.user.number + 1;
};
export { OperatorClient, sessionHandler, signOutHandler, ViewerClient, withSession };
`;

describe.for([
  ["5.0", "typescript-5.0"],
  ["5.9", "typescript"],
])("the types compile with TypeScript %s", ([, name]) => {
  it.for(RESOLUTIONS)("as %s find them", ([, args]) => {
    const folder = newFolder();
    folderWith(folder, installed, {});
    writeFileSync(join(folder, "typed.ts"), TYPED);
    const compiler = resolve(`examples/node_modules/${name}/bin/tsc`);
    const strict = ["--noEmit", "--strict", "--target", "es2022", "--lib", "es2022,dom", "--skipLibCheck", "false"];
    const outcome = spawnSync(process.execPath, [compiler, ...strict, ...args, "typed.ts"], {
      cwd: folder,
      encoding: "utf8",
    });
    expect(outcome).toMatchObject({ stdout: "", status: 0 });
  });
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

  it.for(COMMONJS)("TypeScript with %j says %j of an import, and nothing of one in a file .mts", ([args, code]) => {
    const said = compile(folder, args, ["program.ts", "module.mts"]);
    if (code === "") expect(said).toBe("");
    else expect(said).toContain(code);
    expect(said).not.toContain("module.mts");
  });

  const node = nodeOf("22.23.3");
  const skipped = node ? "" : ", skipped: npm does not find it";
  it.skipIf(!node)(`what TypeScript emits runs with Node 22${skipped}`, () => {
    compile(folder, ["--module", "node20", "--noEmit", "false"], ["program.ts"]);
    const env = { ...process.env, NODE_OPTIONS: "" };
    expect(execFileSync(node ?? "", ["program.js"], { cwd: folder, encoding: "utf8", env })).toBe("function\n");
  });
});

describe("the programs for Express and Fastify", () => {
  const folder = join(project, "programs");
  const isTheirs = (program: string) => /from "(?:express|fastify)"/.test(program);
  const examples = docExamples().filter(({ program }) => isTheirs(program));
  const pages = ["docs/integrators/server-kit.md", "docs/integrators/embedding.md", "client/README.md"];
  const shown = pages.flatMap(programsOf).filter(isTheirs);
  let files: string[];

  beforeAll(() => {
    const theirs = ["express", "fastify", "@types"].map((name) => [name, "examples/node_modules"]);
    folderWith(folder, installed, Object.fromEntries(theirs));
    const programs = examples.map(({ program }) => program);
    files = [...writePrograms(folder, "example", programs), ...writePrograms(folder, "shown", shown)];
  });

  it.for(RESOLUTIONS)("compile with the types as %s find them", ([, args]) => {
    // The types of Express and Fastify do not compile themselves without this.
    expect(compile(folder, [...args, "--skipLibCheck", "true"], files)).toBe("");
  });

  it("print what they say", async () => {
    const printed = await linesOfEach(folder, files.slice(0, examples.length));
    expect(printed).toEqual(examples.map(({ printed: lines }) => lines));
    expect([examples.length, shown.length]).toEqual([4, 1]);
  });
});
