import { fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import { issueKey } from "../../../tools/bench/service.ts";
import type { Crowd, CrowdAnswers } from "../../proof/crowd.ts";
import { report } from "../../proof/effort.ts";
import { canMeasureMemory, peakBytesOf } from "../../support/node/memory.ts";
import { type PlainService, startPlainService } from "../../support/node/plain-workerd.ts";

/** One customer never slows another: crowds of viewers of one integrator, beside one viewer of another one. */

const { minutes } = inject("effort");
const isLong = minutes > 0;
const SECONDS = isLong ? 30 : 3;
/** The long form is the attack that was reported. */
const SESSIONS = isLong ? 330 : 33;
const CONNECTIONS = isLong ? 9900 : 990;
const HONEST = isLong ? 2000 : 400;
const MIB = 1024 * 1024;
/** 9,900 connections at once take 560 MB with answers of 300 bytes. */
const PEAK_MB_MAX = 560 + 256;

const BIG_TEXT = { text: "\u0001".repeat(2600) };
const LIST = { list: Array(8000).fill(1) };
const LISTS_SQL = JSON.stringify({ sql: "x IN ({{user_group.list}})", placeholders: "$1" });
const LONG_SQL = JSON.stringify({ sql: `SELECT ${"a+".repeat(7000)}1` });

/** The calls of an integrator, by its API key. */
function integratorOf({ url }: PlainService, key: string) {
  const post = async (path: string, body: object, method = "POST"): Promise<Record<string, { token: string }>> => {
    const headers = {
      Authorization: `Token ${key}`,
      "Content-Type": "application/json",
      "X-HTTP-Method-Override": method,
    };
    const response = await fetch(url + path, { method: "POST", headers, body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`${path}: ${response.status}`);
    return response.json() as Promise<Record<string, { token: string }>>;
  };
  return {
    create: (user_group_id: string, properties: object = {}) => post("/api/user_groups", { user_group_id, properties }),
    tokenOf: async (user_group_id: string) =>
      (await post("/api/user", { user_group_id }, "GET")).user_group?.token ?? "",
    rotate: (current_token: string) => post("/api/user", { current_token }),
    session: async (user_group_id: string) =>
      (await post("/api/viewer_sessions", { user_group_id })).session?.token ?? "",
  };
}

type Integrator = ReturnType<typeof integratorOf>;

/** The bytes of a request with a credential. */
const requestOf = (line: string, credential: string, body = ""): string =>
  [
    `${line} HTTP/1.1`,
    "Host: localhost",
    `Authorization: Bearer ${credential}`,
    ...(body && ["Content-Type: application/json", `Content-Length: ${Buffer.byteLength(body)}`]),
    "",
    body,
  ].join("\r\n");

const times = <Value>(count: number, make: (index: number) => Promise<Value>): Promise<Value[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => make(index)));

type Attack = (integrator: Integrator) => Promise<Omit<Crowd, "port" | "reads">>;

const ATTACKS: Record<string, Attack> = {
  "sessions of one group, which read nothing": async ({ create, session }) => {
    await create("big", BIG_TEXT);
    const sessions = await times(SESSIONS, () => session("big"));
    return { requests: sessions.map((each) => requestOf("GET /api/viewer", each)), connections: CONNECTIONS };
  },
  "a session of each group of one key, which read nothing": async ({ create, session }) => {
    const sessions: string[] = [];
    // One after the other: a credential may have 128 unfinished bodies.
    for (let index = 0; index < SESSIONS; index += 1) {
      await create(`group ${index}`, LIST);
      sessions.push(await session(`group ${index}`));
    }
    return {
      requests: sessions.map((each) => requestOf("POST /api/viewer/query", each, LISTS_SQL)),
      connections: CONNECTIONS,
    };
  },
  "queries of one session": async ({ create, session }) => {
    await create("lists", LIST);
    return { requests: [requestOf("POST /api/viewer/query", await session("lists"), LISTS_SQL)], connections: 400 };
  },
  "long queries of one session": async ({ create, session }) => {
    await create("long");
    return { requests: [requestOf("POST /api/viewer/query", await session("long"), LONG_SQL)], connections: 400 };
  },
  "connections of one token": async ({ create, tokenOf }) => {
    await create("token", LIST);
    const request = requestOf("POST /api/viewer/query", await tokenOf("token"), LISTS_SQL);
    return { requests: [request], connections: isLong ? 3000 : 300 };
  },
};

const HONEST_CROWDS: Record<string, Attack> = {
  "viewers of one popular group with answers of 64 KiB": async ({ create, session }) => {
    await create("popular", BIG_TEXT);
    const sessions = await times(HONEST, () => session("popular"));
    return { requests: sessions.map((each) => requestOf("GET /api/viewer", each)), connections: HONEST };
  },
  "a burst of 300 short calls of one session": async ({ create, session }) => {
    await create("short");
    return { requests: [requestOf("GET /api/viewer", await session("short"))], connections: 300 };
  },
};

/** Starts a crowd. Returns how its answers have been counted so far. */
function gather(crowd: Crowd): { answers: () => CrowdAnswers; stop: () => Promise<void> } {
  const child = fork(new URL("../../proof/crowd.ts", import.meta.url));
  let answers: CrowdAnswers = {};
  child.on("message", (message: CrowdAnswers) => {
    answers = message;
  });
  child.send(crowd);
  const stop = async () => {
    if (child.exitCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "exit");
  };
  onTestFinished(stop);
  return { answers: () => answers, stop };
}

/** The memory of the kernel for sockets of TCP, in MB (proc(5), "/proc/net/sockstat", which counts pages). */
const kernelMb = (): number =>
  (Number(/TCP:.* mem (\d+)/.exec(readFileSync("/proc/net/sockstat", "utf8"))?.[1]) * 4096) / MIB;

async function startWithIntegrator() {
  const service = await startPlainService();
  onTestFinished(service.stop);
  const other = integratorOf(service, await issueKey(service.url, "other"));
  await other.create("beside");
  return { service, integrator: integratorOf(service, service.key), beside: await other.tokenOf("beside") };
}

const portOf = ({ url }: PlainService): number => Number(new URL(url).port);

describe.skipIf(!canMeasureMemory)("crowds", () => {
  it.for(Object.keys(ATTACKS))(
    "leave the viewers of others their answers, and the service its memory: %s",
    async (name) => {
      const { service, integrator, beside } = await startWithIntegrator();
      const attack = await ATTACKS[name]?.(integrator);
      if (!attack) throw new Error("There is no such attack.");
      gather({ ...attack, port: portOf(service), reads: false });
      const waits: number[] = [];
      let kernel = 0;
      for (const startedAt = performance.now(); performance.now() - startedAt < SECONDS * 1000; ) {
        const asked = performance.now();
        const { status } = await fetch(`${service.url}/api/viewer`, { headers: { Authorization: `Token ${beside}` } });
        expect(status).toBe(200);
        waits.push(performance.now() - asked);
        kernel = Math.max(kernel, kernelMb());
        await delay(20);
      }
      const sorted = waits.toSorted((one, two) => one - two);
      const share = (part: number) => Math.round(sorted[Math.floor((sorted.length - 1) * part)] ?? 0);
      const peak = peakBytesOf(service.pid) / MIB;
      report(`crowd: ${name}`, {
        "views beside": waits.length,
        "ms p50": share(0.5),
        "ms p99": share(0.99),
        "ms at most": share(1),
        "MB of workerd": Math.round(peak),
        "MB of the kernel": Math.round(kernel),
      });
      expect(peak).toBeLessThan(PEAK_MB_MAX);
    },
  );

  it.for(Object.keys(HONEST_CROWDS))("are answered, if they are honest: %s", async (name) => {
    const { service, integrator } = await startWithIntegrator();
    const crowd = await HONEST_CROWDS[name]?.(integrator);
    if (!crowd) throw new Error("There is no such crowd.");
    const { answers } = gather({ ...crowd, port: portOf(service), reads: true });
    await expect.poll(answers).toEqual({ 200: crowd.connections });
  });

  it("of rotated tokens of a group keep none of its viewers waiting", async () => {
    const { service, integrator } = await startWithIntegrator();
    await integrator.create("popular");
    const old: string[] = [];
    for (let rotation = 0; rotation < SESSIONS; rotation += 1) {
      old.push(await integrator.tokenOf("popular"));
      await integrator.rotate(old.at(-1) ?? "");
    }
    const requests = old.map((each) => requestOf("POST /api/viewer/query", each, LONG_SQL));
    gather({ port: portOf(service), requests, connections: old.length * 10, reads: false });
    const viewers = await times(50, () => integrator.session("popular"));
    const { answers } = gather({
      port: portOf(service),
      requests: viewers.map((each) => requestOf("GET /api/viewer", each)),
      connections: viewers.length,
      reads: true,
    });
    await expect.poll(answers).toEqual({ 200: viewers.length });
  });
});
