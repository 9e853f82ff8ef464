import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { ROOT } from "./bundle.ts";

/** What esbuild has written about the contents of an upload. */
export const METAFILE = "bundle-meta.json";

/**
 * Builds the Worker of a wrangler configuration as it is deployed, minified, into `outdir`. Without a date of its own, the
 * Worker gets `compatibilityDate`.
 */
export function buildUpload(config: string, outdir: string, compatibilityDate: string): void {
  const files = ["--config", config, "--outdir", outdir];
  execFileSync(
    process.execPath,
    [
      join(ROOT, "node_modules/wrangler/bin/wrangler.js"),
      ...[
        "deploy",
        "--dry-run",
        "--env=",
        "--compatibility-date",
        compatibilityDate,
        ...files,
        `--metafile=${join(outdir, METAFILE)}`,
      ],
    ],
    {
      stdio: ["ignore", "ignore", "inherit"],
      env: { ...process.env, WRANGLER_SEND_METRICS: "false", WRANGLER_WRITE_LOGS: "false" },
    },
  );
}
