import { connect, type Socket } from "node:net";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import { report } from "../../proof/effort.ts";
import { canMeasureMemory, peakBytesOf } from "../../support/node/memory.ts";
import { type PlainService, startPlainService } from "../../support/node/plain-workerd.ts";
import { waitUntil } from "../../support/node/service.ts";

/** Clients that read nothing: what they make one box hold, in its worst answers, with a credential and without one. */

const { minutes } = inject("effort");
const MIB = 1024 * 1024;
const CONNECTIONS = minutes > 0 ? 3000 : 800;
const ATTACKS = 2;
/** What workerd may take for 3,000 connections. */
const PEAK_MIB_MAX = 400;

/** The request of a client, as bytes, and its path in the log. */
type Attack = { path: string; request: string };

async function call(service: PlainService, method: string, path: string, body: object): Promise<{ token: string }> {
  const headers = { Authorization: `Token ${service.key}`, "Content-Type": "application/json" };
  const response = await fetch(service.url + path, { method, headers, body: JSON.stringify(body) });
  return ((await response.json()) as { user_group: { token: string } }).user_group;
}

/** A group with the largest properties, and with a list that a short template makes thousands of parameters of. */
const newGroup = (service: PlainService, user_group_id: string, properties: object) =>
  call(service, "POST", "/api/user_groups", { user_group_id, properties }).then(() =>
    call(service, "PUT", "/api/user", { user_group_id }),
  );

const requestOf = (service: PlainService, line: string, headers: Record<string, string> = {}, body = ""): string => {
  const all = {
    Host: new URL(service.url).host,
    ...headers,
    ...(body && { "Content-Type": "application/json", "Content-Length": String(Buffer.byteLength(body)) }),
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${line} HTTP/1.1\r\n${lines.join("")}\r\n${body}`;
};

const bearer = (credential: string) => ({ Authorization: `Bearer ${credential}` });

const ATTACKERS: Record<string, (service: PlainService) => Promise<Attack>> = {
  "the largest query of a token": async (service) => {
    const { token } = await newGroup(service, "query", { list: Array(8000).fill(1) });
    const body = JSON.stringify({ sql: "x IN ({{user_group.list}})", placeholders: "$1" });
    return { path: "/api/viewer/query", request: requestOf(service, "POST /api/viewer/query", bearer(token), body) };
  },
  "the view of a large group": async (service) => {
    const { token } = await newGroup(service, "view", { text: "\u0001".repeat(2600) });
    return { path: "/api/viewer", request: requestOf(service, "GET /api/viewer", bearer(token)) };
  },
  "a file, without a credential": async (service) => ({
    path: "/openapi.json",
    request: requestOf(service, "GET /openapi.json"),
  }),
  "pipelined files, without a credential": async (service) => ({
    path: "/openapi.json",
    request: requestOf(service, "GET /openapi.json").repeat(minutes > 0 ? 5 : 2),
  }),
  "a page of the console, without a credential": async (service) => ({
    path: "/console/sign-in",
    request: requestOf(service, "GET /console/sign-in", { "Sec-Fetch-Site": "none" }),
  }),
};

/** Opens connections that send a request and read nothing. */
function attack({ url }: PlainService, { request }: Attack): Socket[] {
  const { hostname, port } = new URL(url);
  return Array.from({ length: CONNECTIONS }, () => {
    const socket = connect({ host: hostname, port: Number(port) });
    socket.on("error", () => undefined);
    socket.on("connect", () => socket.pause());
    socket.write(request);
    return socket;
  });
}

const answeredCount = (service: PlainService, path: string): number =>
  service.log().split(`"path":"${path}"`).length - 1;

describe.skipIf(!canMeasureMemory)("clients that read nothing", () => {
  it.for(Object.keys(ATTACKERS))(
    "leave one box within its memory, and its other callers their answers: %s",
    async (name) => {
      const service = await startPlainService();
      onTestFinished(service.stop);
      const attacker = await ATTACKERS[name]?.(service);
      if (!attacker) throw new Error("There is no such attack.");
      const peaks: number[] = [];
      for (let round = 1; round <= ATTACKS; round += 1) {
        const before = answeredCount(service, attacker.path);
        const sockets = attack(service, attacker);
        // Each connection has been answered, or refused, at least once.
        await waitUntil(() => answeredCount(service, attacker.path) - before >= CONNECTIONS, "all had been answered");
        const other = await call(service, "PUT", "/api/user", { user_group_id: "other" }).catch(String);
        expect(other, "another caller is answered").not.toBeTypeOf("string");
        peaks.push(peakBytesOf(service.pid) / MIB);
        for (const socket of sockets) socket.destroy();
      }
      report(
        `unread: ${name}`,
        Object.fromEntries(peaks.map((peak, at) => [`MiB at attack ${at + 1}`, Math.round(peak)])),
      );
      expect(Math.max(...peaks)).toBeLessThan(PEAK_MIB_MAX);
    },
  );
});
