import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, inject, onTestFinished } from "vitest";
import { OperatorClient, UserGroupClient } from "../../../client/src/index.ts";
import { hasChromium, startChromium } from "../../../tools/browser.ts";
import { freePort } from "./free-port.ts";
import { integratorProject } from "./integrator-project.ts";

const { url, operatorToken } = inject("service");
export const operator = new OperatorClient({ url, operatorKey: operatorToken });
export const WORKSPACE = { workspace: "embedding", environment: "Customer" } as const;
export const AUDIENCE = "embedding/Customer";

const made = integratorProject("examples/embedding");
afterAll(() => made.remove());
/** The folder of the recipes, in a project with the package of the client, as integrators have it. */
export const project = join(made.project, "embedding");

export const writerKey = (await operator.issueKey({ ...WORKSPACE, name: "writer" })).key;
export const groups = new UserGroupClient({ url, apiKey: writerKey });

/** Issues a key that can mint sessions and nothing else. */
export async function newMintingKey() {
  const { apiKey, key } = await operator.issueKey({ ...WORKSPACE, name: "backend", scopes: ["sessions:create"] });
  return { id: apiKey.id, key };
}
export const mintingKey = await newMintingKey();

/** Runs the backend of the recipe for a customer until the test ends. `log` returns what it has logged besides its address. */
export async function startBackend(customer: string, { apiKey = mintingKey.key, serviceUrl = url } = {}) {
  const port = await freePort();
  const env = { ...process.env, SERVICE_URL: serviceUrl, API_KEY: apiKey, PORT: String(port), CUSTOMER: customer };
  const child = spawn(process.execPath, ["backend.ts"], { cwd: project, env, stdio: ["ignore", "pipe", "pipe"] });
  onTestFinished(() => {
    child.kill();
  });
  let logged = "";
  child.stderr.on("data", (chunk) => (logged += chunk));
  await Promise.race([once(child.stdout, "data"), once(child, "exit")]);
  if (child.exitCode !== null) throw new Error(`The backend has ended: ${logged}`);
  return { address: `http://localhost:${port}`, log: () => logged };
}

/** Opens the page of a backend, by which this example signs in, and asks for a session as the page does. */
export async function askForSession(address: string) {
  const Cookie = (await fetch(address)).headers.get("Set-Cookie")?.split(";")[0] ?? "";
  const response = await fetch(`${address}/session`, { method: "POST", headers: { Origin: address, Cookie } });
  const body = (await response.json()) as { session: { token: string } };
  return { status: response.status, cached: response.headers.get("Cache-Control"), body };
}

let browser: Browser;
beforeAll(async () => {
  if (hasChromium) browser = await startChromium();
});
afterAll(() => browser?.close());

/** Opens the page with a clock that the test moves. `sent` lists the calls of the page, and `answered` their statuses. */
export async function openPage(address: string) {
  const page = await browser.newPage();
  onTestFinished(() => page.close());
  await page.clock.install();
  const sent: { call: string; credential: string }[] = [];
  const answered: string[] = [];
  page.on("response", (response) => {
    const request = response.request();
    if (request.method() === "OPTIONS") return;
    const call = `${request.method()} ${new URL(request.url()).pathname}`;
    sent.push({ call, credential: request.headers().authorization ?? "" });
    answered.push(`${call} ${response.status()}`);
  });
  await page.goto(address);
  const count = (text: string) => answered.filter((each) => each === text).length;
  return { page, sent, answered, count };
}

export const bars = (page: Page) =>
  page.evaluate("[...document.querySelectorAll('rect')].map((bar) => Number(bar.getAttribute('height')))");
export const status = (page: Page, text: string) => page.getByRole("status").getByText(text).waitFor();
