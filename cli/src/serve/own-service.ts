/** A service with a state and secrets of its own, which nobody else can reach. */
import { randomBytes } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { DAYS_MAX } from "../../../common/limits.ts";
import { bundleOf } from "./bundle.ts";
import { startService } from "./service.ts";

/**
 * Starts it on a free port, with its state in this folder. Its signing keys are random unless given. It purges no old events and
 * no deleted groups. Returns its address, its bootstrap token, and how to stop it.
 */
export async function startOwnService(folder: string, signingKeys = `k1:${randomBytes(32).toString("base64")}`) {
  const bundle = bundleOf({ isNew: () => undefined });
  const state = join(folder, "state");
  mkdirSync(state, { recursive: true, mode: 0o700 });
  const operatorToken = randomBytes(32).toString("base64url");
  const secrets = { SIGNING_KEYS: signingKeys, OPERATOR_TOKEN: operatorToken };
  const kept = { EVENT_DAYS: String(DAYS_MAX), UNDO_DAYS: String(DAYS_MAX) };
  const variables = { ...bundle.settings.vars, PUBLIC_URL: "loopback", ...kept, ...secrets };
  const { port, stop } = await startService({ bundle, state, address: "127.0.0.1:0", variables, log: "ignore" });
  return { url: new URL(`http://127.0.0.1:${port}`), operatorToken, stop };
}
