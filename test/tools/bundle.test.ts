import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { bundleOf } from "../../cli/src/serve/bundle.ts";
import { newFolder } from "../support/node/new-folder.ts";

it("ug serve runs the bytes that wrangler deploys", () => {
  const outdir = newFolder();
  const args = ["deploy", "--dry-run", "--env=", "--config", "wrangler.toml", "--outdir", outdir];
  execFileSync(process.execPath, ["node_modules/wrangler/bin/wrangler.js", ...args], {
    stdio: ["ignore", "ignore", "inherit"],
    env: { ...process.env, WRANGLER_SEND_METRICS: "false", WRANGLER_WRITE_LOGS: "false" },
  });
  const textIn = (folder: string) => readFileSync(join(folder, "index.js"), "utf8");
  const deployed = textIn(outdir).replace(/^\/\/# sourceMappingURL=.*\n/m, "");
  const served = textIn(bundleOf({ isNew: () => undefined }).folder);
  // toBe would print a difference of 500 KB.
  expect(served.length).toBe(deployed.length);
  expect(served === deployed).toBe(true);
});
