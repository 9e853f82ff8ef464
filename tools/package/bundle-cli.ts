/** `lib/` of a release: all of `ug` in one script, and the modules that workerd embeds. */
import { cpSync } from "node:fs";
import { join } from "node:path";
import { type BuildOptions, buildSync, type Metafile } from "esbuild";
import { ROOT } from "../../cli/src/serve/bundle.ts";

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

/** Writes it into `folder`. Returns what it contains. */
export function bundleCli(folder: string): Metafile {
  const outfile = join(folder, "ug.mjs");
  const { metafile } = buildSync({ ...CLI, absWorkingDir: ROOT, outfile, target: "node24", metafile: true });
  cpSync(join(ROOT, "cli/src/serve/workers"), join(folder, "workers"), { recursive: true });
  return metafile;
}
