import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { describe, expect, inject, it } from "vitest";
import { call } from "../support/node/client.ts";

const { url, key } = inject("service");

describe("with curl", () => {
  /** Sends a GET with a body. */
  const curl = (body: object, header: string) => {
    const headers = [`Authorization: Token ${key}`, "Content-Type: application/json", header];
    const args = ["-s", "-X", "GET", `${url}/api/user`, ...headers.flatMap((each) => ["-H", each])];
    return JSON.parse(execFileSync("curl", [...args, "-d", JSON.stringify(body)], { encoding: "utf8" }));
  };

  it("refuses a GET without a length, whose body does not arrive, with body_required, and creates nothing", async () => {
    const refused = curl({ user_group_id: "no length" }, "Content-Length:");
    expect(refused).toMatchObject({ success: 0, error: { code: "body_required" } });
    expect(refused.error.message).toContain("Content-Length");
    expect(refused.error.message).toContain("X-HTTP-Method-Override");
    expect((await call("GET", "/api/user", { user_group_id: "no length" })).body.new_user_group).toBe(true);
  });

  it("reads a chunked body of a GET", () => {
    const chunked = curl({ user_group_id: "chunked" }, "Transfer-Encoding: chunked");
    expect(chunked).toMatchObject({ new_user_group: true, user_group: { provided_id: "chunked" } });
  });
});

/** How long the client waits for more data on a connection. */
const ANSWER_MS_MAX = 2000;

describe("a hostile client", () => {
  /** Sends bytes unchanged. Returns all that the service sends until the connection closes or the client stops waiting. */
  const raw = (text: string) =>
    new Promise<string>((settle) => {
      const { hostname, port } = new URL(url);
      let answer = "";
      const socket = connect(Number(port), hostname);
      socket
        .setTimeout(ANSWER_MS_MAX, () => socket.destroy())
        .on("data", (data) => {
          answer += data;
        })
        .on("error", () => settle(answer))
        .on("close", () => settle(answer))
        .end(text);
    });

  it("gets JSON for a chunked body, one with two values, and one of blanks", async () => {
    const head = (method: string, more: string) =>
      `${method} /api/user HTTP/1.1\r\nHost: localhost\r\nAuthorization: Token ${key}\r\nContent-Type: application/json\r\nConnection: close\r\n${more}\r\n\r\n`;
    const chunked = await raw(`${head("PUT", "Transfer-Encoding: chunked")}2\r\n{}\r\n0\r\n\r\n`);
    expect(chunked).toContain("422 Unprocessable");
    expect(chunked).toContain('"success":0');
    expect(await raw(`${head("PUT", "Content-Length: 4")}{}{}`)).toContain("malformed_json");
    expect(await raw(`${head("PUT", "Content-Length: 2")}  `)).toContain("malformed_json");
  });

  it.for([
    "a b",
    "x/y",
    "u@h",
    "h:99999",
    "h:port",
    "h:",
    "[::1",
    "h?x=1",
    "h#f",
    "1.2.3.4.5",
    "a%41",
    "..",
    "x".repeat(300),
    "a\r\nHost: b",
  ])("gets 400 malformed_request for the Host %j", async (host) => {
    const answer = await raw(`GET /health HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer).toContain('"code":"malformed_request"');
  });

  it.for(["localhost", "LOCALHOST:80", "127.0.0.1:8787", "[::1]:8787", "groups.example.com.", "groups_1"])(
    "gets its answer with the Host %s",
    async (host) => {
      const answer = await raw(`GET /health HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
      expect(answer).toMatch(/^HTTP\/1\.1 200 /);
    },
  );

  it("gets its answer for a request with a header of 50 kilobytes", async () => {
    const answer = await call("GET", "/api/user", { user_group_id: "large header" }, { "X-Large": "x".repeat(50_000) });
    expect(answer).toMatchObject({ status: 200, body: { success: 1, new_user_group: true } });
  });

  const headOf = (line: string) => `${line} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`;

  it.for([
    "TRACE /",
    "TRACE /api/user",
    "PATCH /api/user",
    "PROPFIND /health",
    "QUERY /api/viewer/query",
    "OPTIONS /api/user",
    "TRACE /console",
    "DELETE /docs",
  ])("gets 405 with the methods that the path takes for %s", async (line) => {
    expect(await raw(headOf(line))).toMatch(/^HTTP\/1\.1 405 .*\r\nAllow: (?:GET|POST)\b/s);
  });

  it.for(["TRACK /", "FOO /api/user", "UNKNOWN /api/user", "get /health"])(
    "gets 501 for the unknown method of %s",
    async (line) => {
      expect(await raw(headOf(line))).toMatch(/^HTTP\/1\.1 501 /);
    },
  );

  it.for(["host:443", "localhost:8787", "127.0.0.1", "/api/user", "*", "http://host/"])(
    "gets no tunnel for CONNECT %s: its connection is closed, and the log has no error",
    async (target) => {
      const id = crypto.randomUUID();
      const answer = await raw(`CONNECT ${target} HTTP/1.1\r\nHost: ${id}\r\n\r\n${headOf("GET /health")}`);
      // The runtime answers before it asks the service.
      expect(answer).toBe(`HTTP/1.1 200 OK\r\nHost: ${id}\r\n\r\n`);
      expect((await call("GET", "/health")).status).toBe(200);
      const log = readFileSync(inject("service").logFile, "utf8");
      expect(log).toContain("A CONNECT was refused");
      expect(log).not.toContain("connect() function");
    },
  );

  it.for([
    ["a body that ends before its length", 'Content-Length: 500\r\n\r\n{"user_group_id":"cut off"'],
    ["chunks that end before the last", 'Transfer-Encoding: chunked\r\n\r\n5\r\n{"use'],
    ["chunks of no number", "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}"],
    ["two lengths", 'Content-Length: 2\r\nContent-Length: 27\r\n\r\n{"user_group_id":"cut off"}'],
    ["a length and chunks", "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"],
    ["two credentials", 'Authorization: Token x\r\nContent-Length: 27\r\n\r\n{"user_group_id":"cut off"}'],
  ] as const)("neither creates anything nor breaks anything with %s", async ([, rest]) => {
    const start = `GET /api/user HTTP/1.1\r\nHost: localhost\r\nAuthorization: Token ${key}\r\nContent-Type: application/json\r\nConnection: close\r\n`;
    const answer = await raw(start + rest);
    expect(answer).not.toMatch(/HTTP\/1.1 (2|5)\d\d/);
    expect(await call("PUT", "/api/user", { user_group_id: "cut off" })).toMatchObject({ status: 404 });
  });
});
