import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { issueKey, OPERATOR_TOKEN, serviceOptions } from "../../../scripts/bench/service.ts";
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
  const worker = await startWorker({ ...serviceOptions(folder, bundle), log: "ignore" });
  const stop = async () => {
    await worker.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  return { ...worker, key: await issueKey(worker.url, "acme"), operatorToken: OPERATOR_TOKEN, stop };
}
