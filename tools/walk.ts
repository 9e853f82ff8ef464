/**
 * `npm run --silent walk > FILE`: writes down what this checkout answers, without what differs from run to run. A change that users
 * must not see leaves the file of the checkout before it as it is: calls with their headers, pages of the console and of /docs, `ug`
 * with its exit codes, and the service's log.
 */
import { spawnSync } from "node:child_process";
import { Command } from "commander";
import { request } from "undici";
import { startPlainService } from "../test/support/node/plain-workerd.ts";
import { walk } from "../test/support/node/walk.ts";
import { secrets } from "./bench/service.ts";
import { runTool } from "./command.ts";
import { fill } from "./console/fixture.ts";
import { HOSTILE_PAGES, SHOP_PAGES } from "./console/pages.ts";

const STATIC = "/ /openapi.json /llms.txt /health /ready /docs /docs/calls /viewer.js /no-such-page".split(" ");
const COMMANDS = [
  "--help",
  "help",
  "version",
  "nonsense",
  "groups --help",
  "keys --help",
  "doctor",
  "environments",
  "operators list",
];
const OF_SHOP = ["groups list", "groups show 1", "groups show nobody", "groups export", "keys list", "events"].map(
  (command) => `${command} --workspace acme --environment Customer`,
);

/** What differs from run to run: times, credentials, ids of requests and sessions, hashes, ports, and names of built files. */
const VOLATILE: readonly [RegExp, string][] = [
  [/\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z?/g, "<time>"],
  [/(?<= UTC">)\d\d:\d\d/g, "<time>"],
  [/\d{1,2} [A-Z][a-z]+ \d{4}(?:,? \d\d:\d\d)?/g, "<time>"],
  [/\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), <time>:\d\d GMT/g, "<time>"],
  [/ug[kot]_[\w.-]+/g, "<credential>"],
  [/eyJ[\w.-]+/g, "<session>"],
  [/[\da-f]{8}-[\da-f]{4}-[\da-f-]{22}/g, "<uuid>"],
  [/127\.0\.0\.1:\d+/g, "<address>"],
  [/(?<="milliseconds":)\d+/g, "<figure>"],
  [/(?<=name="form_token" value=")[^"]+/g, "<form token>"],
  [/(?<![\w-])(?=[\w-]*\d)[\w-]{20,}={0,2}/g, "<random>"],
  [/\b1[78]\d{8}(?:\d{3})?\b/g, "<time>"],
  [/></g, ">\n<"],
];
const steady = (output: string) =>
  VOLATILE.reduce((changed, [pattern, name]) => changed.replaceAll(pattern, name), output);

async function write(): Promise<void> {
  const service = await startPlainService({ isBare: true, secrets: { ...secrets(), PUBLIC_URL: "loopback" } });
  const { url, operatorToken } = service;
  const print = (title: string, output: string) => console.info(`=== ${title}\n${steady(output)}`);
  const visit = async (path: string, headers: Record<string, string> = {}) => {
    const { statusCode, headers: answered, body } = await request(url + path, { headers });
    print(`GET ${path}`, `${statusCode} ${JSON.stringify(answered, null, 1)}\n${await body.text()}`);
  };
  for (const step of (await walk(service)).steps) print(step.call, JSON.stringify(step, null, 1));
  const { operators } = await fill({ url: new URL(url), operatorToken });
  for (const path of STATIC) await visit(path);
  const signedIn = await request(`${url}/console/sign-in`, {
    method: "POST",
    headers: { origin: url, "content-type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams({ operator_key: operators.admin }).toString(),
  });
  const cookie = String(signedIn.headers["set-cookie"]).split(";", 1)[0] ?? "";
  for (const path of [...SHOP_PAGES, ...HOSTILE_PAGES]) await visit(path, { cookie });
  for (const command of [...COMMANDS, ...OF_SHOP]) {
    const own = { SERVICE_URL: url, OPERATOR_KEY: operators.admin, NO_COLOR: "1", XDG_CONFIG_HOME: "/nonexistent" };
    const { status, stdout, stderr } = spawnSync(process.execPath, ["cli/ug.mjs", ...command.split(" ")], {
      env: { ...process.env, ...own },
      encoding: "utf8",
    });
    print(`ug ${command}`, `${status}\n${stdout}${stderr}`);
  }
  await service.stop();
  const isOfService = (line: string) => line.startsWith("{");
  print("log", service.log().split("\n").filter(isOfService).join("\n"));
}

await runTool(new Command("npm run walk").action(write));
