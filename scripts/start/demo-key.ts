/** The API key that `npm start` issues for its state, so that the service can be called at once. */
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { CommandError } from "../command.ts";
import type { Service } from "./local-runtime.ts";
import { DEFAULT_STATE_FOLDER, type Options } from "./options.ts";
import { makePrivateFile, makePrivateFolder, writePrivateFile } from "./private-files.ts";

const FOLDER = ".demo-keys";
const DEMO_KEY = { workspace: "demo", environment: "Testing", name: "npm start" };

/** Why there is no demo key. The service runs nevertheless. */
export class NoDemoKey extends Error {}

type Answer = { key: string; error: { code: string; message: string } };

/** The file with the demo key of a state. It is outside of the state folder, which holds no credential. */
export function demoKeyFile({ stateFolder }: Options): string {
  const state = resolve(stateFolder);
  const hash = createHash("sha256").update(state).digest("hex").slice(0, 8);
  return join(FOLDER, state === resolve(DEFAULT_STATE_FOLDER) ? "default" : `${basename(state)}-${hash}`);
}

/** Returns the API key of the last start if the service still accepts it, otherwise a new one. */
export async function demoKey(service: Service, options: Options, operatorToken: string | undefined): Promise<string> {
  const file = demoKeyFile(options);
  makePrivateFolder(FOLDER);
  if (existsSync(file)) {
    makePrivateFile(file);
    const key = readFileSync(file, "utf8").trim();
    // Without a body the call changes nothing. A key that is accepted gets status 400.
    const response = await post(service, "/api/user", key);
    if (response.status === 400) return key;
    await refuseOtherVersion(service, response.status, options);
  }
  if (operatorToken === undefined) throw new NoDemoKey("OPERATOR_TOKEN is missing or too short.");
  const response = await post(service, "/api/keys", operatorToken, DEMO_KEY);
  await refuseOtherVersion(service, response.status, options);
  const { key, error } = (await response.json()) as Answer;
  if (response.status !== 201) throw new NoDemoKey(error.message);
  writePrivateFile(file, `${key}\n`);
  return key;
}

const post = ({ url, fetch }: Service, path: string, credential: string, body?: object) =>
  fetch(url + path, {
    method: "POST",
    headers: { Authorization: `Token ${credential}`, "Content-Type": "application/json" },
    ...(body && { body: JSON.stringify(body) }),
  });

/** A service that is healthy, and refuses all calls with a key, cannot read its database. */
async function refuseOtherVersion({ url, fetch }: Service, status: number, { stateFolder }: Options): Promise<void> {
  if (status !== 503 || (await fetch(`${url}/health`)).status !== 200) return;
  throw new CommandError(
    `The state in ${stateFolder} was made by another version of this service. Delete the folder, or use another: npm start -- --persist-to DIR`,
  );
}
