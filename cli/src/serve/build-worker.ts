/**
 * Builds the Worker into the folder that is the only argument, with the same bytes that `wrangler deploy` uploads. `bundle.ts` runs it.
 * Wrangler itself is not needed to serve, and would be three quarters of what is installed.
 */
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildSync } from "esbuild";
import { parse } from "smol-toml";
import { METAFILE, publicFiles, ROOT, writeSettings } from "./bundle.ts";

const [outdir = ""] = process.argv.slice(2);

/** What is read of wrangler.toml. */
type Config = {
  main: string;
  compatibility_date: string;
  durable_objects: { bindings: { name: string; class_name: string }[] };
  ratelimits: { name: string; simple: { limit: number; period: number } }[];
  vars: Record<string, string>;
};

const config = parse(readFileSync(join(ROOT, "wrangler.toml"), "utf8")) as unknown as Config;
const { metafile } = buildSync({
  absWorkingDir: ROOT,
  entryPoints: [config.main],
  outfile: join(outdir, "index.js"),
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2024",
  conditions: ["workerd", "worker", "browser"],
  external: ["cloudflare:*"],
  metafile: true,
});
writeFileSync(join(outdir, METAFILE), JSON.stringify(metafile));
cpSync(join(ROOT, "public"), join(outdir, "public"), { recursive: true });
writeSettings(outdir, {
  compatibilityDate: config.compatibility_date,
  durableObjects: config.durable_objects.bindings.map(({ name, class_name }) => ({
    binding: name,
    className: class_name,
  })),
  rateLimits: config.ratelimits.map(({ name, simple }) => ({ name, ...simple })),
  vars: config.vars,
  files: publicFiles(),
});
