import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { REGISTRY_NAME } from "../../../../src/domain/placement.ts";
import { signIn, visit } from "../../../support/console.ts";
import { issueOperator } from "../../../support/states.ts";

// access.test.ts tries every call of the API with this role.
describe("an operator with the role backup", () => {
  it("cannot sign in to the console, which says why", async () => {
    const key = await issueOperator("backup");
    const { status, body, headers } = await visit("POST", "/console/sign-in", { fields: { operator_key: key } });
    expect([status, headers.get("Set-Cookie")]).toEqual([401, null]);
    expect(body).toContain("This key has the role backup");
  });

  it("sees no page with a console session that another release has started", async () => {
    const { get } = await signIn(await issueOperator("viewer"));
    const registry = env.REGISTRY.getByName(REGISTRY_NAME);
    await runInDurableObject(registry, (_, { storage }) => storage.sql.exec("UPDATE operators SET rights = 'backup'"));
    await evictDurableObject(registry);
    for (const page of ["/console/environments", "/console/operators", "/console/sessions"])
      expect((await get(page)).status).toBe(403);
  });

  it("is offered by the console's form for operators", async () => {
    const key = await issueOperator("admin");
    const { get, send } = await signIn(key);
    expect((await get("/console/operators/issue")).body).toContain('<option value="backup"');
    const issued = await send("/console/operators/issue", { name: "nightly", role: "backup", operator_key: key });
    expect(issued.status).toBe(200);
    expect((await get("/console/operators")).body).toContain("backup");
  });
});
