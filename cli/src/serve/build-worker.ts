/** Builds the Worker into the folder that is the only argument. `bundle.ts` runs it. */
import { cpSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { unstable_readConfig } from "wrangler";
import { publicFiles, ROOT, writeSettings } from "./bundle.ts";
import { buildUpload } from "./upload.ts";

const [outdir = ""] = process.argv.slice(2);

/** What is read of wrangler.toml. */
type Config = {
  compatibility_date: string;
  durable_objects: { bindings: { name: string; class_name: string }[] };
  ratelimits: { name: string; simple: { limit: number; period: number } }[];
  vars: Record<string, string>;
};

const config = unstable_readConfig({ config: join(ROOT, "wrangler.toml") }) as Config;
buildUpload(join(ROOT, "wrangler.toml"), outdir, config.compatibility_date);
// workerd reads no source maps, and shows no sources.
for (const name of readdirSync(outdir)) if (/\.map$|^README/.test(name)) rmSync(join(outdir, name));
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
