import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildWorker, type RunningWorker, startWorker } from "../../../scripts/bench/workerd.ts";

export type PlainService = RunningWorker & { key: string; operatorToken: string };

/**
 * Starts the Worker as it is deployed, in workerd alone: the proxies of `npm start` would frame bodies again. Returns it with
 * an API key of workspace acme, environment Testing, and the bootstrap token.
 */
export async function startPlainService(): Promise<PlainService> {
  const folder = mkdtempSync(join(tmpdir(), "user-group-service-"));
  const bundle = join(folder, "bundle");
  buildWorker("wrangler.toml", bundle);
  const operatorToken = randomBytes(32).toString("hex");
  const worker = await startWorker({
    folder,
    bundle,
    durableObjects: [
      { binding: "GROUP_DIRECTORY", className: "GroupDirectory" },
      { binding: "REGISTRY", className: "Registry" },
    ],
    texts: { SIGNING_KEYS: `k1:${randomBytes(32).toString("base64")}`, OPERATOR_TOKEN: operatorToken },
    kv: ["TOKEN_INDEX"],
    rateLimits: [
      "API_KEY_LIMIT",
      "TOKEN_LIMIT",
      "SESSION_LIMIT",
      "REFUSED_CREDENTIAL_LIMIT",
      "OPERATOR_LIMIT",
      "LIST_LIMIT",
    ],
    log: "ignore",
  });
  const response = await fetch(`${worker.url}/api/keys`, {
    method: "POST",
    headers: { Authorization: `Token ${operatorToken}`, "Content-Type": "application/json" },
    body: JSON.stringify({ workspace: "acme", environment: "Testing", name: "backend" }),
  });
  const { key } = (await response.json()) as { key: string };
  const stop = async () => {
    await worker.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  return { ...worker, key, operatorToken, stop };
}
