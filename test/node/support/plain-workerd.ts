import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { issueKey, OPERATOR_TOKEN, secrets } from "../../../scripts/bench/service.ts";
import { bundleOf } from "../../../scripts/serve/bundle.ts";
import { startService } from "../../../scripts/serve/service.ts";

export type PlainService = { url: string; pid: number; key: string; operatorToken: string; stop: () => Promise<void> };

/**
 * Starts the service as `ug serve` does, in a process whose time and memory a test can measure alone. Returns it with an API
 * key of workspace acme, environment Testing, and the bootstrap token. `v8Flags` are options of the JavaScript engine.
 */
export async function startPlainService(v8Flags: readonly string[] = []): Promise<PlainService> {
  const state = mkdtempSync(join(tmpdir(), "user-group-service-"));
  const bundle = bundleOf({ isNew: () => undefined });
  const { port, process, stop } = await startService({
    bundle,
    state,
    address: "127.0.0.1:0",
    variables: { ...bundle.settings.vars, ...secrets() },
    log: "ignore",
    v8Flags,
  });
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    pid: process.pid ?? 0,
    key: await issueKey(url, "acme"),
    operatorToken: OPERATOR_TOKEN,
    stop: async () => {
      await stop();
      rmSync(state, { recursive: true, force: true });
    },
  };
}
