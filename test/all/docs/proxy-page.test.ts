import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { request } from "undici";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import { UserGroupClient, ViewerClient } from "../../../client/src/index.ts";
import { requireSession } from "../../../client/src/server.ts";
import { freePort } from "../../support/node/free-port.ts";
import { endGroup, runIn, waitUntil } from "../../support/node/service.ts";

/** What docs/integrators/gateways.md says of a proxy in front of the service, in a real nginx before the real service. */

const { url, key } = inject("service");
const groups = new UserGroupClient({ url, apiKey: key });
const page = readFileSync("docs/integrators/gateways.md", "utf8");
const [, paths = ""] = /```nginx\n([\s\S]*?)```/.exec(page) ?? [];
const ORIGIN = "https://app.example.com";
const NGINX = ["nginx"] as const;
const hasNginx = spawnSync(NGINX[0], ["-h"]).error === undefined;

/** Starts nginx with these locations, in which the service has the address of the page. Returns its origin. */
async function startNginx(locations: string): Promise<string> {
  const root = mkdtempSync(join(tmpdir(), "proxy-page-"));
  const port = await freePort();
  const folders = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (name) => `${name}_temp_path ${root}/${name};`,
  );
  writeFileSync(
    join(root, "nginx.conf"),
    `daemon off; worker_processes 1; pid ${root}/pid; error_log stderr crit;
      events {} http { access_log off; ${folders.join(" ")}
      server { listen 127.0.0.1:${port}; ${locations.replaceAll("http://127.0.0.1:8787", url)} } }`,
  );
  const nginx = runIn(root, [...NGINX, "-e", "stderr", "-c", join(root, "nginx.conf")]);
  onTestFinished(async () => {
    await endGroup(nginx, "SIGTERM");
    rmSync(root, { recursive: true, force: true });
  });
  const origin = `http://127.0.0.1:${port}`;
  const answers = () =>
    request(origin).then(
      ({ body }) => body.dump().then(() => true),
      () => false,
    );
  await waitUntil(answers, "nginx answered");
  return origin;
}

type Sent = { method?: string; headers?: Record<string, string>; body?: object };

/** Sends a call with the API key, unless it has another credential. */
async function send(origin: string, path: string, { method = "GET", headers = {}, body }: Sent = {}) {
  const answer = await request(new URL(path, origin), {
    method: method as "GET",
    headers: { Authorization: `Token ${key}`, ...(body && { "Content-Type": "application/json" }), ...headers },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await answer.body.text();
  const answered = text.startsWith("{") ? JSON.parse(text) : {};
  return {
    status: answer.statusCode,
    headers: answer.headers,
    code: answered.error?.code as string | undefined,
    answered,
  };
}

const all = (more = "") => `location / { proxy_pass http://127.0.0.1:8787; ${more} }`;
const ensureBody = (id: string) => ({ user_group_id: id });

describe.skipIf(!hasNginx)(`behind a proxy${hasNginx ? "" : ", skipped: nginx is missing"}`, () => {
  it("shows a page by the three paths of its own host, and nothing else", async () => {
    const origin = await startNginx(paths);
    await groups.ensure({ userGroupId: "proxied", properties: { plan: "pro" } });
    const { token } = await groups.mintSession({ userGroupId: "proxied" });
    const viewer = new ViewerClient({ url: origin, token });
    expect((await viewer.view()).group.userGroupId).toBe("proxied");
    const bound = await viewer.bindQuery({ sql: "SELECT {{user_group.plan}}" });
    expect(bound.params).toEqual(["pro"]);
    const issuer = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()).iss as string;
    const jwks = `${origin}/.well-known/jwks.json`;
    const check = requireSession({ jwks, issuer, audience: "demo/Testing", origins: [ORIGIN] });
    const headers = { Authorization: `Bearer ${token}`, Origin: ORIGIN };
    expect(await check(new Request(ORIGIN, { headers }))).toMatchObject({ userGroupId: "proxied" });
    for (const path of [
      "/api/user_groups",
      "/api/viewer_sessions",
      "/console",
      "/docs/",
      "/api/viewer/check",
      "/health",
    ])
      expect([path, (await send(origin, path)).status]).toEqual([path, 404]);
  });

  it("does not work under a prefix: the client refuses its address, and links lead out of it", async () => {
    const origin = await startNginx("location /groups/ { proxy_pass http://127.0.0.1:8787/; }");
    expect((await send(origin, "/groups/health")).status).toBe(200);
    expect(() => new UserGroupClient({ url: `${origin}/groups`, apiKey: key })).toThrow("Give url as an https origin");
    const console = await send(origin, "/groups/console", { headers: { "Sec-Fetch-Mode": "navigate" } });
    expect(console.headers.location).toMatch(/^\/console\//);
    const start = await request(new URL("/groups/docs/", origin));
    expect(await start.body.text()).toContain('href="/styles/ui.css"');
  });

  it("answers a call from a page of another host with CORS", async () => {
    const { token } = await groups.mintSession({ userGroupId: "proxied" });
    for (const path of ["/api/viewer", "/.well-known/jwks.json"]) {
      const { headers } = await send(url, path, { headers: { Authorization: `Bearer ${token}`, Origin: ORIGIN } });
      expect([path, headers["access-control-allow-origin"]]).toEqual([path, "*"]);
    }
  });

  it("must pass on the body of a GET: without it, the other ways of the page work", async () => {
    const body = ensureBody("bodiless");
    expect((await send(await startNginx(all()), "/api/user", { body })).status).toBe(200);
    const drops = `if ($request_method = GET) { rewrite ^ /dropped$uri; } location /dropped/ { internal; rewrite ^/dropped(.*)$ $1 break;
      proxy_pass http://127.0.0.1:8787; proxy_pass_request_body off; proxy_set_header Content-Length ""; } ${all()}`;
    const origin = await startNginx(drops);
    expect(await send(origin, "/api/user", { body })).toMatchObject({ status: 400, code: "body_required" });
    expect((await send(origin, "/api/user_groups", { method: "POST", body })).status).toBe(200);
    const override = { "X-HTTP-Method-Override": "GET" };
    expect((await send(origin, "/api/user", { method: "POST", headers: override, body })).status).toBe(200);
  });

  it("must pass on headers: without each, what the page says happens", async () => {
    const origins = await Promise.all(
      ["Authorization", "Origin", "If-Match", "Idempotency-Key"].map((name) =>
        startNginx(all(`proxy_set_header ${name} "";`)),
      ),
    );
    const [noCredential = "", noOrigin = "", noCondition = "", noIdempotency = ""] = origins;
    expect((await send(noCredential, "/api/whoami")).status).toBe(401);

    await groups.ensure({ userGroupId: "headers" });
    const { token } = await groups.mintSession({ userGroupId: "headers", origins: [ORIGIN] });
    const foreign = { headers: { Authorization: `Bearer ${token}`, Origin: "https://evil.example" } };
    expect([
      (await send(url, "/api/viewer", foreign)).code,
      (await send(noOrigin, "/api/viewer", foreign)).status,
    ]).toEqual(["origin_not_allowed", 200]);

    const stale = { method: "PUT", headers: { "If-Match": '"1-0"' }, body: { ...ensureBody("headers"), name: "Mine" } };
    expect([
      (await send(url, "/api/user", stale)).status,
      (await send(noCondition, "/api/user", stale)).status,
    ]).toEqual([412, 200]);

    const rotated = async (origin: string, id: string) => {
      const { group } = await groups.ensure({ userGroupId: id });
      const call = { method: "POST", headers: { "Idempotency-Key": id }, body: { current_token: group.token } };
      const [one, other] = [await send(origin, "/api/user", call), await send(origin, "/api/user", call)];
      return [one.status, other.status, other.code];
    };
    expect(await rotated(url, "repeat")).toEqual([200, 200, undefined]);
    expect(await rotated(noIdempotency, "repeat-lost")).toEqual([200, 409, "token_superseded"]);
  });

  it("may compress: the service takes the ETag that nginx makes of its own", async () => {
    const origin = await startNginx(all("gzip on; gzip_proxied any; gzip_min_length 1; gzip_types application/json;"));
    const { group } = await groups.ensure({ userGroupId: "compressed" });
    const path = `/api/user_groups/${group.teamId}`;
    const { headers } = await send(origin, path, { headers: { "Accept-Encoding": "gzip" } });
    expect(headers.etag).toMatch(/^W\//);
    const change = { method: "PUT", headers: { "If-Match": String(headers.etag) }, body: { name: "Compressed" } };
    expect((await send(origin, path, change)).status).toBe(200);
    expect((await send(origin, path, change)).status).toBe(412);
  });

  it("must not cache: each answer says no-store", async () => {
    const { token } = await groups.mintSession({ userGroupId: "proxied" });
    const credential = { headers: { Authorization: `Bearer ${token}` } };
    for (const [path, sent] of [
      ["/api/viewer", credential],
      ["/api/whoami", {}],
      ["/api/nothing", {}],
    ] as const)
      expect([path, (await send(url, path, sent)).headers["cache-control"]]).toEqual([path, "no-store"]);
  });
});
