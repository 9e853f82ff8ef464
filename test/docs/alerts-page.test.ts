import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { describe, expect, inject, it } from "vitest";
import openapi from "../../public/openapi.json" with { type: "json" };

const { url, key, operatorToken, logFile } = inject("service");

const page = readFileSync("docs/operators/alerts.md", "utf8");
const sources = readdirSync("src", { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".ts"))
  .map((file) => readFileSync(join("src", file), "utf8"));

/** The beginning of each message that the service logs as a warning or an error, up to its first value. */
const messages = sources.flatMap((source) =>
  [...source.matchAll(/log\.(?:warn|error)\(\{[^}]*?message: ["`]([^"`$]+?)(?:\.|["`$])/g)].map(([, text = ""]) =>
    text.replace(/"$/, ""),
  ),
);

it("the page of alerts has every message that the service logs without a request", () => {
  expect(messages.length).toBeGreaterThan(4);
  for (const message of messages) expect(page).toContain(message);
});

it("the page of alerts names every failure of the service itself", () => {
  const names = Object.entries<{ content: Record<string, { schema: object }> }>(openapi.components.responses)
    .filter(([name]) =>
      /^(?:internal_error|.*overloaded|.*unavailable|.*not_configured|.*full|.*restoring|not_ready)/.test(name),
    )
    .flatMap(([name]) => name.split("-or-"));
  expect(names.length).toBeGreaterThan(4);
  for (const name of names) expect(page, name).toContain(`"failure":"${name}"`);
});

it("the texts by which to find a line are fields that the service logs", () => {
  const log = readFileSync("src/http/app.ts", "utf8");
  const fields = [...page.matchAll(/`"(\w+)":"/g)].map(([, field]) => field);
  expect(fields.length).toBeGreaterThan(8);
  for (const field of fields) expect(log).toMatch(new RegExp(`^ {4}${field}[:,]`, "m"));
});

/** Makes a request with any headers, such as `Host` and `Origin`, and waits for its answer. */
const send = (method: string, path: string, headers: Record<string, string>, body = "") =>
  new Promise<string>((resolve, reject) => {
    const call = request(new URL(path, url), {
      method,
      headers: { ...headers, "Content-Length": Buffer.byteLength(body) },
    });
    call.on("error", reject).on("response", (response) => {
      let text = "";
      response.on("data", (data) => (text += data)).on("end", () => resolve(text));
    });
    call.end(body);
  });

const JSON_TYPE = { "Content-Type": "application/json" };
const authorization = (credential: string) => ({ Authorization: `Token ${credential}` });
const asBootstrap = { ...authorization(operatorToken), ...JSON_TYPE };

/** Issues an API key, revokes it, and calls with it. */
async function callWithRevokedKey(): Promise<void> {
  const fields = { workspace: "alerts", environment: "Testing", name: "backend" };
  const issued = JSON.parse(await send("POST", "/api/keys", asBootstrap, JSON.stringify(fields)));
  await send("DELETE", `/api/keys/${issued.api_key.id}?workspace=alerts&environment=Testing`, asBootstrap);
  await send("GET", "/api/user_groups", authorization(issued.key));
}

/** Sends the form of the console's page on which to sign in. */
const signInWith = (credential: string) => {
  const headers = { Origin: url, "Content-Type": "application/x-www-form-urlencoded" };
  return send("POST", "/console/sign-in", headers, `operator_key=${credential}`);
};

/** The texts of the page for which one call makes a line, and that call. Each line must have the field that the page names. */
const CAUSES: [string, string, () => Promise<unknown>][] = [
  [
    '"failure":"secret_key_in_browser"',
    "key_id",
    () => send("GET", "/api/whoami", { ...authorization(key), Origin: url }),
  ],
  ['"failure":"credential_revoked"', "key_id", callWithRevokedKey],
  ['"failure":"unauthenticated"', "client", () => send("GET", "/api/whoami", {})],
  ['"operator":"bootstrap"', "request_id", () => send("GET", "/api/whoami", asBootstrap)],
  ['"path":"/console/sign-in","status":401', "client", () => signInWith("wrong")],
  [
    '"failure":"service_not_configured"',
    "problem",
    () =>
      send(
        "POST",
        "/api/viewer_sessions",
        { ...authorization(key), ...JSON_TYPE, Host: "a.example" },
        '{"user_group_id":"a"}',
      ),
  ],
];

describe("a line in the log of a running service", () => {
  /** The command of the page, which counts the lines with a text. */
  const [, command = ""] = /^ {4}SINCE=-5min; (log \| grep -c )'/m.exec(page) ?? [];
  const run = (script: string) =>
    execFileSync("bash", ["-c", `log() { cat ${logFile}; }; ${script}`, "bash"], { encoding: "utf8" });
  const count = (text: string) => Number(run(`${command}'${text}' || true`));

  it.for(CAUSES)("is found by %s, and has the field %s", async ([text, field, cause]) => {
    expect(page).toContain(`\`${text}\``);
    const before = count(text);
    await cause();
    expect(count(text)).toBeGreaterThan(before);
    const lines = run(`log | grep '${text}'`).trim().split("\n");
    // Other tests call this service at the same time.
    expect(lines.map((line) => JSON.parse(line))).toContainEqual(
      expect.objectContaining({ [field]: expect.anything() }),
    );
  });
});
