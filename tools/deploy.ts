/**
 * `npm run deploy`: `wrangler deploy` with the same arguments. Without `--env` or CLOUDFLARE_ENV it deploys production: wrangler.toml
 * has several environments, so wrangler would warn that none is named.
 */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { ROOT } from "../cli/src/serve/bundle.ts";

const WRANGLER = join(ROOT, "node_modules/wrangler/bin/wrangler.js");
const { status } = spawnSync(process.execPath, [WRANGLER, "deploy", ...process.argv.slice(2)], {
  stdio: "inherit",
  env: { ...process.env, CLOUDFLARE_ENV: process.env.CLOUDFLARE_ENV ?? "" },
});
process.exitCode = status ?? 1;
