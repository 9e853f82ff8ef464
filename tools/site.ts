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
  const shared = { bundle: true, format: "esm", logLevel: "warning" } as const;
  buildSync({ ...shared, entryPoints: [join(ROOT, "tools/site/write-site.tsx")], outfile, platform: "node" });
  const { writeSite } = await import(pathToFileURL(outfile).href);
  // A project of a test may have pages alone.
  const kit = existsSync(join(sources, "client")) ? await writeKit(sources, output) : [];
  writeSite(sources, output, kit);
  buildSync({
    ...shared,
    entryPoints: [join(ROOT, "tools/site/browser/pages.ts")],
    outfile: join(output, "docs/pages.js"),
    minify: true,
    target: "es2022",
  });
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
