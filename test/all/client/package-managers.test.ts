import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, inject, it } from "vitest";
import { newFolder } from "../../support/node/new-folder.ts";
import { nodeOf, programOf } from "../../support/node/node-versions.ts";
import { PACKAGE } from "../../support/node/packed-client.ts";

const { url } = inject("service");

/** A package manager: its command, and how it adds a package and installs again what its lock says. */
type Manager = {
  command: (string | undefined)[];
  add: (source: string) => string[];
  again: string[];
  settings?: Record<string, string>;
};

const scripts = (name: string, version: string, file: string) => [process.execPath, programOf({ name, version, file })];

const MANAGERS: Record<string, Manager> = {
  npm: { command: ["npm"], add: (source) => ["install", source], again: ["ci"] },
  pnpm: {
    command: [programOf({ name: "pnpm", version: "12.21.0", file: "pnpm" })],
    add: (source) => ["add", source, "--store-dir", "cache"],
    again: ["install", "--frozen-lockfile", "--store-dir", "cache"],
  },
  "yarn 1": {
    command: scripts("yarn", "1.22.22", "bin/yarn.js"),
    add: (source) => ["add", source, "--cache-folder", "cache"],
    again: ["install", "--frozen-lockfile", "--cache-folder", "cache"],
  },
  "yarn 4": {
    command: scripts("@yarnpkg/cli-dist", "4.18.1", "bin/yarn.js"),
    add: (source) => ["add", `user-group-service@${source}`],
    again: ["install", "--immutable"],
    settings: {
      "yarn.lock": "",
      ".yarnrc.yml": `nodeLinker: node-modules\nenableTelemetry: false\ncacheFolder: cache\nenableGlobalCache: false\nunsafeHttpWhitelist: ["127.0.0.1"]\n`,
    },
  },
  bun: {
    command: [programOf({ name: "bun", version: "1.4.5", file: "bin/bun.exe" })],
    add: (source) => ["add", source],
    again: ["install", "--frozen-lockfile"],
  },
};

describe.for(Object.entries(MANAGERS))("%s", ([name, { command, add, again, settings = {} }]) => {
  const isMissing = command.includes(undefined);
  const file = basename(PACKAGE);
  const SOURCES = { "the repository": `file:./vendor/${file}`, "the service": `${url}/kit/${file}` };

  it.skipIf(isMissing).for(Object.entries(SOURCES))(
    `installs the package from %s, and again with a clean cache${isMissing ? `, skipped: npm does not find ${name}` : ""}`,
    ([, source]) => {
      const cwd = newFolder();
      mkdirSync(join(cwd, "vendor"));
      copyFileSync(PACKAGE, join(cwd, "vendor", file));
      const files = { "package.json": '{ "name": "product", "version": "1.0.0", "type": "module" }', ...settings };
      for (const [path, text] of Object.entries(files)) writeFileSync(join(cwd, path), text);
      const [program = "", ...args] = command.filter((part) => part !== undefined);
      const env = {
        ...process.env,
        npm_config_cache: join(cwd, "cache"),
        BUN_INSTALL_CACHE_DIR: join(cwd, "cache"),
        CI: "",
      };
      const run = (more: string[]) => spawnSync(program, [...args, ...more], { cwd, env, encoding: "utf8" });
      for (const step of [add(source), again]) {
        for (const kept of ["node_modules", "cache"]) rmSync(join(cwd, kept), { recursive: true, force: true });
        const { status, stdout, stderr } = run(step);
        expect(status, stdout + stderr).toBe(0);
        const shown =
          "import('user-group-service/client').then(({ UserGroupClient }) => console.log(typeof UserGroupClient))";
        expect(execFileSync(process.execPath, ["-e", shown], { cwd, encoding: "utf8" })).toBe("function\n");
        const { version } = JSON.parse(readFileSync(join(cwd, "node_modules/user-group-service/package.json"), "utf8"));
        const ug = execFileSync(join(cwd, "node_modules/.bin/ug"), ["--version"], { encoding: "utf8" });
        expect(ug).toBe(`${version}\n`);
      }
    },
  );
});

const OLD = [
  ["22.0.0", 0, /^Usage: ug/, ""],
  ["20.20.2", 1, /^$/, "ug needs Node 22 or newer, and this is Node 20.20.2. The client runs on Node 20, too.\n"],
] as const;

it.for(OLD)("ug of the package with Node %s ends with %i", ([version, status, shown, message], { skip }) => {
  const node = nodeOf(version);
  if (!node) return skip("npm does not find it");
  const cwd = newFolder();
  execFileSync("tar", ["-xzf", PACKAGE, "-C", cwd]);
  const env = { ...process.env, NODE_OPTIONS: "", XDG_CONFIG_HOME: "/nonexistent" };
  const outcome = spawnSync(node, [join(cwd, "package/bin/ug.cjs"), "--help"], { encoding: "utf8", env });
  expect([outcome.status, outcome.stderr]).toEqual([status, message]);
  expect(outcome.stdout).toMatch(shown);
});
