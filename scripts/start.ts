/**
 * `npm start`: runs the Worker on the local runtime with secrets of its own making, and prints how to call it.
 * Arguments are those of `wrangler dev`.
 */
import { spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { basename, join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { parseArgs, parseEnv, stripVTControlCharacters } from "node:util";
import { stopWithNpm } from "./command.ts";

const SECRETS_FILE = ".dev.vars";
const DEMO_KEYS_FOLDER = ".demo-keys";
const DEMO_KEY = { workspace: "demo", environment: "Testing", name: "npm start" };
const DEFAULT_STATE = ".wrangler/state";
const DEFAULT_PORT = "8787";

const wranglerArguments = process.argv.slice(2);
const { values } = parseArgs({
  args: wranglerArguments,
  strict: false,
  options: {
    port: { type: "string" },
    ip: { type: "string" },
    "persist-to": { type: "string" },
    "env-file": { type: "string" },
    "local-protocol": { type: "string" },
  },
});
const option = (name: string, otherwise: string) => {
  const value = values[name];
  return typeof value === "string" ? value : otherwise;
};

const port = option("port", DEFAULT_PORT);
if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535) {
  console.error("\nGive --port as a whole number up to 65535.\n");
  process.exit(1);
}
const secretsFile = option("env-file", SECRETS_FILE);

/** Only the owner may read what it writes. */
function writePrivately(file: string, text: string): void {
  writeFileSync(file, text, { mode: 0o600 });
}

function makeSecrets(): void {
  if (existsSync(secretsFile)) return;
  writePrivately(
    secretsFile,
    `SIGNING_KEYS=k1:${randomBytes(32).toString("base64")}\nOPERATOR_TOKEN=${randomBytes(32).toString("base64url")}\n`,
  );
  console.info(`Wrote fresh secrets to ${secretsFile}.`);
}

/** Stops with a sentence where the port is taken; left alone, wrangler would quietly choose another. */
async function requireFreePort(): Promise<void> {
  const hosts = values.ip === undefined || values.ip === "localhost" ? ["127.0.0.1", "::1"] : [option("ip", "")];
  for (const host of hosts) {
    const error = await new Promise<NodeJS.ErrnoException | undefined>((settle) => {
      const probe = createServer()
        .once("error", settle)
        .listen({ host, port: Number(port) }, () => probe.close(() => settle(undefined)));
    });
    if (error?.code === "EADDRINUSE") {
      console.error(
        `\nPort ${port} is busy. Stop what listens there, or choose another port: npm start -- --port ${Number(port) + 1}\n`,
      );
      process.exit(1);
    }
  }
}

/** Where the demo key of this state is kept: apart from the state, which holds no credential. */
function demoKeyFile(): string {
  const state = resolve(option("persist-to", DEFAULT_STATE));
  const name =
    state === resolve(DEFAULT_STATE)
      ? "default"
      : `${basename(state)}-${createHash("sha256").update(state).digest("hex").slice(0, 8)}`;
  return join(DEMO_KEYS_FOLDER, name);
}

/** The service runs, and does not take the secrets of the file. */
class SecretsRefused extends Error {}

const post = (url: string, credential: string, body?: object) =>
  fetch(url, {
    method: "POST",
    headers: { Authorization: `Token ${credential}`, "Content-Type": "application/json" },
    ...(body && { body: JSON.stringify(body) }),
  });

/** The API key that this state knows: the one of the last start, or a new one. */
async function demoKey(url: string): Promise<string> {
  const file = demoKeyFile();
  if (existsSync(file)) {
    const kept = readFileSync(file, "utf8").trim();
    // Without a body the call changes nothing, and a key that is known is told just that.
    if ((await post(`${url}/api/user`, kept)).status === 400) return kept;
  }
  const operatorToken = parseEnv(readFileSync(secretsFile, "utf8")).OPERATOR_TOKEN ?? "";
  const response = await post(`${url}/api/keys`, operatorToken, DEMO_KEY);
  const answer = (await response.json()) as { key: string; error: { message: string } };
  if (response.status !== 201) throw new SecretsRefused(answer.error.message);
  mkdirSync(DEMO_KEYS_FOLDER, { recursive: true, mode: 0o700 });
  writePrivately(file, `${answer.key}\n`);
  return answer.key;
}

async function greet(url: string): Promise<void> {
  console.info(`\nThe user group service is ready at ${url}`);
  try {
    const key = await demoKey(url);
    console.info(
      [
        `API key of workspace demo, environment Testing (kept in ${demoKeyFile()}):\n`,
        `  ${key}\n`,
        "Get or create a user group:\n",
        `  curl -X GET ${url}/api/user -H 'Authorization: Token ${key}' -H 'Content-Type: application/json' -d '{"user_group_id":"first"}'\n`,
        `See what a viewer sees, with the token that this shows: ${url}/demo\n`,
        `Every call and refusal: ${url}/docs\n`,
        "Ctrl-C stops the service. What follows is its log.\n",
      ].join("\n"),
    );
  } catch (error) {
    console.error(`No API key could be issued: ${reasonOf(error)}`);
    if (error instanceof SecretsRefused)
      console.error(
        `If ${secretsFile} lacks a secret, add it as .dev.vars.example shows, and start again. Deleted, the file is made anew,\n` +
          "and every token and key of before is refused.\n",
      );
  }
}

/** The message, and behind that of a `fetch` what it failed at. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message} (${error.cause.message})` : error.message;
}

makeSecrets();
await requireFreePort();

const wrangler = spawn(
  process.execPath,
  [
    "node_modules/wrangler/bin/wrangler.js",
    "dev",
    ...(values.port === undefined ? ["--port", port] : []),
    "--show-interactive-dev-session=false",
    "--var",
    "DEMO_PAGE:on",
    ...wranglerArguments,
  ],
  {
    stdio: ["ignore", "pipe", "inherit", "ipc"],
    env: {
      ...process.env,
      // Nothing of this is needed, and each would call out or write elsewhere.
      CLOUDFLARE_CF_FETCH_ENABLED: "false",
      X_LOCAL_OBSERVABILITY: "false",
      // It would let whoever reaches the port read and write the database.
      X_LOCAL_EXPLORER: "false",
      WRANGLER_HIDE_BANNER: "true",
      WRANGLER_SEND_ERROR_REPORTS: "false",
      WRANGLER_SEND_METRICS: "false",
      WRANGLER_WRITE_LOGS: "false",
    },
  },
);

// Wrangler's own line for each request has the whole path, into which someone may have put a credential; ours has not.
if (wrangler.stdout)
  createInterface({ input: wrangler.stdout }).on("line", (line) => {
    if (!/^\[wrangler:info\] [A-Z]+ \//.test(stripVTControlCharacters(line))) console.info(line);
  });

let isReady = false;
let isStopping = false;

wrangler.on("message", (message) => {
  const { event, ip, port: boundPort } = JSON.parse(String(message));
  if (event !== "DEV_SERVER_READY" || isReady) return;
  isReady = true;
  void greet(`${option("local-protocol", "http")}://${ip}:${boundPort}`);
});

wrangler.on("exit", (code) => {
  if (isStopping) process.exit(0);
  console.error(
    isReady ? "\nThe local runtime has stopped.\n" : "\nThe service could not start; the lines above say why.\n",
  );
  process.exit(code || 1);
});

function stop(): void {
  isStopping = true;
  wrangler.kill("SIGTERM");
}

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, stop);
stopWithNpm(stop);
