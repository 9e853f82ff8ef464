import { describe, expect, it, vi } from "vitest";
import { byNumber, rowsOf } from "../../../support/by-number.ts";
import { call, codeOf } from "../../../support/client.ts";
import { NOW } from "../../../support/clock.ts";
import { replaceKv } from "../../../support/hostile-kv.ts";
import { newIntegrator } from "../../../support/states.ts";
import { answeredBy, STALE, view } from "../../../support/viewers.ts";
import { watchedEnv } from "../../../support/watched-env.ts";

const DIRECTORY = "acme/Testing";
const SUSPENDED = [403, "user_group_suspended"];
const FIELDS = { name: "Acme", mapping: { m: "d" }, properties: { plan: "gold" } };

/** An integrator with the group `acme`, number 1, and what changes its state. */
async function newCustomer() {
  const integrator = await newIntegrator();
  const token = await integrator.tokenOf("acme", FIELDS);
  const set = (suspended: boolean, fields: object = {}) =>
    integrator.put({ user_group_id: "acme", suspended, ...fields });
  return {
    ...byNumber(integrator.key),
    ...integrator,
    token,
    suspend: (fields?: object) => set(true, fields),
    resume: (fields?: object) => set(false, fields),
  };
}

it("viewers of a suspended group learn nothing of it, and scripts can read the refusal", async () => {
  const { token, suspend } = await newCustomer();
  await suspend();
  const answer = await view(token, { Origin: "https://page.example" });
  expect(answer.body).toEqual({
    success: 0,
    error: { code: "user_group_suspended", message: expect.stringContaining("suspended") },
    request_id: answer.headers.get("X-Request-Id"),
  });
  expect(answer.headers.get("Access-Control-Allow-Origin")).toBe("*");
  expect(JSON.stringify(answer.body)).not.toMatch(/acme|gold/i);
});

describe("a suspension", () => {
  it("is answered with the fields of every PUT, and by number with the state", async () => {
    const { token, suspend, update, show } = await newCustomer();
    const suspended = await suspend();
    expect(suspended.body.user_group).toMatchObject({ team_id: 1, token, name: "Acme", properties: { plan: "gold" } });
    expect(suspended.body.user_group).not.toHaveProperty("state");
    expect(suspended.headers.get("ETag")).toBe('"1.2"');
    const { user_group: shown } = (await show(1)).body;
    expect(shown).toMatchObject({
      ...FIELDS,
      state: "suspended",
      suspended_by: { kind: "api_key", id: 1, name: "backend" },
      suspended_reason: null,
    });
    const resumed = await update(1, { suspended: false });
    const { suspended_at: _, suspended_by: __, suspended_reason: ___, ...rest } = shown;
    expect(resumed.body).toEqual({ success: 1, user_group: { ...rest, state: "active" } });
    expect(resumed.headers.get("ETag")).toBe('"1.3"');
  });

  it.for([
    ["a second suspension", true],
    ["a resume of an active group", false],
  ] as const)("that changes nothing writes nothing: %s", async ([, suspended]) => {
    const { put, update, suspend, get } = await newCustomer();
    await { true: suspend, false: async () => undefined }[String(suspended) as "true" | "false"]();
    const before = await rowsOf(DIRECTORY);
    const { watched, costs } = watchedEnv();
    const tag = (await get({ user_group_id: "acme" })).headers.get("ETag");
    const again = await put({ user_group_id: "acme", suspended, name: "Acme" }, { env: watched });
    expect(again.headers.get("ETag")).toBe(tag);
    expect((await update(1, { suspended }, { env: watched })).headers.get("ETag")).toBe(tag);
    expect(await rowsOf(DIRECTORY)).toEqual(before);
    expect(costs.kv).toEqual([]);
  });

  it("leaves updated_at alone, unless the same call changes a field", async () => {
    vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
    const { suspend, resume, show } = await newCustomer();
    const updatedAt = async () => (await show(1)).body.user_group.updated_at;
    vi.setSystemTime(NOW.getTime() + 1000);
    await suspend();
    await resume();
    expect(await updatedAt()).toBe(NOW.toISOString());
    await suspend({ name: "B" });
    expect(await updatedAt()).toBe(new Date(NOW.getTime() + 1000).toISOString());
  });

  it("is one event, which names what else the call has changed", async () => {
    const { key, suspend, resume, update, put, events } = await newCustomer();
    const latest = (await call("GET", "/api/events?cursor=latest", { credential: key })).body.next_cursor;
    await suspend();
    await suspend();
    await suspend({ name: "B" });
    await resume();
    await update(1, { suspended: true, name: "C", new_user_group_id: "acme-2" });
    await put({ user_group_id: "acme-2", suspended: false, mapping: null });
    const acme = { team_id: 1, provided_id: "acme" };
    const renamed = { team_id: 1, provided_id: "acme-2" };
    const found: Record<string, unknown>[] = await events({ cursor: latest });
    expect(found.map(({ id, at, actor, request_id, ...event }) => event)).toEqual([
      { type: "user_group.suspended", user_group: acme },
      { type: "user_group.updated", user_group: acme, changed: ["name"] },
      { type: "user_group.resumed", user_group: acme },
      {
        type: "user_group.suspended",
        user_group: renamed,
        changed: ["provided_id", "name"],
        previous_provided_id: "acme",
      },
      { type: "user_group.resumed", user_group: renamed, changed: ["mapping"] },
    ]);
  });

  it.for([null, "true", 1, 0, {}, []])("of %j is 422, with an issue at suspended", async (suspended) => {
    const { put, update, get, token } = await newCustomer();
    const refused = [
      await put({ user_group_id: "acme", suspended }),
      await update(1, { suspended }),
      await get({ user_group_id: "acme", suspended: true }),
    ];
    for (const { status, body } of refused)
      expect({ status, body }).toMatchObject({
        status: 422,
        body: { error: { code: "invalid_body", issues: [{ path: ["suspended"] }] } },
      });
    expect((await view(token)).status).toBe(200);
  });
});

describe("a lease of a suspended group", () => {
  /** A customer with a lease in KV, whose KV operations are recorded. */
  async function leasedCustomer() {
    const { watched, costs } = watchedEnv();
    const integrator = await newIntegrator({}, watched);
    const token = await integrator.leasedTokenOf("acme");
    const suspend = (suspended = true) => integrator.put({ user_group_id: "acme", suspended });
    return { ...integrator, token, suspend, costs, watched };
  }

  it.for(["id", "number"])("is deleted when the group is suspended by %s, and only then", async (by) => {
    const { key, token, put, costs, watched } = await leasedCustomer();
    const { update } = byNumber(key);
    const set = (suspended: boolean) =>
      by === "id" ? put({ user_group_id: "acme", suspended }) : update(1, { suspended }, { env: watched });
    expect(answeredBy(await view(token, STALE))).toBe("index");
    for (const suspended of [true, true, false]) await set(suspended);
    expect(costs.kv.filter((operation) => operation === "delete")).toHaveLength(1);
    await set(true);
    const answer = await view(token, STALE);
    expect(codeOf(answer)).toEqual(SUSPENDED);
    expect(answeredBy(answer)).toBe("directory");
  });

  it("does not outlast its time when KV writes it after the suspension", async () => {
    vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
    const { tokenOf, put } = await newIntegrator();
    const token = await tokenOf("acme");
    await view(token, STALE);
    const written = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    replaceKv(async (operation, _, real) => {
      if (operation === "put") {
        asked.resolve();
        await written.promise;
      }
      return real();
    });
    const viewed = view(token, STALE);
    await asked.promise;
    await put({ user_group_id: "acme", suspended: true });
    written.resolve();
    await viewed;
    expect(answeredBy(await view(token, STALE))).toBe("index");
    vi.setSystemTime(NOW.getTime() + 60_001);
    expect(codeOf(await view(token, STALE))).toEqual(SUSPENDED);
  });

  it("is not written while the group is suspended, and is written after a resume", async () => {
    const { watched, costs } = watchedEnv();
    const { tokenOf, put } = await newIntegrator();
    const token = await tokenOf("acme");
    await view(token, STALE, watched);
    await put({ user_group_id: "acme", suspended: true });
    for (const _ of [1, 2, 3]) expect(codeOf(await view(token, STALE, watched))).toEqual(SUSPENDED);
    expect(costs.kv).toEqual(["get", "get", "get", "get"]);
    await put({ user_group_id: "acme", suspended: false });
    expect((await view(token, STALE, watched)).status).toBe(200);
    expect(costs.kv.at(-1)).toBe("put");
  });
});
