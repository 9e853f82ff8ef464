import { type ChildProcess, spawnSync } from "node:child_process";
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import project from "../../../package.json" with { type: "json" };
import { outcomeOf } from "../../support/node/commands.ts";
import { endGroup, freshCopy, removeCopy, runIn, runNode, runNpm, waitUntil } from "../../support/node/service.ts";

const PACKAGES_MAX = 55;
const WORKERD = "node_modules/{workerd,@cloudflare/workerd-*}/**/*";

const view = ["view", `hono@${project.dependencies.hono}`, "version", "--fetch-retries=0"];
const hasRegistry = spawnSync("npm", view, { timeout: 30_000 }).status === 0;

/** A fresh copy without packages. On the disk, because all packages would fill the memory. */
function bareCopy(): string {
  const copy = freshCopy({ parent: "/var/tmp" });
  rmSync(join(copy, "node_modules"));
  onTestFinished(() => removeCopy(copy));
  return copy;
}

/** What npm has installed, by its own record: paths below `node_modules`. */
const installedIn = (copy: string): string[] =>
  Object.keys(JSON.parse(readFileSync(join(copy, "node_modules/.package-lock.json"), "utf8")).packages).filter((path) =>
    path.startsWith("node_modules/"),
  );

/** Runs `npm start` until it has printed its address. Returns that, and what it printed before. */
async function start(copy: string, env: NodeJS.ProcessEnv = {}) {
  const child: ChildProcess = runNpm(copy, ["start", "--", "--port", "0"], env);
  onTestFinished(() => endGroup(child, "SIGKILL"));
  let errors = "";
  child.stderr?.on("data", (data) => {
    errors += data;
  });
  for await (const line of createInterface({ input: child.stdout as Readable })) {
    const [, url] = /ready at (\S+)/.exec(line) ?? [];
    if (url) return { url, errors, stop: () => endGroup(child, "SIGINT") };
  }
  throw new Error(`npm start has ended:\n${errors}`);
}

it.skipIf(!hasRegistry)(
  `npm start installs what serving needs, and tests the rest beside it${hasRegistry ? "" : ", skipped: no npm registry can be reached"}`,
  async () => {
    const copy = bareCopy();
    const { url, errors, stop } = await start(copy);
    expect(errors).toContain("Installing the packages for serving, once ...");
    expect(installedIn(copy).length).toBeLessThanOrEqual(PACKAGES_MAX);
    const development = Object.keys(project.devDependencies);
    const isThere = (name: string) => existsSync(join(copy, "node_modules", name));
    expect(development.filter(isThere)).toEqual([]);

    const inodes = () => globSync(WORKERD, { cwd: copy }).map((file) => [file, statSync(join(copy, file)).ino]);
    const before = inodes();
    expect(before.length).toBeGreaterThan(4);
    const statuses: number[] = [];
    let isInstalling = true;
    const asking = (async () => {
      while (isInstalling) {
        statuses.push((await fetch(`${url}/health`)).status);
        await delay(20);
      }
    })();
    const { status, stderr } = await outcomeOf(runNode(copy, ["common/install.mjs"]));
    isInstalling = false;
    await asking;
    expect([status, stderr]).toEqual([0, expect.stringContaining("Installing the packages for testing, once ...")]);
    expect(development.filter((name) => !isThere(name))).toEqual([]);
    expect(inodes()).toEqual(before);
    expect([...new Set(statuses)]).toEqual([200]);
    await stop();

    const again = await start(copy, { npm_config_registry: "http://127.0.0.1:9" });
    expect(again.errors).not.toContain("Installing");
    expect(development.filter((name) => !isThere(name))).toEqual([]);
    await again.stop();
  },
  900_000,
);

it.skipIf(!hasRegistry)(
  `an installation that was interrupted is made whole by the next${hasRegistry ? "" : ", skipped: no npm registry can be reached"}`,
  async () => {
    const copy = bareCopy();
    const file = (path: string) => join(copy, "node_modules", path);
    const install = () => runIn(copy, [process.execPath, "common/install.mjs", "serving"]);
    const killed = install();
    await waitUntil(() => existsSync(file(".unfinished.json")), "npm has begun");
    await endGroup(killed, "SIGKILL");
    await outcomeOf(killed);
    // As a kill can leave it: a package that npm takes for whole.
    const { name, version } = { name: "hono", version: project.dependencies.hono };
    rmSync(file(name), { recursive: true, force: true });
    mkdirSync(file(name), { recursive: true });
    writeFileSync(file("hono/package.json"), JSON.stringify({ name, version }));

    expect(await outcomeOf(install())).toMatchObject({ status: 0 });
    expect(existsSync(file("hono/dist/index.js"))).toBe(true);
    expect(existsSync(file(".unfinished.json"))).toBe(false);
    expect((await outcomeOf(install())).stderr).toBe("");
  },
);
