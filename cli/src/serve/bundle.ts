/** The Worker as `wrangler deploy` would upload it, with what wrangler.toml and `public/` add to it. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { CommandError } from "../../../common/command-error.ts";
import { RELEASE } from "../release.ts";
import { messageOf } from "../support/errors.ts";

export const ROOT = join(import.meta.dirname, "../../..");
const CACHE = join(ROOT, "node_modules/.cache/ug");
/** The one module of a bundle. */
export const SCRIPT = "index.js";
export const SETTINGS = "settings.json";
/** What esbuild has written about the contents of a bundle. */
export const METAFILE = "bundle-meta.json";
const BUNDLES_MAX = 5;
/** The folder beside the bundles with an empty file `<bundle>-<process id>` for each process that uses one. */
const USERS = "users";
const SOURCES = [
  "{src,common}/**/*.*",
  "public/**/*.*",
  "cli/src/serve/{build-worker,bundle}.ts",
  "package.json",
  "package-lock.json",
  "tsconfig.json",
  "wrangler.toml",
];

/** What one encoding of a file has: its length, and its validator (RFC 9110, section 8.8.3). */
export type Encoding = { bytes: number; etag: string };
/** A file of `public/`. A large text is stored compressed, too, with `.gz` after its name. */
export type PublicFile = Encoding & { type: string; gzip?: Encoding };

/** What is read of wrangler.toml, and the files of `public/` by their paths. */
export type Settings = {
  compatibilityDate: string;
  durableObjects: { binding: string; className: string }[];
  rateLimits: { name: string; limit: number; period: number }[];
  vars: Record<string, string>;
  files: Record<string, PublicFile>;
};

/** A built Worker: the folder of its modules, and its settings. */
export type Bundle = { folder: string; settings: Settings };

/**
 * Returns the bundle of an installed release, or else of these sources, which is built once and kept by their hash.
 *
 * @throws CommandError if the Worker cannot be built, or the bundle cannot be kept.
 */
export function bundleOf({ isNew }: { isNew: () => void }): Bundle {
  if (RELEASE !== undefined) return bundleIn(join(RELEASE, "worker"));
  const name = hashOfSources();
  const folder = join(CACHE, name);
  const isBuilt = existsSync(folder);
  if (!isBuilt) build(folder);
  markAsUsed(name);
  if (!isBuilt) {
    removeOldBundles(CACHE);
    isNew();
  }
  return bundleIn(folder);
}

const bundleIn = (folder: string): Bundle => ({
  folder,
  settings: JSON.parse(readFileSync(join(folder, SETTINGS), "utf8")),
});

/** Records that this process uses a bundle: workerd reads the files of `public/` from it for as long as it runs. */
function markAsUsed(bundle: string): void {
  try {
    mkdirSync(join(CACHE, USERS), { recursive: true });
    writeFileSync(join(CACHE, USERS, `${bundle}-${process.pid}`), "");
    // Other users must be able to read it, whatever the umask.
    chmodSync(join(CACHE, USERS), 0o755);
  } catch {
    // A user who may not write here runs what `npm run build` has built.
  }
}

/** Removes all bundles but the newest ones and those that a running process uses. Exported for tests. */
export function removeOldBundles(cache: string): void {
  const marks = existsSync(join(cache, USERS)) ? readdirSync(join(cache, USERS)) : [];
  const [used = [], left = []] = [true, false].map((isUsed) =>
    marks.filter((mark) => isRunning(Number(mark.split("-")[1])) === isUsed),
  );
  for (const mark of left) rmSync(join(cache, USERS, mark), { force: true });
  const bundles = readdirSync(cache)
    .filter((name) => name !== USERS)
    .map((name) => ({ name, at: statSync(join(cache, name)).mtimeMs }));
  const old = bundles.toSorted((one, other) => other.at - one.at).slice(BUNDLES_MAX);
  for (const { name } of old)
    if (!used.some((mark) => mark.startsWith(`${name}-`))) rmSync(join(cache, name), { recursive: true, force: true });
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // Of another user.
    return Object(error).code === "EPERM";
  }
}

function hashOfSources(): string {
  const hash = createHash("sha256");
  for (const name of globSync(SOURCES, { cwd: ROOT }).toSorted()) {
    const content = readFileSync(join(ROOT, name));
    hash.update(`${name}\n${content.length}\n`).update(content);
  }
  return hash.digest("hex").slice(0, 32);
}

/** Builds in a folder of its own, which takes the final name only when it is whole. */
function build(folder: string): void {
  // A bundle holds no secret, and the user of the service may be another: `ug serve` has set a umask for its state.
  const umask = process.umask(0o022);
  try {
    mkdirSync(CACHE, { recursive: true });
    const unfinished = mkdtempSync(join(CACHE, "unfinished-"));
    try {
      // In a process of its own, so that a release contains neither esbuild nor a reader of TOML.
      const args = ["--", join(import.meta.dirname, "build-worker.ts"), unfinished];
      execFileSync(process.execPath, args, { cwd: ROOT, stdio: ["ignore", "ignore", "inherit"] });
      // mkdtemp makes a folder for its owner alone.
      chmodSync(unfinished, 0o755);
      renameSync(unfinished, folder);
    } finally {
      rmSync(unfinished, { recursive: true, force: true });
    }
  } catch (error) {
    if (existsSync(folder)) return;
    throw new CommandError(
      `The Worker could not be built. ${messageOf(error)}\nnpm run build builds it for users who may not write here.`,
    );
  } finally {
    process.umask(umask);
  }
}
