import { setTimeout as delay } from "node:timers/promises";
import { Agent, request } from "undici";
import { expect, inject, it, onTestFinished } from "vitest";
import { report } from "../proof/effort.ts";
import { canMeasureMemory, residentBytesOf } from "../support/node/memory.ts";
import { type PlainService, startPlainService } from "../support/node/plain-workerd.ts";

const { minutes } = inject("effort");
const MIB = 1024 * 1024;
/** An hour at 60 calls a second, in ten minutes. */
const CALLS_PER_SECOND = 360;
/** The long form has this share of the proofs' time, and ten minutes at most. */
const SECONDS = minutes > 0 ? Math.min(600, minutes * 60 * 0.2) : 4;
const KEYS = 16;
const GROUPS_OF_KEY = 20;
const SAMPLES = 20;
/** How much more the second half may take than the first, which still fills caches. */
const GROWTH_MIB_MAX = 48;

/** A key of a workspace of its own, and the ids of its groups. They are there before the calls, which may overtake one another. */
async function newTenant(service: PlainService, workspace: string, call: Call) {
  const body = { workspace, environment: "Testing", name: "soak" };
  const { key } = (await call("POST", "/api/keys", body, service.operatorToken)) as { key: string };
  const ids = Array.from({ length: GROUPS_OF_KEY }, (_, index) => `group ${index}`);
  for (const user_group_id of ids) await call("GET", "/api/user", { user_group_id }, key);
  return { key, ids };
}

type Call = (method: string, path: string, body: object, credential: string) => Promise<unknown>;

it.skipIf(!canMeasureMemory)("takes no more memory the longer it is used", async () => {
  const service = await startPlainService();
  onTestFinished(service.stop);
  const dispatcher = new Agent({ connections: 32 });
  const statuses = new Map<number, number>();
  const call: Call = async (method, path, body, credential) => {
    const answer = await request(service.url + path, {
      dispatcher,
      method: method as "GET",
      headers: { authorization: `Token ${credential}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    statuses.set(answer.statusCode, (statuses.get(answer.statusCode) ?? 0) + 1);
    return answer.body.json();
  };
  const tenants = [];
  for (let n = 0; n < KEYS; n += 1) tenants.push(await newTenant(service, `soak-${n}`, call));

  const pending = new Set<Promise<unknown>>();
  const samples: number[] = [];
  const startedAt = Date.now();
  for (let made = 0; Date.now() - startedAt < SECONDS * 1000; made += 1) {
    const { key, ids } = tenants[made % KEYS] as (typeof tenants)[number];
    const user_group_id = ids[Math.floor(made / KEYS) % GROUPS_OF_KEY];
    const calls: [string, string, object][] = [
      ["GET", "/api/user", { user_group_id }],
      ["POST", "/api/viewer_sessions", { user_group_id }],
      ["PUT", "/api/user", { user_group_id, name: `name ${made}` }],
      ["POST", "/api/user_groups", { user_group_id }],
    ];
    const [method, path, body] = calls[
      Math.floor(made / (KEYS * GROUPS_OF_KEY)) % calls.length
    ] as (typeof calls)[number];
    const sent = call(method, path, body, key).finally(() => pending.delete(sent));
    pending.add(sent);
    const elapsed = (Date.now() - startedAt) / (SECONDS * 1000);
    if (samples.length < elapsed * SAMPLES) samples.push(residentBytesOf(service.pid) / MIB);
    const ahead = (made / CALLS_PER_SECOND) * 1000 - (Date.now() - startedAt);
    if (ahead > 1) await delay(ahead);
  }
  await Promise.all(pending);

  const half = Math.floor(samples.length / 2);
  const [first, second] = [Math.max(...samples.slice(0, half)), Math.max(...samples.slice(half))];
  const answered = [...statuses.values()].reduce((sum, count) => sum + count, 0);
  report("soak", {
    calls: answered,
    "MiB in the first half": Math.round(first),
    "MiB in the second": Math.round(second),
  });
  expect([...statuses.keys()].filter((status) => status >= 300)).toEqual([]);
  expect(answered).toBeGreaterThan(SECONDS * 100);
  expect(second - first).toBeLessThan(GROWTH_MIB_MAX);
});
