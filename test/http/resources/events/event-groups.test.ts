import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { byNumber, IN_ACME } from "../../../support/by-number.ts";
import { call, idsIn, invalid, pagesOf } from "../../../support/client.ts";
import { countRows } from "../../../support/rows.ts";
import { issueKey, issueOperator, newIntegrator, operator } from "../../../support/states.ts";
import { watchedEnv } from "../../../support/watched-env.ts";

/** A page of the feed with the groups that it names. */
const pageWith = async (credential: string, query: Record<string, string> = {}, callEnv: Env = env) => {
  const search = new URLSearchParams({ include: "user_groups", ...query });
  return call("GET", `/api/events?${search}`, { credential, env: callEnv });
};

describe("include=user_groups", () => {
  it("adds the present state of each group that the page names, once, as lists show it", async () => {
    const { key, put, tokenOf } = await newIntegrator();
    await tokenOf("a", { properties: { plan: "gold" } });
    await tokenOf("b");
    await put({ user_group_id: "a", name: "A" });
    await put({ user_group_id: "b", suspended: true });
    const { body } = await pageWith(key);
    const { body: listed } = await byNumber(key).list();
    expect(body.user_groups).toEqual(listed.user_groups);
    expect(body.user_groups).toMatchObject([{ name: "A" }, { state: "suspended" }]);
    expect(body).toMatchObject({ has_more: false, next_cursor: expect.any(String) });
    expect(body.events).toHaveLength(5);
    expect(JSON.stringify(body)).not.toMatch(/ugt_|token"/);
  });

  it("leaves out deleted and purged groups, whose events stay", async () => {
    const { key, tokenOf } = await newIntegrator();
    for (const id of ["kept", "deleted", "purged"]) await tokenOf(id);
    const by = byNumber(key);
    await by.remove(2);
    await by.remove(3);
    await by.purge(3);
    const page = await pageWith(key);
    expect(idsIn(page)).toEqual(["kept"]);
    expect(page.body.events.at(-1)).toMatchObject({ user_group: { provided_id: "purged" } });
  });

  it("names only groups of the page that the filters have left", async () => {
    const { key, put, tokenOf } = await newIntegrator();
    await tokenOf("a");
    await tokenOf("b");
    await put({ user_group_id: "b", name: "B" });
    expect(idsIn(await pageWith(key, { type: "user_group.updated" }))).toEqual(["b"]);
    expect((await pageWith(key, { cursor: "latest" })).body.user_groups).toEqual([]);
    expect(await call("GET", "/api/events", { credential: key })).not.toHaveProperty("body.user_groups");
  });

  it("ends a page before its groups exceed 1 MiB, and loses none on the way", async () => {
    const { key, tokenOf } = await newIntegrator();
    const mapping = Object.fromEntries(
      Array.from({ length: 100 }, (_, n) => [`${n}`.padEnd(255, "é"), "é".repeat(30)]),
    );
    for (let n = 0; n < 30; n += 1) await tokenOf(`g${n}`, { mapping });
    const pages = await pagesOf((cursor) => pageWith(key, cursor));
    expect(pages.length).toBeGreaterThan(1);
    for (const { body } of pages) expect(JSON.stringify(body.user_groups).length).toBeLessThan(1.1 * 1024 * 1024);
    expect(pages.flatMap(idsIn)).toEqual(Array.from({ length: 30 }, (_, n) => `g${n}`));
    const numbers = pages.flatMap(({ body }) => body.events.map(({ id }: { id: number }) => id));
    expect(numbers).toEqual(Array.from({ length: 31 }, (_, n) => n + 1));
  });

  it("lets the next read follow a small page without a pause", async () => {
    const { key, tokenOf } = await newIntegrator();
    await tokenOf("a");
    const wait = vi.spyOn(scheduler, "wait");
    expect((await pageWith(key)).body.user_groups).toHaveLength(1);
    expect(wait).not.toHaveBeenCalled();
  });

  it("needs groups:read besides events:read", async () => {
    await newIntegrator();
    const alone = await issueKey({ scopes: ["events:read"] });
    expect(await pageWith(alone)).toMatchObject({
      status: 403,
      body: { error: { code: "insufficient_access", required_scope: "groups:read" } },
    });
    expect((await pageWith(await issueKey({ scopes: ["groups:read"] }))).body.error).toMatchObject({
      required_scope: "events:read",
    });
    expect((await pageWith(await issueKey({ scopes: ["events:read", "groups:read"] }))).status).toBe(200);
    expect((await pageWith(await issueOperator("viewer"), IN_ACME)).status).toBe(200);
  });

  it("takes nothing else, and is empty for the deployment's feed", async () => {
    const { key } = await newIntegrator();
    expect(await pageWith(key, { include: "tokens" })).toMatchObject(invalid("include"));
    expect((await pageWith(operator)).body).toMatchObject({
      user_groups: [],
      events: [{ type: "environment.created" }],
    });
  });

  it("costs one RPC, and one row for each group that it names", async () => {
    const { watched, costs } = watchedEnv();
    const { key, put, tokenOf } = await newIntegrator({}, watched);
    for (let n = 0; n < 10; n += 1) await tokenOf(`g${n}`);
    for (let n = 0; n < 10; n += 1) await put({ user_group_id: "g1", name: `${n}` });
    const rows = await countRows(env.GROUP_DIRECTORY.getByName("acme/Testing"));
    const costOf = async (credential: string, query: Record<string, string>) => {
      const before = { read: rows.read, rpcs: costs.rpcs.length };
      await call("GET", `/api/events?${new URLSearchParams(query)}`, { credential, env: watched });
      return { rows: rows.read - before.read, rpcs: costs.rpcs.length - before.rpcs };
    };
    await costOf(key, {});
    const without = await costOf(key, {});
    // The key's row is read for each of the two scopes.
    const with10 = await costOf(key, { include: "user_groups" });
    expect(with10.rpcs).toBe(1);
    expect(with10.rows - without.rows).toBeLessThanOrEqual(11);
  });
});
