import { describe, expect, it } from "vitest";
import { byNumber, IN_ACME } from "../../../support/by-number.ts";
import { codeOf, invalid } from "../../../support/client.ts";
import { issueOperator, newIntegrator } from "../../../support/states.ts";

const MERGE_PATCH = { headers: { "Content-Type": "application/merge-patch+json" } };

/** A group with these fields, and what patches it. */
async function newPatched(fields: object) {
  const integrator = await newIntegrator();
  await integrator.tokenOf("acme", fields);
  const by = byNumber(integrator.key);
  return {
    ...integrator,
    by,
    patch: (body: object | string, headers = {}) =>
      by.update(1, body, { headers: { ...MERGE_PATCH.headers, ...headers } }),
    shown: async () => (await by.show(1)).body.user_group,
  };
}

describe("a merge patch", () => {
  // RFC 7396, appendix A, without the cases in which the target or the patch is no object.
  it.for([
    [{ a: "b" }, { a: "c" }, { a: "c" }],
    [{ a: "b" }, { b: "c" }, { a: "b", b: "c" }],
    [{ a: "b" }, { a: null }, {}],
    [{ a: "b", b: "c" }, { a: null }, { b: "c" }],
    [{ a: ["b"] }, { a: "c" }, { a: "c" }],
    [{ a: "c" }, { a: ["b"] }, { a: ["b"] }],
    [{ a: { b: "c" } }, { a: { b: "d", c: null } }, { a: { b: "d" } }],
    [{ a: [{ b: "c" }] }, { a: [1] }, { a: [1] }],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [null, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
    [{ a: "foo" }, null, null],
  ])("of %j with %j makes %j", async ([properties, patch, merged]) => {
    const { patch: send, shown } = await newPatched({ properties });
    const answer = await send({ properties: patch });
    expect(answer.status).toBe(200);
    expect(answer.body.user_group.properties).toEqual(merged);
    expect((await shown()).properties).toEqual(merged);
  });

  it("takes keys that an object of JavaScript treats as special", async () => {
    const { patch, shown } = await newPatched({ properties: { kept: 1 } });
    const text = '{"properties":{"__proto__":{"constructor":{"prototype":1}},"toString":"x"}}';
    const answer = await patch(text);
    expect(answer.status).toBe(200);
    expect(JSON.stringify((await shown()).properties)).toBe(
      '{"kept":1,"__proto__":{"constructor":{"prototype":1}},"toString":"x"}',
    );
    await patch('{"properties":{"__proto__":null,"toString":null}}');
    expect(JSON.stringify((await shown()).properties)).toBe('{"kept":1}');
  });

  it("merges a mapping, whose entries null removes", async () => {
    const { patch } = await newPatched({ mapping: { sales: "a", stock: "b" } });
    expect((await patch({ mapping: { stock: null, staff: "c" } })).body.user_group.mapping).toEqual({
      sales: "a",
      staff: "c",
    });
    expect((await patch({ mapping: null })).body.user_group.mapping).toBeNull();
    expect((await patch({ mapping: { only: "d", none: null } })).body.user_group.mapping).toEqual({ only: "d" });
  });

  it("changes the other fields as a PUT does, with one event that names what has changed", async () => {
    const { by, patch } = await newPatched({ properties: { a: 1 }, mapping: { m: "d" } });
    await patch({ name: "Acme Inc.", suspended: true, properties: { a: 1 }, mapping: { n: "e" }, reason: "why" });
    expect((await by.events()).at(-1)).toMatchObject({
      type: "user_group.suspended",
      changed: ["name", "mapping"],
      reason: "why",
    });
  });

  it("that changes nothing writes nothing", async () => {
    const { by, patch } = await newPatched({ properties: { a: { b: 1 } } });
    const { headers } = await by.show(1);
    const answer = await patch({ properties: { a: { b: 1, c: null }, d: null } });
    expect(answer.headers.get("ETag")).toBe(headers.get("ETag"));
    expect(await by.events()).toHaveLength(2);
  });

  it("obeys If-Match", async () => {
    const { patch, shown } = await newPatched({ properties: { a: 1 } });
    expect(codeOf(await patch({ properties: { b: 2 } }, { "If-Match": '"1.7"' }))).toEqual([412, "revision_mismatch"]);
    expect((await shown()).properties).toEqual({ a: 1 });
    expect((await patch({ properties: { b: 2 } }, { "If-Match": '"1.1"' })).status).toBe(200);
  });

  it("that would make too much is refused, and leaves the group as it is", async () => {
    const half = "x".repeat(9000);
    const mapping = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`s${n}`, "d"]));
    const { patch, shown } = await newPatched({ properties: { half }, mapping });
    const issueOf = async (body: object) => (await patch(body)).body.error.issues[0];
    expect(await issueOf({ properties: { other: half } })).toEqual({
      path: ["properties"],
      message: expect.stringContaining("16384 is the most"),
    });
    expect(await issueOf({ mapping: { more: "d" } })).toMatchObject({
      path: ["mapping"],
      message: expect.stringContaining("100 is the most"),
    });
    expect(await shown()).toMatchObject({ properties: { half }, mapping });
    expect((await patch({ mapping: { more: "d", s0: null }, properties: { other: half, half: null } })).status).toBe(
      200,
    );
  });

  it.for([
    [{ name: null }, ["name"]],
    [{ suspended: null }, ["suspended"]],
    [{ new_user_group_id: null }, ["new_user_group_id"]],
    [{ mapping: { m: 7 } }, ["mapping", "m"]],
    [{ properties: [] }, ["properties"]],
    [{ other: 1 }, ["other"]],
  ] as const)("of %j is refused", async ([body, path]) => {
    const { patch } = await newPatched({});
    expect(await patch(body)).toMatchObject(invalid(...path));
  });

  it("is refused where a number or a key would not be kept", async () => {
    const { patch, shown } = await newPatched({ properties: { a: 1 } });
    for (const body of ['{"properties":{"n":12345678901234567890}}', '{"properties":{"a":2,"a":3}}'])
      expect(codeOf(await patch(body))).toEqual([422, "invalid_body"]);
    expect((await shown()).properties).toEqual({ a: 1 });
  });

  it("is refused by every other call, and renames only for admins", async () => {
    const { by, put } = await newPatched({});
    const refused = [415, "unsupported_media_type"];
    expect(codeOf(await by.rotate(1, { grace_seconds: 1 }, MERGE_PATCH))).toEqual(refused);
    expect(codeOf(await put({ user_group_id: "acme", name: "x" }, MERGE_PATCH))).toEqual(refused);
    const support = byNumber(await issueOperator("support"), IN_ACME);
    expect((await support.update(1, { properties: { a: 1 } }, MERGE_PATCH)).status).toBe(200);
    const renamed = await support.update(1, { new_user_group_id: "b" }, MERGE_PATCH);
    expect(codeOf(renamed)).toEqual([403, "insufficient_access"]);
  });
});
