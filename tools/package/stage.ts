/** The folder of a release, as its file contains it. */
import { createHash } from "node:crypto";
import { chmodSync, cpSync, globSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { type BuildOptions, buildSync } from "esbuild";
import { bundleOf, METAFILE, ROOT } from "../../cli/src/serve/bundle.ts";
import { type Component, componentsOf, licencesOf } from "./components.ts";

/** How esbuild bundles `ug`. */
export const CLI = {
  entryPoints: ["cli/src/main.ts"],
  bundle: true,
  format: "esm",
  platform: "node",
  // CommonJS packages in a bundle of ES modules call `require`.
  banner: {
    js: 'import { createRequire as requireFor } from "node:module"; const require = requireFor(import.meta.url);',
  },
  // pg loads the first only if it is installed, and the second only on Cloudflare.
  external: ["pg-native", "cloudflare:sockets"],
  legalComments: "none",
} satisfies BuildOptions;

const DOCUMENTS = ["deploy", "docs", "CHANGELOG.md", "README.md", "SECURITY.md"];

/** As `uname -m` names the machines of `process.arch`. */
const MACHINES: NodeJS.Dict<string> = { x64: "x86_64", arm64: "aarch64" };

/**
 * `bin/ug`: runs the command on the release's own Node. It resolves links first, so that a process goes on with the files of its own
 * release when `current` leads to another.
 */
const launcherFor = (machine: string): string => `#!/bin/sh
release=$(dirname "$(dirname "$(readlink -f "$0")")")
if [ "$(uname -sm)" != "Linux ${machine}" ]; then
  echo "ug: this release is for Linux on ${machine}, and this machine is $(uname -sm). Take the file of the release for it." >&2
  exit 1
fi
exec "$release/bin/node" -- "$release/lib/ug.mjs" "$@"
`;

/** Makes the folder, which must not exist. Returns what it contains of others. @throws Error on a machine that runs no release. */
export function stage(release: string): Component[] {
  const machine = MACHINES[process.arch];
  if (process.platform !== "linux" || machine === undefined)
    throw new Error("A release is for the machine that makes it: make it on Linux, on x64 or arm64.");
  for (const name of DOCUMENTS) cpSync(join(ROOT, name), join(release, name), { recursive: true });
  const outfile = join(release, "lib/ug.mjs");
  const { metafile } = buildSync({ ...CLI, absWorkingDir: ROOT, outfile, target: "node24", metafile: true });
  // The modules that workerd embeds.
  cpSync(join(ROOT, "cli/src/serve/workers"), join(release, "lib/workers"), { recursive: true });
  const { folder: worker } = bundleOf({ isNew: () => undefined });
  cpSync(worker, join(release, "worker"), { recursive: true });
  rmSync(join(release, "worker", METAFILE));
  mkdirSync(join(release, "bin"));
  cpSync(process.execPath, join(release, "bin/node"));
  cpSync(createRequire(import.meta.url).resolve("workerd/bin/workerd"), join(release, "bin/workerd"));
  writeFileSync(join(release, "bin/ug"), launcherFor(machine));
  for (const program of ["node", "workerd", "ug"]) chmodSync(join(release, "bin", program), 0o755);
  const components = componentsOf([metafile, JSON.parse(readFileSync(join(worker, METAFILE), "utf8"))]);
  writeFileSync(join(release, "licences"), licencesOf(components));
  writeFileSync(join(release, "sha256sums"), checksumsOf(release));
  return components;
}

/** The SHA-256 of each file, in the form that `sha256sum --check` reads. */
function checksumsOf(release: string): string {
  const names = globSync("**/*", { cwd: release }).filter((name) => statSync(join(release, name)).isFile());
  return names
    .toSorted()
    .map((name) => `${sha256Of(join(release, name))}  ${name}\n`)
    .join("");
}

/** The SHA-256 of a file, in hex. */
export const sha256Of = (file: string): string => createHash("sha256").update(readFileSync(file)).digest("hex");
