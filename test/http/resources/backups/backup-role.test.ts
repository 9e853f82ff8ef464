import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, it } from "vitest";
import { REGISTRY_NAME } from "../../../../src/domain/placement.ts";
import { backupPage, OF_ACME } from "../../../support/backups.ts";
import { call, codeOf } from "../../../support/client.ts";
import { signIn, visit } from "../../../support/console.ts";
import { issueOperator, newIntegrator, operator } from "../../../support/states.ts";

// access.test.ts tries every call of the API with this role.
describe("an operator with the role backup", () => {
  it("lists environments, and takes the backup of each and of the registry", async ({ expect }) => {
    await newIntegrator();
    const key = await issueOperator("backup");
    const { environments } = (await call("GET", "/api/environments", { credential: key })).body;
    expect(environments).toMatchObject([{ workspace: "acme", environment: "Testing" }]);
    expect((await backupPage(OF_ACME, undefined, key)).status).toBe(200);
    expect((await backupPage("", undefined, key)).status).toBe(200);
    const { caller } = (await call("GET", "/api/whoami", { credential: key })).body;
    expect(caller).toMatchObject({ kind: "operator", role: "backup" });
  });

  it("restores nothing, and reads no group, event, key or operator", async ({ expect }) => {
    await newIntegrator();
    const credential = await issueOperator("backup");
    for (const path of ["/api/operators", "/api/events", `/api/keys${OF_ACME}`, `/api/user_groups${OF_ACME}`])
      expect(codeOf(await call("GET", path, { credential }))).toEqual([403, "insufficient_access"]);
    const page = { credential, body: "x\n", headers: { "Content-Type": "application/x-ndjson" } };
    expect(codeOf(await call("POST", `/api/restore${OF_ACME}`, page))).toEqual([403, "insufficient_access"]);
  });

  it("is listed, keeps its role when its key is rolled, and can be revoked", async ({ expect }) => {
    const key = await issueOperator("backup");
    const { operators } = (await call("GET", "/api/operators", { credential: operator })).body;
    expect(operators).toMatchObject([{ id: 1, role: "backup" }]);
    const rolled = await call("POST", "/api/operators/1/roll", { credential: operator, body: {} });
    expect(rolled.body.operator).toMatchObject({ id: 2, role: "backup" });
    expect(codeOf(await backupPage("", undefined, key))).toEqual([401, "credential_revoked"]);
    expect((await backupPage("", undefined, rolled.body.key)).status).toBe(200);
    await call("DELETE", "/api/operators/2", { credential: operator });
    expect(codeOf(await backupPage("", undefined, rolled.body.key))).toEqual([401, "credential_revoked"]);
  });

  it("cannot sign in to the console, which says why", async ({ expect }) => {
    const key = await issueOperator("backup");
    const { status, body, headers } = await visit("POST", "/console/sign-in", { fields: { operator_key: key } });
    expect([status, headers.get("Set-Cookie")]).toEqual([401, null]);
    expect(body).toContain("This key has the role backup");
  });

  it("sees no page with a console session that another release has started", async ({ expect }) => {
    const { get } = await signIn(await issueOperator("viewer"));
    const registry = env.REGISTRY.getByName(REGISTRY_NAME);
    await runInDurableObject(registry, (_, { storage }) => storage.sql.exec("UPDATE operators SET rights = 'backup'"));
    await evictDurableObject(registry);
    for (const page of ["/console/environments", "/console/operators", "/console/sessions"])
      expect((await get(page)).status).toBe(403);
  });

  it("is offered by the console's form for operators", async ({ expect }) => {
    const key = await issueOperator("admin");
    const { get, send } = await signIn(key);
    expect((await get("/console/operators/issue")).body).toContain('<option value="backup"');
    const issued = await send("/console/operators/issue", { name: "nightly", role: "backup", operator_key: key });
    expect(issued.status).toBe(200);
    expect((await get("/console/operators")).body).toContain("backup");
  });
});
