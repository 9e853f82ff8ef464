/** The pages of /docs and the files of /kit/ in `public/`, which are built where they are missing or older than their sources. It uses nothing newer than Node 14. */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** What they are made of. */
const SOURCES = [
  "docs",
  "client/releases",
  "client/src",
  "client/package.json",
  "client/README.md",
  "cli",
  "common",
  "prove",
  "python",
  "tools/kit",
  "tools/package",
  "examples",
  "deploy",
  "tools/site",
  "tools/site.ts",
  "public/openapi.json",
  "README.md",
  "SECURITY.md",
  "CHANGELOG.md",
  "CONTRIBUTING.md",
  "package.json",
  "package-lock.json",
  "tsconfig.json",
];
/** The hash of the sources from which the pages were built. */
const STAMP = "public/docs/sources.sha256";

/** The files that a path is or has below it. */
function filesAt(path) {
  if (!existsSync(path)) return [];
  if (!statSync(path).isDirectory()) return [path];
  return [].concat(
    ...readdirSync(path)
      .filter((name) => name !== "node_modules")
      .sort()
      .map((name) => filesAt(join(path, name))),
  );
}

function hashOfSources(root) {
  const hash = createHash("sha256");
  for (const file of [].concat(...SOURCES.map((name) => filesAt(join(root, name))))) {
    const content = readFileSync(file);
    hash.update(`${file.slice(root.length)} ${content.length}\n`).update(content);
  }
  return hash.digest("hex");
}

/** Builds the pages with this Node unless they are there. Returns whether they are there now. */
export function buildSite(root, node) {
  const stamp = join(root, STAMP);
  const hash = hashOfSources(root);
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === hash) return true;
  // Standard output belongs to the command that needs the pages.
  const { status } = spawnSync(node, ["--", join(root, "tools/site.ts"), root], { stdio: ["ignore", 2, "inherit"] });
  if (status === 0) writeFileSync(stamp, hash);
  return status === 0;
}
