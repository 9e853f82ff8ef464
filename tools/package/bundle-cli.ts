/** `lib/` of a release: all of `ug` in one script, and the modules that workerd embeds. */
import { cpSync } from "node:fs";
import { join } from "node:path";
import { buildSync, type Metafile } from "esbuild";
import { ROOT } from "../../cli/src/serve/bundle.ts";

/** CommonJS packages in a bundle of ES modules call `require`. */
const REQUIRE =
  'import { createRequire as requireFor } from "node:module"; const require = requireFor(import.meta.url);';

/** Writes it into `folder`. Returns what it contains. */
export function bundleCli(folder: string): Metafile {
  const { metafile } = buildSync({
    absWorkingDir: ROOT,
    entryPoints: ["cli/src/main.ts"],
    outfile: join(folder, "ug.mjs"),
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node24",
    banner: { js: REQUIRE },
    // pg loads the first only if it is installed, and the second only on Cloudflare.
    external: ["pg-native", "cloudflare:sockets"],
    legalComments: "none",
    metafile: true,
  });
  cpSync(join(ROOT, "cli/src/serve/workers"), join(folder, "workers"), { recursive: true });
  return metafile;
}
