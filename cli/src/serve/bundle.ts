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
import { extname, join } from "node:path";
import { CommandError } from "../../../common/command-error.ts";
import { RELEASE } from "../release.ts";

export const ROOT = join(import.meta.dirname, "../../..");
const CACHE = join(ROOT, "node_modules/.cache/ug");
const SETTINGS = "settings.json";
const BUNDLES_MAX = 5;
/** Everything that the bundle depends on. */
const SOURCES = [
  "{src,common}/**/*.*",
  "public/**/*.*",
  "cli/src/serve/{build-worker,bundle,upload}.ts",
  "package.json",
  "package-lock.json",
  "tsconfig.json",
  "wrangler.toml",
];

/** The types that Cloudflare gives to the files of `public/`. */
const TYPES: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".json": "application/json",
  ".md": "text/markdown; charset=utf-8",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".txt": "text/plain; charset=utf-8",
};

/** A file of `public/`: its media type, its length, and its validator (RFC 9110, section 8.8.3). */
type PublicFile = { type: string; bytes: number; etag: string };

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
  const folder = join(CACHE, hashOfSources());
  if (!existsSync(folder)) {
    build(folder);
    removeOldBundles();
    isNew();
  }
  return bundleIn(folder);
}

const bundleIn = (folder: string): Bundle => ({
  folder,
  settings: JSON.parse(readFileSync(join(folder, SETTINGS), "utf8")),
});

/** A bundle that a running service has loaded is no longer needed. */
function removeOldBundles(): void {
  const bundles = readdirSync(CACHE).map((name) => ({ name, at: statSync(join(CACHE, name)).mtimeMs }));
  const old = bundles.toSorted((one, other) => other.at - one.at).slice(BUNDLES_MAX);
  for (const { name } of old) rmSync(join(CACHE, name), { recursive: true, force: true });
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
      run("build-worker.ts", unfinished);
      // mkdtemp makes a folder for its owner alone.
      chmodSync(unfinished, 0o755);
      renameSync(unfinished, folder);
    } finally {
      rmSync(unfinished, { recursive: true, force: true });
    }
  } catch (error) {
    if (existsSync(folder)) return;
    throw new CommandError(
      `The Worker could not be built. ${error instanceof Error ? error.message : error}\nnpm run build builds it for users who may not write here.`,
    );
  } finally {
    process.umask(umask);
  }
}

/** In a process of its own: wrangler would take its memory for as long as the service runs. */
const run = (script: string, outdir: string) =>
  execFileSync(process.execPath, ["--", join(import.meta.dirname, script), outdir], {
    cwd: ROOT,
    stdio: ["ignore", "ignore", "inherit"],
  });

/** Writes the settings of a bundle. */
export const writeSettings = (folder: string, settings: Settings): void =>
  writeFileSync(join(folder, SETTINGS), JSON.stringify(settings));

/** The files of `public/` by the paths at which they are served. */
export function publicFiles(): Record<string, PublicFile> {
  const names = globSync("**/*.*", { cwd: join(ROOT, "public") });
  return Object.fromEntries(
    names.map((name) => {
      const content = readFileSync(join(ROOT, "public", name));
      const hash = createHash("sha256").update(content).digest("hex");
      const type = TYPES[extname(name)] ?? "application/octet-stream";
      return [`/${name}`, { type, bytes: content.length, etag: `"${hash.slice(0, 32)}"` }];
    }),
  );
}
