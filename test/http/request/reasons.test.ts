import { describe, expect, it } from "vitest";
import { byNumber, IN_ACME } from "../../support/by-number.ts";
import { call, codeOf } from "../../support/client.ts";
import { inEnvironment, issueKey, issueOperator, newIntegrator, operator } from "../../support/states.ts";

const why = (reason: unknown) => ({ reason });

/** The last event of a feed. */
async function lastEvent(credential: string, search = "") {
  const { body } = await call("GET", `/api/events${search}`, { credential });
  return body.events.at(-1);
}

describe("the reason of a call by number", () => {
  it("is in its event, with each kind of caller", async () => {
    const { key, tokenOf } = await newIntegrator();
    await tokenOf("acme");
    const callers = [byNumber(key), byNumber(await issueOperator("admin"), IN_ACME), byNumber(operator, IN_ACME)];
    for (const [index, by] of callers.entries()) {
      const told = async (type: string, run: Promise<{ status: number }>, reason: string) => {
        expect((await run).status).toBe(200);
        expect(await lastEvent(key)).toMatchObject({ type, reason });
      };
      const name = `Acme ${index}`;
      await told("user_group.updated", by.update(1, { name, reason: "moved" }), "moved");
      await told("user_group.suspended", by.update(1, { suspended: true, reason: "unpaid" }), "unpaid");
      await told("user_group.resumed", by.update(1, { suspended: false, reason: "paid" }), "paid");
      await told("user_group.token_rotated", by.rotate(1, why("leaked")), "leaked");
      await told("user_group.deleted", by.remove(1, why("left")), "left");
      await told("user_group.restored", by.restore(1, why("came back")), "came back");
    }
    const [by] = callers;
    await by?.remove(1);
    expect(await lastEvent(key)).not.toHaveProperty("reason");
    expect((await by?.purge(1, why("asked for")))?.status).toBe(200);
    expect(await lastEvent(key)).toMatchObject({ type: "user_group.purged", reason: "asked for" });
  });

  it("does not stay with a caller for the next call", async () => {
    const { key, tokenOf } = await newIntegrator();
    await tokenOf("acme");
    const by = byNumber(key);
    await by.update(1, { name: "A", reason: "first" });
    await by.update(1, { name: "B" });
    expect(await lastEvent(key)).not.toHaveProperty("reason");
  });

  it("alone changes nothing, and writes no event", async () => {
    const { key, tokenOf } = await newIntegrator();
    await tokenOf("acme");
    expect((await byNumber(key).update(1, why("none"))).status).toBe(200);
    expect(await lastEvent(key)).toMatchObject({ type: "user_group.created" });
  });

  it("belongs to the stored request of an Idempotency-Key", async () => {
    const { key, tokenOf } = await newIntegrator();
    await tokenOf("acme");
    const by = byNumber(key);
    const once = { headers: { "Idempotency-Key": "one" } };
    expect((await by.remove(1, why("left"), once)).status).toBe(200);
    expect(codeOf(await by.remove(1, why("other"), once))).toEqual([422, "idempotency_key_reused"]);
    expect((await by.remove(1, why("left"), once)).headers.get("Idempotent-Replayed")).toBe("true");
  });

  it.for([
    ["", "an empty text"],
    ["x".repeat(256), "a text of 256 characters"],
    ["a\nb", "a line break"],
    [7, "a number"],
    [null, "null"],
  ])("is refused as %j", async ([reason]) => {
    const { key, tokenOf } = await newIntegrator();
    await tokenOf("acme");
    const by = byNumber(key);
    for (const run of [by.update, by.rotate, by.remove, by.restore, by.purge])
      expect((await run(1, why(reason))).body.error).toMatchObject({
        code: "invalid_body",
        issues: [{ path: ["reason"] }],
      });
    expect(await lastEvent(key)).toMatchObject({ type: "user_group.created" });
  });

  it("takes 255 characters, and no call of /api/user takes one", async () => {
    const { key, put, tokenOf } = await newIntegrator();
    await tokenOf("acme");
    const reason = "𝒳".repeat(127);
    await byNumber(key).rotate(1, why(reason));
    expect(await lastEvent(key)).toMatchObject({ reason });
    expect(codeOf(await put({ user_group_id: "acme", suspended: true, reason }))).toEqual([422, "invalid_body"]);
  });
});

describe("a suspended group", () => {
  it("shows since when and why, in lists and by number, until it is resumed", async () => {
    const { key, put, tokenOf } = await newIntegrator();
    await tokenOf("acme");
    const by = byNumber(key);
    const shown = async () => {
      const { suspended_by: _, ...one } = (await by.show(1)).body.user_group;
      expect((await by.list()).body.user_groups).toEqual([one]);
      return [one.suspended_at, one.suspended_reason];
    };
    expect(await shown()).toEqual([undefined, undefined]);
    const { body } = await by.update(1, { suspended: true, reason: 'unpaid: "März"' });
    const suspended = [body.user_group.suspended_at, 'unpaid: "März"'];
    expect(Date.parse(body.user_group.suspended_at)).toBeGreaterThan(0);
    expect(await shown()).toEqual(suspended);

    // A group that is suspended already keeps its time and its reason, whatever changes besides.
    await by.update(1, { name: "Other", reason: "renamed" });
    await by.update(1, { suspended: true, reason: "again" });
    expect(await shown()).toEqual(suspended);

    await by.update(1, { suspended: false });
    expect(await shown()).toEqual([undefined, undefined]);
    await put({ user_group_id: "acme", suspended: true });
    expect(await shown()).toEqual([expect.any(String), null]);
  });

  it("keeps both while it is deleted, and after it is restored", async () => {
    const { key, tokenOf } = await newIntegrator();
    await tokenOf("acme");
    const by = byNumber(key);
    await by.update(1, { suspended: true, reason: "unpaid" });
    const state = { suspended_at: expect.any(String), suspended_reason: "unpaid" };
    expect((await by.remove(1)).body.user_group).toMatchObject({ state: "deleted", ...state });
    expect((await by.restore(1)).body.user_group).toMatchObject({ state: "suspended", ...state });
  });
});

describe("the reason of a call on a key", () => {
  it("is in its event", async () => {
    const key = await issueKey({ reason: "for the shop" });
    expect(await lastEvent(key)).toMatchObject({ type: "api_key.issued", reason: "for the shop" });
    const keys = `/api/keys/1`;
    const send = (method: string, path: string, reason: string) =>
      call(method, path + inEnvironment(), { credential: operator, body: { reason } });
    expect((await send("POST", `${keys}/roll`, "yearly")).status).toBe(201);
    const admin = await issueKey();
    await issueOperator("admin");
    expect((await send("DELETE", "/api/keys/2", "found in a repository")).status).toBe(200);
    const { body } = await call("GET", "/api/events", { credential: admin });
    expect(body.events.filter(({ reason }: { reason?: string }) => reason !== undefined)).toMatchObject([
      { type: "api_key.issued", reason: "for the shop" },
      { type: "api_key.rolled", reason: "yearly" },
      { type: "api_key.revoked", reason: "found in a repository" },
    ]);
  });
});

describe("the reason of a call on an operator", () => {
  it("is in the deployment's feed", async () => {
    const send = (method: string, path: string, body: object) => call(method, path, { credential: operator, body });
    const issued = await send("POST", "/api/operators", { name: "ada", role: "viewer", reason: "new" });
    const path = `/api/operators/${issued.body.operator.id}`;
    expect((await send("POST", `${path}/roll`, { grace_seconds: 60, reason: "yearly" })).status).toBe(201);
    expect((await send("DELETE", path, { reason: "left" })).status).toBe(200);
    const { body } = await call("GET", "/api/events", { credential: operator });
    expect(body.events.slice(-3)).toMatchObject([
      { type: "operator.issued", reason: "new" },
      { type: "operator.rolled", reason: "yearly" },
      { type: "operator.revoked", reason: "left" },
    ]);
    expect(codeOf(await send("DELETE", path, { reason: 7 }))).toEqual([422, "invalid_body"]);
  });
});
