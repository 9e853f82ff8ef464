import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bundleOf } from "../../../cli/src/serve/bundle.ts";
import { startService } from "../../../cli/src/serve/service.ts";
import { secrets as freshSecrets, issueKey, OPERATOR_TOKEN } from "../../../tools/bench/service.ts";

export type PlainService = {
  url: string;
  pid: number;
  key: string;
  operatorToken: string;
  secrets: Record<string, string>;
  /** The log so far. */
  log: () => string;
  stop: () => Promise<void>;
};

/** The folder of the state, a temporary one by default, the port, any by default, and options of the JavaScript engine. */
export type PlainOptions = {
  state?: string;
  port?: number;
  v8Flags?: readonly string[];
  /** Without a key, so that nothing is there yet. */
  isBare?: boolean;
  /** The secrets of another service, whose credentials this one then takes. */
  secrets?: Record<string, string>;
};

/**
 * Starts the service as `ug serve` does, in a process whose time and memory a test can measure alone. Returns it with an API
 * key of workspace acme, environment Testing, and the bootstrap token.
 */
export async function startPlainService({
  state,
  port: asked = 0,
  v8Flags = [],
  isBare = false,
  secrets = freshSecrets(),
}: PlainOptions = {}): Promise<PlainService> {
  const folder = mkdtempSync(join(tmpdir(), "user-group-service-"));
  const bundle = bundleOf({ isNew: () => undefined });
  const { port, process, stop } = await startService({
    bundle,
    state: state ?? folder,
    address: `127.0.0.1:${asked}`,
    variables: { ...bundle.settings.vars, ...secrets },
    log: "pipe",
    v8Flags,
  });
  // After the last of the log.
  const ended = once(process, "close");
  let log = "";
  for (const stream of [process.stdout, process.stderr])
    stream?.on("data", (data) => {
      log += data;
    });
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    pid: process.pid ?? 0,
    key: isBare ? "" : await issueKey(url, "acme"),
    operatorToken: OPERATOR_TOKEN,
    secrets,
    log: () => log,
    stop: async () => {
      await stop();
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
