/**
 * Installs the packages that are missing, before every command of this project. If none is, it uses no network. Then it builds the pages
 * of /docs that are missing, for the commands that may serve them. It runs on the user's own Node, so it uses nothing newer than Node 14.
 *
 * `node common/install.mjs [SET ...]`: the sets below; `testing` by default.
 */
import { spawn } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSite } from "./site.mjs";

const NODE_MAJOR_MIN = 20;
/** That which runs the project itself. */
const NODE_MAJOR = 24;
const ROOT = fileURLToPath(new URL("..", import.meta.url));
/** Ten minutes. */
const OTHER_TRIES_MAX = 1200;
const OTHER_POLL_MS = 500;
const inRoot = (path) => join(ROOT, path);
const LINK = inRoot("node_modules/.bin/node");

/** Each set of packages: the folder of its lock file, and whether those that only development needs belong to it. */
const SETS = {
  serving: { folder: ".", withDev: false },
  testing: { folder: ".", withDev: true },
  // Programs of others that tests connect.
  examples: { folder: "examples", withDev: false },
  node: { folder: "tools/node24", withDev: false },
};

function stop(sentence) {
  console.error(`\n${sentence}\n`);
  process.exit(1);
}

const packagesOf = (lockFile) => Object.entries(JSON.parse(readFileSync(lockFile, "utf8")).packages);

/** What npm has recorded of the packages in a folder; nothing if it has installed none. */
function installedIn(folder) {
  const record = inRoot(join(folder, "node_modules/.package-lock.json"));
  return existsSync(record) ? packagesOf(record) : [];
}

/**
 * Where an installation that has not ended keeps the number of its npm, and the packages from before it. npm takes a package that an
 * interrupted one has written in part for whole.
 */
const unfinishedIn = (folder) => inRoot(join(folder, "node_modules/.unfinished.json"));

function readUnfinished(folder) {
  try {
    return JSON.parse(readFileSync(unfinishedIn(folder), "utf8"));
  } catch {
    return { before: [] };
  }
}

/** Waits while another command installs in a folder: after Ctrl-C, npm works on for a while. */
async function waitForOther(folder) {
  const { npm } = readUnfinished(folder);
  if (isRunning(npm)) console.error(`Waiting until process ${npm} has installed packages ...`);
  for (let tries = 0; tries < OTHER_TRIES_MAX && isRunning(readUnfinished(folder).npm); tries += 1)
    await new Promise((resolve) => setTimeout(resolve, OTHER_POLL_MS));
}

function isRunning(processId) {
  try {
    return process.kill(processId, 0);
  } catch {
    return false;
  }
}

/** Removes what an interrupted installation may have written in part. Returns the paths of the packages from before it. */
function removeUnfinished(folder) {
  if (!existsSync(unfinishedIn(folder))) return installedIn(folder).map(([path]) => path);
  const { before } = readUnfinished(folder);
  for (const [path] of packagesOf(inRoot(join(folder, "package-lock.json"))))
    if (path.startsWith("node_modules/") && !before.includes(path))
      rmSync(inRoot(join(folder, path)), { recursive: true, force: true });
  return before;
}

const isDev = ([, { dev, devOptional }]) => Boolean(dev || devOptional);

/** Whether a folder has every package of its lock file that this platform and the set need. */
function isInstalled({ folder, withDev }) {
  if (existsSync(unfinishedIn(folder))) return false;
  const installed = new Map(installedIn(folder));
  return packagesOf(inRoot(join(folder, "package-lock.json"))).every((each) => {
    const [path, { version, optional }] = each;
    if (path === "" || (!withDev && isDev(each))) return true;
    const found = installed.get(path);
    return found ? found.version === version : optional;
  });
}

/**
 * Installs the packages of a set, unless they are there. Resolves to whether they are there now. `npm ci` would first delete those that a
 * running service uses. Where packages for development are installed, they stay, so that two commands do not install in turns.
 */
async function installSet(name) {
  const set = SETS[name];
  await waitForOther(set.folder);
  if (isInstalled(set)) return true;
  // On standard error, as is npm's output: standard output belongs to the command, and may be a file.
  console.error(`Installing the packages for ${name}, once ...`);
  const before = removeUnfinished(set.folder);
  const withDev = set.withDev || installedIn(set.folder).some(isDev);
  const quiet = ["--no-save", "--no-audit", "--no-fund", "--loglevel=error"];
  const retries = ["--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=5000"];
  const options = ["install", ...quiet, ...retries, withDev ? "--include=dev" : "--omit=dev"];
  const npm = process.env.npm_execpath;
  const [command, ...args] = npm ? [process.execPath, npm, ...options] : ["npm", ...options];
  const child = spawn(command, args, { cwd: inRoot(set.folder), stdio: ["inherit", 2, "inherit"] });
  const ended = new Promise((resolve) => child.on("error", resolve).on("close", resolve));
  try {
    mkdirSync(inRoot(join(set.folder, "node_modules")), { recursive: true });
    writeFileSync(unfinishedIn(set.folder), JSON.stringify({ npm: child.pid, before }));
  } catch (error) {
    console.error(error.message);
  }
  const status = await ended;
  // If npm fails, it takes back what it has done, unless it was killed.
  if (status !== null) rmSync(unfinishedIn(set.folder), { force: true });
  return status === 0 && isInstalled(set);
}

const isSameFile = (one, other) => existsSync(one) && realpathSync(one) === realpathSync(other);

/** Leads `node_modules/.bin/node`, which npm's scripts find first, to the Node that runs the project. */
function linkNode(node) {
  if (isSameFile(LINK, node)) return;
  try {
    const unfinished = `${LINK}-${process.pid}`;
    symlinkSync(node, unfinished);
    renameSync(unfinished, LINK);
  } catch {
    // A user who may not write here runs `ug` all the same: only npm's scripts need the link.
  }
}

/**
 * Installs what is missing of these sets, and Node where the user's own is older than the project's. Resolves to the Node that runs the
 * project. Ends this process with a sentence if that fails.
 */
export async function requirePackages(names) {
  const major = Number(process.versions.node.split(".")[0]);
  if (major < NODE_MAJOR_MIN)
    stop(
      `This needs Node ${NODE_MAJOR_MIN} or newer, and this is Node ${process.versions.node}. Install a newer one from https://nodejs.org.`,
    );
  const isOld = major < NODE_MAJOR;
  const sets = [...new Set(isOld ? [...names, "node"] : names)];
  if (process.env.npm_config_ignore_scripts === "true" && !sets.every((name) => isInstalled(SETS[name])))
    stop(
      "npm is set to ignore-scripts, which workerd and Node need to install. Set npm_config_ignore_scripts=false for this command.",
    );
  // At the same time: each set is in a folder of its own.
  const installed = await Promise.all(sets.map(installSet));
  if (installed.includes(false))
    stop("The packages could not be installed. Check that the npm registry can be reached, and run the command again.");
  const node = isOld ? inRoot("tools/node24/node_modules/.bin/node") : process.execPath;
  linkNode(node);
  return node;
}

/** Builds the pages of /docs that are missing, and ends this process with a sentence if that fails. */
export function requireSite(node) {
  if (!buildSite(ROOT, node))
    stop("The pages of /docs could not be built. npm run build builds them for users who may not write here.");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const names = process.argv.slice(2);
  requireSite(await requirePackages(names.length > 0 ? names : ["testing"]));
}
