import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { request } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { request as send } from "undici";
import { describe, expect, it, onTestFinished } from "vitest";
import { newFolder } from "../support/node/new-folder.ts";
import { startPlainService } from "../support/node/plain-workerd.ts";
import { printedOn } from "../support/node/printed.ts";
import { endGroup, launcherPidOf, processesOf, runIn, waitUntil } from "../support/node/service.ts";

const here = (file: string) => join(import.meta.dirname, "../support/node", file);
const canRun = (program: string) => spawnSync(program, ["--version"]).status === 0;

/** Makes one request on a connection of its own. Returns its status. */
const statusOf = (port: number, path: string) =>
  new Promise<number | string>((settle) => {
    request({ host: "127.0.0.1", port, path, agent: false }, (response) => {
      response.resume().once("end", () => settle(response.statusCode ?? 0));
    })
      .once("error", (error: NodeJS.ErrnoException) => settle(error.code ?? error.message))
      .end();
  });

const PERL = canRun("perl");

describe.skipIf(!PERL)(`with the socket held by a supervisor${PERL ? "" : ", skipped: perl is missing"}`, () => {
  const RESTARTS = 2;
  const CONNECTIONS_PER_SECOND = 200;

  /** Starts the service below a process that holds its socket. `lines` are what that process has printed. */
  async function startHeld(...options: string[]): Promise<{ holder: ChildProcess; port: number; lines: string[] }> {
    const folder = newFolder();
    const serve = ["--", join(process.cwd(), "cli/ug.mjs"), "serve", "--persist-to", "state", "--socket-fd", "3"];
    const holder = runIn(folder, ["perl", here("hold-socket.pl"), process.execPath, ...serve, ...options]);
    onTestFinished(() => endGroup(holder, "SIGKILL"));
    const lines: string[] = [];
    createInterface({ input: holder.stdout as Readable }).on("line", (line) => lines.push(line));
    await waitUntil(() => lines.some((line) => line.includes("is ready")), "the service was ready");
    return { holder, port: Number(/^port (\d+)$/.exec(lines[0] ?? "")?.[1]), lines };
  }

  it("takes forms of the console past its proxy, and no loopback origin through it", async () => {
    const proxied = ["--var", "PUBLIC_URL:https://groups.example.com", "--client-address-header", "X-Real-IP"];
    const { port } = await startHeld(...proxied);
    const origin = `http://127.0.0.1:${port}`;
    const signIn = async (headers: Record<string, string>) => {
      const type = { "Content-Type": "application/x-www-form-urlencoded" };
      const form = { method: "POST", body: "operator_key=ugo_wrong", headers: { ...type, ...headers } } as const;
      // `fetch` would send the headers of a script.
      const { statusCode, body } = await send(`${origin}/console/sign-in`, form);
      await body.dump();
      return statusCode;
    };
    // 401 is the answer to the key, and 403 that to the origin.
    expect(await signIn({ Origin: origin })).toBe(401);
    expect(await signIn({ Origin: origin, "X-Real-IP": "198.51.100.7" })).toBe(403);
    expect(await signIn({ Origin: "https://evil.example" })).toBe(403);
    expect(await signIn({ Origin: "https://groups.example.com", "X-Real-IP": "198.51.100.7" })).toBe(401);
  });

  it("fails no new connection while it is restarted by SIGTERM", async () => {
    const { holder, port, lines } = await startHeld();
    const counted = (text: string) => lines.filter((line) => line.includes(text)).length;
    const statuses: Promise<number | string>[] = [];
    let isLoading = true;
    const load = (async () => {
      while (isLoading) {
        statuses.push(statusOf(port, "/health"));
        await delay(1000 / CONNECTIONS_PER_SECOND);
      }
    })();
    for (let restart = 1; restart <= RESTARTS; restart += 1) {
      const answered = statuses.length + 50;
      await waitUntil(() => statuses.length >= answered, "the service had answered under load");
      process.kill(launcherPidOf(holder), "SIGTERM");
      await waitUntil(() => counted("is ready") === restart + 1, "the service was ready again");
    }
    isLoading = false;
    await load;
    expect([...new Set(await Promise.all(statuses))]).toEqual([200]);
    expect(lines.filter((line) => line.startsWith("ended"))).toEqual(Array.from({ length: RESTARTS }, () => "ended 0"));
    expect(processesOf(holder).filter((line) => line.includes("/workerd serve "))).toHaveLength(1);
  });
});

/** strace needs a kernel that lets a process be traced. */
const STRACE = canRun("strace") && spawnSync("strace", ["-e", "trace=none", "true"]).status === 0;

it.skipIf(!STRACE)(
  `answers each write only after the disk has it${STRACE ? "" : ", skipped: strace is missing"}`,
  async () => {
    const WRITES = 20;
    const service = await startPlainService();
    onTestFinished(service.stop);
    const trace = join(newFolder(), "trace");
    const put = async (id: string, name: string) => {
      const response = await fetch(`${service.url}/api/user`, {
        method: "PUT",
        headers: { Authorization: `Token ${service.key}`, "Content-Type": "application/json" },
        body: JSON.stringify({ user_group_id: id, name }),
      });
      expect(response.status).toBe(200);
    };
    await fetch(`${service.url}/api/user_groups`, {
      method: "POST",
      headers: { Authorization: `Token ${service.key}`, "Content-Type": "application/json" },
      body: JSON.stringify({ user_group_id: "synced" }),
    });
    const calls = "trace=fsync,fdatasync,write,writev,sendto,sendmsg";
    const tracer = spawn("strace", ["-f", "-p", String(service.pid), "-e", calls, "-o", trace]);
    onTestFinished(() => void tracer.kill("SIGKILL"));
    // It says on its standard error that it is attached.
    await once(tracer.stderr, "data");
    for (let write = 1; write <= WRITES; write += 1) await put("synced", `name ${write}`);
    tracer.kill("SIGINT");
    await once(tracer, "exit");
    const order = readFileSync(trace, "utf8").match(/f(?:data)?sync\(|HTTP\/1\.1 200/g) ?? [];
    const answers = order.flatMap((each, index) => (each.startsWith("HTTP") ? [order[index - 1]] : []));
    expect(answers).toHaveLength(WRITES);
    expect(answers.filter((before) => before?.startsWith("HTTP") !== false)).toEqual([]);
  },
);

describe("--metrics-port", () => {
  it("is a warning if another program has the port, and the service runs", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    onTestFinished(() => void other.close());
    const { port } = other.address() as AddressInfo;
    const serve = ["--", join(process.cwd(), "cli/ug.mjs"), "serve", "--persist-to", "state", "--port", "0"];
    const child = runIn(newFolder(), [process.execPath, ...serve, "--metrics-port", String(port)]);
    onTestFinished(() => endGroup(child, "SIGINT"));
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream?.on("data", (data) => {
        output += data;
      });
    await waitUntil(() => output.includes("Ctrl-C"), "the service was ready");
    const [, url] = /ready at (\S+)/.exec(output) ?? [];
    expect((await fetch(`${url}/health`)).status).toBe(200);
    expect(output).toContain(`The service runs without metrics. Port ${port} for metrics is busy.`);
    // The lines of requests are still written.
    await waitUntil(() => output.includes('"path":"/health"'), "the request was logged");
  });

  it("counts requests by route, method and status, and never by path", async () => {
    const folder = newFolder();
    const serve = ["--", join(process.cwd(), "cli/ug.mjs"), "serve", "--persist-to", "state"];
    const child = runIn(folder, [process.execPath, ...serve, "--port", "0", "--metrics-port", "0"]);
    onTestFinished(() => endGroup(child, "SIGINT"));
    const output = printedOn(child.stdout);
    await waitUntil(() => output.text.includes("Ctrl-C"), "the service was ready");
    const [, url] = /ready at (\S+)/.exec(output.text) ?? [];
    const [, metrics = ""] = /Metrics: (\S+)/.exec(output.text) ?? [];
    expect(metrics).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/metrics$/);
    const read = async () => (await fetch(metrics)).text();
    for (const path of ["/api/user_groups/1", "/api/user_groups/2", "/nowhere/ugk_a-credential-by-mistake"])
      await fetch(url + path);
    await waitUntil(async () => (await read()).includes('status="404"'), "the last request was counted");
    const text = await read();
    expect(text).toContain('ug_http_requests_total{method="GET",route="/api/user_groups/:team_id",status="401"} 2');
    expect(text).toMatch(
      /^ug_http_request_duration_seconds_count\{method="GET",route="\/api\/user_groups\/:team_id",status="401"\} 2$/m,
    );
    expect(text).toMatch(/# EOF\n$/);
    expect(text).not.toContain("mistake");
    expect((await fetch(metrics)).headers.get("content-type")).toContain("application/openmetrics-text");
  });
});
