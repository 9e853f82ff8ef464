/**
 * Installs the packages of the lock file if any is missing, before every command of this project. If none is, it uses no
 * network. Then it builds the pages of /docs that are missing, for the commands that may serve them. It runs on the user's own
 * Node, before the project's is installed, so it uses nothing newer than Node 14.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSite } from "./site.mjs";

const NODE_MAJOR_MIN = 20;
const ROOT = fileURLToPath(new URL("..", import.meta.url));
const inRoot = (path) => join(ROOT, path);

function stop(sentence) {
  console.error(`\n${sentence}\n`);
  process.exit(1);
}

function packagesOf(lockFile) {
  return JSON.parse(readFileSync(lockFile, "utf8")).packages;
}

/** Whether npm's own record of what it installed has every package of the lock file that this platform needs. */
function isInstalled() {
  if (!existsSync(inRoot("node_modules/.package-lock.json")) || !existsSync(inRoot("node_modules/.bin/node")))
    return false;
  const installed = packagesOf(inRoot("node_modules/.package-lock.json"));
  return Object.entries(packagesOf(inRoot("package-lock.json"))).every(
    ([path, { version, optional }]) =>
      path === "" || (installed[path] ? installed[path].version === version : optional),
  );
}

/** Builds the pages of /docs that are missing, and ends this process with a sentence if that fails. */
export function requireSite() {
  if (!buildSite(ROOT))
    stop("The pages of /docs could not be built. npm run build builds them for users who may not write here.");
}

/** Installs missing packages, and ends this process with a sentence if that fails. */
export function requirePackages() {
  if (Number(process.versions.node.split(".")[0]) < NODE_MAJOR_MIN)
    stop(
      `This needs Node ${NODE_MAJOR_MIN} or newer, and this is Node ${process.versions.node}. Install a newer one from https://nodejs.org.`,
    );

  if (!isInstalled()) {
    // On standard error, as is npm's output: standard output belongs to the command, and may be a file.
    console.error("Installing the packages of package-lock.json, once ...");
    const npm = process.env.npm_execpath;
    const options = [
      "ci",
      "--no-audit",
      "--no-fund",
      "--loglevel=error",
      "--fetch-retry-mintimeout=1000",
      "--fetch-retry-maxtimeout=5000",
    ];
    const [command, ...args] = npm ? [process.execPath, npm, ...options] : ["npm", ...options];
    const { status } = spawnSync(command, args, { cwd: ROOT, stdio: ["inherit", 2, "inherit"] });
    if (status !== 0 || !isInstalled())
      stop(
        "The packages could not be installed. Check that the npm registry can be reached, and run the command again.",
      );
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  requirePackages();
  requireSite();
}
