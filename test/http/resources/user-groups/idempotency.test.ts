import { evictAllDurableObjects } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { runAlarm } from "../../../support/alarm.ts";
import { type Answer, call, codeOf, invalid, tagOf, tokenIn } from "../../../support/client.ts";
import { NOW } from "../../../support/clock.ts";
import { CREDENTIAL_PATTERN } from "../../../support/credential-pattern.ts";
import { inEnvironment, issueKey, newIntegrator, operator, withKey } from "../../../support/states.ts";
import { inDirectory } from "../../../support/storage.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

/** An integrator with a group, and its two calls that take an Idempotency-Key. */
async function newRepeater() {
  const integrator = await newIntegrator();
  const token = await integrator.tokenOf("acme", { mapping: { m: "d" } });
  const send = (method: "POST" | "DELETE", idempotencyKey: string, body: object | string, callEnv = env) =>
    call(method, "/api/user", { credential: integrator.key, body, env: callEnv, ...withKey(idempotencyKey) });
  return { ...integrator, token, send };
}

const comparable = (answer: Answer) => [answer.status, tagOf(answer), JSON.stringify(answer.body)];
const storedResponses = () => inDirectory(({ sql }) => sql.exec("SELECT * FROM stored_responses").toArray());

const replayed = ({ headers }: Answer) => headers.get("Idempotent-Replayed");

describe("a rotation repeated with its Idempotency-Key", () => {
  it("gets the same answer byte for byte, whatever happened to the group", async () => {
    const { token, send, put, rotate, remove, get } = await newRepeater();
    const body = { current_token: token, grace_seconds: 60 };
    const first = await send("POST", "k-1", body);
    expect([first.status, replayed(first)]).toEqual([200, null]);
    const isTheSame = async () => {
      const again = await send("POST", "k-1", body);
      expect([replayed(again), ...comparable(again)]).toEqual(["true", ...comparable(first)]);
    };

    await isTheSame();
    await put({ user_group_id: "acme", name: "Renamed", new_user_group_id: "other" });
    await isTheSame();
    await evictAllDurableObjects();
    await isTheSame();
    const second = tokenIn(await rotate(tokenIn(first)));
    await isTheSame();
    expect((await remove(second)).status).toBe(200);
    await isTheSame();
    await get({ user_group_id: "acme" });
    await isTheSame();
  });

  it("rotates once, however many are sent at the same time", async () => {
    const { token, send, get } = await newRepeater();
    const answers = await Promise.all(Array.from({ length: 32 }, () => send("POST", "k", { current_token: token })));
    expect(new Set(answers.map((answer) => JSON.stringify(comparable(answer)))).size).toBe(1);
    expect(answers[0]?.status).toBe(200);
    const found = await get({ user_group_id: "acme" });
    expect(tokenIn(found)).toBe(tokenIn(answers[0] as Answer));
    expect(found.headers.get("ETag")).toBe('"1.2"');
  });

  it("is the same call in any order of its fields, with or without defaults", async () => {
    const { token, send } = await newRepeater();
    const first = await send("POST", "k", `{"current_token":"${token}"}`);
    const again = await send("POST", "k", `{ "grace_seconds": 0, "current_token": "${token}" }`);
    expect(comparable(again)).toEqual(comparable(first));
  });
});

describe("a delete repeated with its Idempotency-Key", () => {
  it("succeeds again, and does not delete a group created since", async () => {
    const { token, send, remove, tokenOf } = await newRepeater();
    const body = { current_token: token, user_group_id: "acme" };
    const first = await send("DELETE", "k", body);
    expect([first.status, replayed(first), first.body]).toEqual([200, null, { success: 1 }]);
    const recreated = await tokenOf("acme");
    const again = await send("DELETE", "k", body);
    expect([replayed(again), ...comparable(again)]).toEqual(["true", ...comparable(first)]);
    expect(codeOf(await remove(token))).toEqual([404, "user_group_not_found"]);
    expect(await tokenOf("acme")).toBe(recreated);
  });
});

describe("an Idempotency-Key of another call", () => {
  it("is refused with 422 idempotency_key_reused, and nothing changes", async () => {
    const { token, send, tokenOf } = await newRepeater();
    const other = await tokenOf("other");
    const current = tokenIn(await send("POST", "k", { current_token: token }));
    for (const [method, body] of [
      ["POST", { current_token: current }],
      ["POST", { current_token: token, grace_seconds: 1 }],
      ["POST", { current_token: other }],
      ["DELETE", { current_token: token }],
      ["DELETE", { current_token: current }],
    ] as const)
      expect(codeOf(await send(method, "k", body))).toEqual([422, "idempotency_key_reused"]);
    expect(await tokenOf("acme")).toBe(current);
    expect(await tokenOf("other")).toBe(other);
  });
});

it("a refused call stores nothing, and its repeat is a new call", async () => {
  const { token, send } = await newRepeater();
  const guarded = { current_token: token, user_group_id: "other" };
  expect(codeOf(await send("DELETE", "k", guarded))).toEqual([409, "user_group_mismatch"]);
  expect(await storedResponses()).toEqual([]);
  expect((await send("DELETE", "k", { current_token: token })).status).toBe(200);
});

it("a caller that may not make the call does not get its stored response", async () => {
  const { key, token, send } = await newRepeater();
  await send("POST", "k", { current_token: token });
  const repeatBy = async (credential: string) =>
    codeOf(await call("POST", "/api/user", { credential, body: { current_token: token }, ...withKey("k") }));
  expect(await repeatBy(await issueKey({ access: "read" }))).toEqual([403, "insufficient_access"]);
  await call("DELETE", `/api/keys/1${inEnvironment()}`, { credential: operator });
  expect(await repeatBy(key)).toEqual([401, "credential_revoked"]);
});

it.for([
  ["a space", "a b"],
  ["none", ""],
  ["256 characters", "k".repeat(256)],
  ["what is not ASCII", "clé"],
] as const)("refuses a key of %s, after it has admitted the caller", async ([, invalidKey]) => {
  const { token, send, tokenOf } = await newRepeater();
  for (const method of ["POST", "DELETE"] as const)
    expect(await send(method, invalidKey, { current_token: token })).toMatchObject(invalid("Idempotency-Key"));
  const credential = await issueKey({ access: "read" });
  const refused = await call("POST", "/api/user", {
    credential,
    body: { current_token: token },
    ...withKey(invalidKey),
  });
  expect(codeOf(refused)).toEqual([403, "insufficient_access"]);
  expect(await tokenOf("acme")).toBe(token);
});

it("accepts the longest key, and every visible character", async () => {
  const { token, send } = await newRepeater();
  const visible = String.fromCharCode(...Array.from({ length: 94 }, (_, index) => 33 + index));
  const first = await send("POST", visible.padEnd(255, "x"), { current_token: token });
  expect(first.status).toBe(200);
  expect(comparable(await send("POST", visible.padEnd(255, "x"), { current_token: token }))).toEqual(comparable(first));
});

describe("after 24 hours", () => {
  it("a repeat is a new call, whether or not the alarm has run", async () => {
    vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
    const { token, send } = await newRepeater();
    await send("POST", "k", { current_token: token });
    vi.setSystemTime(NOW.getTime() + DAY_MS - 1);
    expect((await send("POST", "k", { current_token: token })).status).toBe(200);
    vi.setSystemTime(NOW.getTime() + DAY_MS);
    expect(codeOf(await send("POST", "k", { current_token: token }))).toEqual([409, "token_superseded"]);
  });

  it("the alarm has deleted the stored response, and nothing else", async () => {
    vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
    const { token, send } = await newRepeater();
    const second = tokenIn(await send("POST", "k-1", { current_token: token }));
    vi.setSystemTime(NOW.getTime() + 1000);
    await send("POST", "k-2", { current_token: second });
    await evictAllDurableObjects();
    const alarm = () => inDirectory((storage) => storage.getAlarm());
    const left: number[] = [];
    for (let at = await alarm(); at !== null && left.at(-1) !== 0; at = await alarm()) {
      vi.setSystemTime(Math.max(Date.now(), at));
      await runAlarm("acme/Testing");
      left.push((await storedResponses()).length);
    }
    expect(left.at(-1)).toBe(0);
    expect(left).toContain(1);
    expect(Date.now()).toBe(NOW.getTime() + 1000 + DAY_MS);
  });
});

it("a response stored after a restart does not postpone the alarm of an older one", async () => {
  vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
  const { token, send } = await newRepeater();
  const second = tokenIn(await send("POST", "k-1", { current_token: token }));
  await evictAllDurableObjects();
  vi.setSystemTime(NOW.getTime() + DAY_MS / 2);
  await send("POST", "k-2", { current_token: second });
  const alarm = await inDirectory((storage) => storage.getAlarm());
  expect(alarm).toBe(NOW.getTime() + DAY_MS);
});

it("stores no credential, and no key as it was sent", async () => {
  const { token, send } = await newRepeater();
  const rotated = tokenIn(await send("POST", "the-key-that-was-sent", { current_token: token }));
  await send("DELETE", "another-key", { current_token: rotated });
  const rows = await storedResponses();
  const printed = rows.flatMap((row) =>
    Object.values(row).map((value) => (value instanceof ArrayBuffer ? new TextDecoder("latin1").decode(value) : value)),
  );
  expect(rows).toHaveLength(2);
  expect(printed.join("\n")).not.toMatch(CREDENTIAL_PATTERN);
  expect(printed.join("\n")).not.toMatch(/the-key-that-was-sent|another-key/);
});
