import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { connect } from "node:tls";
import { Agent, request } from "undici";
import { describe, expect, it, onTestFinished } from "vitest";
import { certify, hasOpenssl } from "../../support/node/certificate.ts";
import { freePort } from "../../support/node/free-port.ts";
import { newFolder } from "../../support/node/new-folder.ts";
import { endGroup, launcherPidOf, runIn, waitUntil } from "../../support/node/service.ts";

const isInstalled = (program: string) => spawnSync(program, ["-h"]).error === undefined;
const missing = [
  ...["nginx", "perl"].filter((program) => !isInstalled(program)),
  ...(hasOpenssl ? [] : ["openssl"]),
].join(" and ");
const OPERATOR_TOKEN = "x".repeat(40);

/** The recipe of one-box.md for nginx, `deploy/nginx.conf`, in a real nginx before the real service. */
describe.skipIf(missing !== "")(`deploy/nginx.conf${missing === "" ? "" : `, skipped: ${missing} is missing`}`, () => {
  const client = new Agent({ connect: { rejectUnauthorized: false }, connections: 50 });

  /** Starts nginx by the file, before a port of this machine. `change` edits the file. */
  async function startNginx(upstream: number, change = (site: string) => site) {
    const root = newFolder();
    const [port, plainPort] = [await freePort(), await freePort()];
    certify(root);
    mkdirSync(join(root, "temp"));
    const site = readFileSync("deploy/nginx.conf", "utf8")
      .replaceAll(/^\s*listen \[::\].*\n/gm, "")
      .replaceAll("listen 443", `listen 127.0.0.1:${port}`)
      .replaceAll("listen 80;", `listen 127.0.0.1:${plainPort};`)
      .replace("/etc/letsencrypt/live/groups.example.com/fullchain.pem", join(root, "certificate.pem"))
      .replace("/etc/letsencrypt/live/groups.example.com/privkey.pem", join(root, "key.pem"))
      .replaceAll("groups.example.com", "localhost")
      .replaceAll("127.0.0.1:8787", `127.0.0.1:${upstream}`);
    const folders = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
      (name) => `${name}_temp_path ${root}/temp/${name};`,
    );
    const file = join(root, "nginx.conf");
    const others = `daemon off; worker_processes 1; pid ${root}/pid; error_log stderr crit;`;
    writeFileSync(file, `${others}\nevents {}\nhttp { access_log off; ${folders.join(" ")}\n${change(site)}\n}\n`);
    const nginx = runIn(root, ["nginx", "-e", "stderr", "-c", file]);
    onTestFinished(() => endGroup(nginx, "SIGTERM"));
    const plain = `http://127.0.0.1:${plainPort}`;
    const answers = () =>
      request(plain).then(
        ({ body }) => body.dump().then(() => true),
        () => false,
      );
    await waitUntil(answers, "nginx answered");
    return { origin: `https://localhost:${port}`, port, plain };
  }

  /** Starts the service below a process that holds its socket, as the units do. */
  async function startService() {
    const folder = newFolder();
    const secrets = `SIGNING_KEYS=k1:${Buffer.alloc(32, 1).toString("base64")}\nOPERATOR_TOKEN=${OPERATOR_TOKEN}\n`;
    writeFileSync(join(folder, "env"), `${secrets}PUBLIC_URL=https://localhost\n`);
    const socket = join(process.cwd(), "test/support/node/hold-socket.pl");
    const ug = [process.execPath, "--", join(process.cwd(), "cli/ug.mjs"), "serve", "--persist-to", "state"];
    const options = ["--socket-fd", "3", "--env-file", "env", "--client-address-header", "X-Real-IP"];
    const holder = runIn(folder, ["perl", socket, ...ug, ...options]);
    onTestFinished(() => endGroup(holder, "SIGKILL"));
    const lines: string[] = [];
    createInterface({ input: holder.stdout as Readable }).on("line", (line) => lines.push(line));
    const isReady = (times: number) => lines.filter((line) => line.includes("is ready")).length === times;
    await waitUntil(() => isReady(1), "the service was ready");
    return { holder, lines, isReady, port: Number(/^port (\d+)$/.exec(lines[0] ?? "")?.[1]) };
  }

  async function call(url: string, method = "GET", body?: object, headers: Record<string, string> = {}) {
    const answer = await request(url, {
      dispatcher: client,
      method: method as "GET",
      headers: { authorization: `Token ${OPERATOR_TOKEN}`, "content-type": "application/json", ...headers },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await answer.body.text();
    // biome-ignore lint/suspicious/noExplicitAny: a test asserts what is in an answer, whatever its type.
    const parsed: any = text.startsWith("{") ? JSON.parse(text) : undefined;
    return { status: answer.statusCode, headers: answer.headers, body: parsed };
  }

  it("passes calls on, with the address of the client and no other", async () => {
    const service = await startService();
    const { origin, port, plain } = await startNginx(service.port);
    const key = { workspace: "acme", environment: "Testing", name: "backend" };
    const issued = await call(`${origin}/api/keys`, "POST", key);
    expect(issued.status).toBe(201);
    const authorization = { authorization: `Token ${issued.body.key}` };
    // The body of a GET and that of a DELETE.
    const made = await call(`${origin}/api/user`, "GET", { user_group_id: "acme" }, authorization);
    expect(made.body.user_group.team_id).toBe(1);
    const current = { current_token: made.body.user_group.token };
    const { status } = await call(`${origin}/api/user`, "DELETE", current, authorization);
    expect(status).toBe(200);

    const spoofed = { authorization: "Token ugk_wrong", "x-real-ip": "203.0.113.9", "x-forwarded-for": "203.0.113.9" };
    expect((await call(`${origin}/api/whoami`, "GET", undefined, spoofed)).status).toBe(401);
    const refused = () => service.lines.find((line) => line.includes('"path":"/api/whoami"')) ?? "";
    await waitUntil(() => refused() !== "", "the refused call was logged");
    expect(JSON.parse(refused())).toMatchObject({ status: 401, client: "127.0.0.1" });

    const redirected = await request(`${plain}/docs?x=1`);
    expect([redirected.statusCode, redirected.headers.location]).toEqual([308, "https://localhost/docs?x=1"]);
    await redirected.body.dump();
    expect(await connectVia(port)).toMatch(/^HTTP\/1\.1 40[05] /);
  });

  it("fails no call while the service is restarted", async () => {
    const service = await startService();
    const { origin } = await startNginx(service.port);
    const statuses: Promise<unknown>[] = [];
    let isLoading = true;
    const load = (async () => {
      while (isLoading) {
        statuses.push(call(`${origin}/health`).then(({ status }) => status, String));
        await delay(5);
      }
    })();
    for (let restart = 1; restart <= 2; restart += 1) {
      const enough = statuses.length + 50;
      await waitUntil(() => statuses.length >= enough, "requests were under way");
      process.kill(launcherPidOf(service.holder), "SIGTERM");
      await waitUntil(() => service.isReady(restart + 1), "the service was ready again");
    }
    isLoading = false;
    await load;
    expect([...new Set(await Promise.all(statuses))]).toEqual([200]);
  });

  it("answers with 504 for a service that answers nothing, after the time of the file", async () => {
    const mute = createServer().listen(0, "127.0.0.1");
    await once(mute, "listening");
    onTestFinished(() => void mute.close());
    const { port } = mute.address() as AddressInfo;
    const limit = "proxy_read_timeout 30s;";
    expect(readFileSync("deploy/nginx.conf", "utf8")).toContain(limit);
    expect(readFileSync("deploy/Caddyfile", "utf8")).toContain("response_header_timeout 30s");
    const { origin } = await startNginx(port, (site) => site.replace(limit, limit.replace("30s", "1s")));
    expect((await call(`${origin}/health`)).status).toBe(504);
  });
});

/** The answer to a CONNECT over TLS. */
async function connectVia(port: number): Promise<string> {
  const socket = connect({ port, host: "localhost", servername: "localhost", rejectUnauthorized: false });
  socket.write(`CONNECT localhost:${port} HTTP/1.1\r\nHost: localhost:${port}\r\nConnection: close\r\n\r\n`);
  const chunks: Buffer[] = await Array.fromAsync(socket);
  return Buffer.concat(chunks).toString();
}
