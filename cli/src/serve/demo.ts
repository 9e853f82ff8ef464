/** What `npm start` makes for a try: an environment with an API key, and an operator. */
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { CommandError } from "../../../common/command-error.ts";
import { explainErrors } from "../support/errors.ts";
import { commandOf, DEFAULT_STATE_FOLDER, type ServeOptions } from "./options.ts";
import { makePrivateFile, makePrivateFolder, writePrivateFile } from "./private-files.ts";

const FOLDER = ".demo-keys";
const DEMO_KEY = { workspace: "demo", environment: "Testing", name: "npm start" };
const DEMO_OPERATOR = { name: "npm start", role: "admin" };

export type DemoKeys = { key: string; operatorKey: string };

/** The running service, its options, and the bootstrap token that issues the keys. */
export type Demo = { url: string; options: ServeOptions; operatorToken: string };

/** Why there are no demo keys. The service runs nevertheless. */
export class NoDemoKeys extends Error {}

type Answer = { key: string; error: { code: string; message: string } };

/** The files with the demo's keys for a state. They are outside of the state folder, which holds no credential. */
export function demoFiles({ persistTo }: Pick<ServeOptions, "persistTo">): { key: string; operatorKey: string } {
  const state = resolve(persistTo);
  const hash = createHash("sha256").update(state).digest("hex").slice(0, 8);
  const key = join(FOLDER, state === resolve(DEFAULT_STATE_FOLDER) ? "default" : `${basename(state)}-${hash}`);
  return { key, operatorKey: `${key}.operator` };
}

/** Returns the keys of the last start if the service still accepts them, otherwise new ones. */
export async function demoKeys(demo: Demo): Promise<DemoKeys> {
  const files = demoFiles(demo.options);
  const failureOf = (code: string) =>
    new CommandError(`The folder ${resolve(FOLDER)}, for the keys of the demo, cannot be made: ${code}.`);
  explainErrors(() => makePrivateFolder(FOLDER), failureOf);
  const kept = async (file: string) => {
    const key = keptKey(file);
    return key !== undefined && (await call(demo, "/api/whoami", key)).status === 200 ? key : undefined;
  };
  const key = (await kept(files.key)) ?? (await issue(demo, "/api/keys", DEMO_KEY));
  writePrivateFile(files.key, `${key}\n`);
  const operatorKey = (await kept(files.operatorKey)) ?? (await issue(demo, "/api/operators", DEMO_OPERATOR));
  writePrivateFile(files.operatorKey, `${operatorKey}\n`);
  return { key, operatorKey };
}

function keptKey(file: string): string | undefined {
  if (!existsSync(file)) return undefined;
  makePrivateFile(file);
  return readFileSync(file, "utf8").trim();
}

async function issue(demo: Demo, path: string, body: object): Promise<string> {
  const { status, answer } = await call(demo, path, demo.operatorToken, body);
  if (status !== 201) throw new NoDemoKeys(answer.error.message);
  return answer.key;
}

/** Calls the service. One that is healthy, and refuses all calls with a key, cannot read its database. */
async function call({ url, options }: Demo, path: string, credential: string, body?: object) {
  const headers = { Authorization: `Token ${credential}`, "Content-Type": "application/json" };
  const init = body ? { method: "POST", headers, body: JSON.stringify(body) } : { headers };
  const response = await fetch(url + path, init);
  const { status } = response;
  if (status === 503 && (await fetch(`${url}/health`)).status === 200)
    throw new CommandError(
      `The state in ${options.persistTo} was made by another version of this service. Delete the folder, or use another: ${commandOf(options)} --persist-to DIR`,
    );
  return { status, answer: (await response.json()) as Answer };
}
