/**
 * `node tools/site.ts [SOURCES [OUTPUT]]`: writes the pages of /docs, /llms.txt and /kit/, from the folder of the project into its `public/`.
 * common/site.mjs runs it where they are missing. Node runs no JSX, so esbuild bundles the program first.
 */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { buildSync } from "esbuild";
import { writeKit } from "./kit/kit.ts";

const ROOT = join(import.meta.dirname, "..");
const [sources = ROOT, output = join(sources, "public")] = process.argv.slice(2);

const folder = mkdtempSync(join(tmpdir(), "user-group-service-site-"));
try {
  const outfile = join(folder, "site.mjs");
  buildSync({
    entryPoints: [join(ROOT, "tools/site/write-site.tsx")],
    outfile,
    bundle: true,
    format: "esm",
    platform: "node",
    logLevel: "warning",
  });
  const { writeSite } = await import(pathToFileURL(outfile).href);
  // A project of a test may have pages alone.
  const kit = existsSync(join(sources, "client")) ? await writeKit(sources, output) : [];
  writeSite(sources, output, kit);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
