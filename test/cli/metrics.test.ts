import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { expect, it } from "vitest";
import { Metrics } from "../../cli/src/serve/metrics/metrics.ts";
import { newFolder } from "../support/node/new-folder.ts";
import { waitUntil } from "../support/node/service.ts";

it("metrics count a request whose log line contains a line separator", async () => {
  const metrics = new Metrics();
  const [log, output] = [new PassThrough(), new PassThrough()];
  metrics.read(log, output);
  const { url } = await metrics.listen(0);
  const request = { method: "GET", path: "/api/events", status: 200, milliseconds: 1 };
  const lines = ["ann", "a\u2028n\u2029n", "a\u0085n"].map(
    (operator) => `${JSON.stringify({ operator, ...request })}\n`,
  );
  log.end(`not JSON\n${lines.join("")}`);
  const scrape = async () => (await fetch(url)).text();
  const counted = 'ug_http_requests_total{method="GET",route="/api/events",status="200"} 3';
  await waitUntil(async () => (await scrape()).includes(counted), "all three requests were counted");
  output.end();
  expect(await text(output)).toContain(lines.join(""));
});

it("metrics that cannot be measured are 500, and end nothing", async () => {
  const metrics = new Metrics();
  const { url } = await metrics.listen(0);
  metrics.measure({ url: "http://127.0.0.1:1", version: "1.0.0", state: "/nowhere/at-all", processes: {} });
  for (let scrape = 0; scrape < 2; scrape += 1) {
    const response = await fetch(url);
    expect([response.status, await response.text()]).toEqual([500, expect.stringContaining("ENOENT")]);
  }
});

it("each answer has the number and the sizes of the databases as they are then", async () => {
  const state = newFolder();
  const folder = join(state, "user-group-service-GroupDirectory");
  mkdirSync(folder);
  const metrics = new Metrics();
  const { url } = await metrics.listen(0);
  metrics.measure({ url: "http://127.0.0.1:1", version: "1.0.0", state, processes: {} });
  for (const [added, sizes] of [[100], [100, 300]].entries()) {
    writeFileSync(join(folder, `${added}.sqlite`), "x".repeat(sizes[added] ?? 0));
    const answer = await (await fetch(url)).text();
    expect(answer.match(/^ug_\w*database\w*\{.*/gm)?.sort()).toEqual([
      `ug_database_bytes{class="GroupDirectory"} ${sizes.reduce((sum, size) => sum + size)}`,
      `ug_databases{class="GroupDirectory"} ${sizes.length}`,
      `ug_largest_database_bytes{class="GroupDirectory"} ${Math.max(...sizes)}`,
    ]);
  }
});

it("counts a damaged database until it is restored or erased", async () => {
  const metrics = new Metrics();
  const [log, output] = [new PassThrough(), new PassThrough()];
  metrics.read(log, output);
  const { url } = await metrics.listen(0);
  const request = { method: "GET", path: "/api/user", status: 200, milliseconds: 1 };
  const acme = { workspace: "acme", environment: null };
  const damaged = (name: string) => `The database of ${name} (ab12.sqlite) is damaged or cannot be opened.`;
  const counted = async (count: number, ...lines: object[]) => {
    for (const line of lines) log.write(`${JSON.stringify({ ...request, ...line })}\n`);
    await waitUntil(
      async () => (await (await fetch(url)).text()).includes(`ug_databases_damaged ${count}\n`),
      `${count}`,
    );
  };
  await counted(0);
  await counted(2, ...["acme/untagged", "the registry"].map((name) => ({ status: 503, problem: damaged(name) })));
  // A call that the damage does not touch.
  await counted(3, { ...acme, status: 200 }, { status: 503, problem: damaged("acme/Testing") });
  await counted(2, { ...acme, method: "POST", path: "/api/restore" });
  await counted(1, { workspace: "acme", environment: "Testing", method: "DELETE", path: "/api/environments" });
  await counted(0, { method: "POST", path: "/api/restore" });
  expect((await fetch(url)).status).toBe(200);
});
