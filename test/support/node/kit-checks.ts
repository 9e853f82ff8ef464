import { createHash } from "node:crypto";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import type { ExpectStatic } from "vitest";

/** A file of the kit, as /kit/files.json lists it. */
export type KitEntry = { name: string; bytes: number; sha256: string; integrity: string };

export const kitAt = async (url: string): Promise<{ version: string; files: KitEntry[] }> =>
  JSON.parse(await (await fetch(`${url}/kit/files.json`)).text());

const FOREVER = "public, max-age=31536000, immutable";
const HEADERS = [
  "X-Content-Type-Options",
  "Content-Type",
  "Cache-Control",
  "Access-Control-Allow-Origin",
  "Cross-Origin-Resource-Policy",
];

/** A file, and the status and headers that a program or a page sees of it. */
async function seenOf(url: string, name: string) {
  const { status, headers, ...response } = await fetch(`${url}/kit/${name}`).then(async (answer) => ({
    status: answer.status,
    headers: answer.headers,
    content: Buffer.from(await answer.arrayBuffer()),
  }));
  return { ...response, seen: [status, ...HEADERS.map((header) => headers.get(header))] };
}

/** Checks what /kit/ answers, on one box and on Workers. */
export async function checkKit(expect: ExpectStatic, url: string, { isClone }: { isClone: boolean }): Promise<void> {
  const { version, files } = await kitAt(url);
  const versioned = isClone ? "no-cache" : FOREVER;
  const forPages = (caching: string) => [
    200,
    "nosniff",
    "text/javascript; charset=utf-8",
    caching,
    "*",
    "cross-origin",
  ];
  const names = files.map(({ name }) => name);
  expect(version).toMatch(/^\d+\.\d+\.\d+(?:-dev\.[a-f]\w{11})?$/);
  expect(names).toEqual(expect.arrayContaining([`user-group-service-${version}.tgz`, `viewer-${version}.js`]));

  const page = await (await fetch(`${url}/kit/`)).text();
  for (const { name, bytes, sha256, integrity } of files) {
    const { content, seen } = await seenOf(url, name);
    const hash = (algorithm: string) => createHash(algorithm).update(content);
    const sri = `sha384-${hash("sha384").digest("base64")}`;
    expect([content.length, hash("sha256").digest("hex"), sri], name).toEqual([bytes, sha256, integrity]);
    if (name.endsWith(".tgz")) expect(seen).toEqual([200, "nosniff", "application/gzip", versioned, null, null]);
    if (name.endsWith(".js")) expect(seen).toEqual(forPages(versioned));
    expect((await fetch(`${url}/kit/${encodeURIComponent(name)}`, { method: "HEAD" })).status, name).toBe(200);
    // What pip reads: a link with the name of the file and its hash.
    expect(page).toContain(`href="/kit/${name.replace("+", "%2B")}#sha256=${sha256}"`);
    expect(page).toContain(integrity);
  }
  expect((await seenOf(url, "viewer.js")).seen).toEqual(forPages("no-cache"));

  for (const name of ["viewer-0.9.0.js", "user-group-service.tgz", "index.html", "..%2fllms.txt", "%"]) {
    const missing = await fetch(`${url}/kit/${name}`);
    const { error } = JSON.parse(await missing.text());
    expect([missing.status, error.code, error.available], name).toEqual([404, "route_not_found", names]);
    expect(error.message).toContain(`viewer-${version}.js`);
  }
}

/** The status and the body that a server answers to these lines of a request, which no client would send. */
async function rawly(url: string, ...lines: string[]): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.write(`${[...lines, "Connection: close"].join("\r\n")}\r\n\r\n`);
  return text(socket);
}

const PAGE = "/docs/api.md";
const TYPED = /^export SERVICE_URL=(.*)$/m;

/** Checks that pages show the origin by which their reader knows the service, and nobody else's. */
export async function checkOrigins(expect: ExpectStatic, url: string): Promise<void> {
  const port = new URL(url).port;
  const [one, other] = [`http://localhost:${port}`, `http://127.0.0.1:${port}`];
  const tags: string[] = [];
  for (const origin of [one, other]) {
    const response = await fetch(origin + PAGE);
    expect(TYPED.exec(await response.text())?.[1]).toBe(origin);
    const etag = response.headers.get("ETag") ?? "";
    tags.push(etag);
    const head = await fetch(origin + PAGE, { method: "HEAD" });
    expect([head.status, head.headers.get("ETag"), head.headers.get("Content-Length")]).toEqual([
      ...[200, etag, response.headers.get("Content-Length")],
    ]);
    const again = await fetch(origin + PAGE, { headers: { "If-None-Match": `"x", W/${etag}` } });
    expect([again.status, again.headers.get("ETag"), await again.text()]).toEqual([304, etag, ""]);
  }
  // A cache that has stored the page of one origin must not give it to the reader of the other one.
  const stored = await fetch(other + PAGE, { headers: { "If-None-Match": tags[0] ?? "" } });
  expect([stored.status, TYPED.exec(await stored.text())?.[1]]).toEqual([200, other]);
}

/** Checks that no page repeats a host that a shell or HTML would take for something else. */
export async function checkHostileHosts(expect: ExpectStatic, url: string): Promise<void> {
  for (const host of ["$(id)", "a`id`", 'a"b', "a'b", "a;b", "a&b", "a<b>"]) {
    expect(await rawly(url, `GET ${PAGE} HTTP/1.1`, `Host: ${host}`)).not.toContain(host);
    expect(await rawly(url, `GET http://${host}${PAGE} HTTP/1.1`, "Host: localhost")).not.toContain(host);
    expect(await rawly(url, `GET ${PAGE} HTTP/1.1`, "Host: localhost", `X-Forwarded-Host: ${host}`)).not.toContain(
      host,
    );
  }
}
