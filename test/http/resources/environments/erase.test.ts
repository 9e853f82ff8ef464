import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { GroupDirectory } from "../../../../src/domain/group-directory.ts";
import { REGISTRY_NAME } from "../../../../src/domain/placement.ts";
import { backUp, OF_ACME, restore, restorePage, wipe } from "../../../support/backups.ts";
import { byNumber } from "../../../support/by-number.ts";
import { type Answer, call, codeOf } from "../../../support/client.ts";
import { NOW } from "../../../support/clock.ts";
import { sessionOf } from "../../../support/sessions.ts";
import { inEnvironment, issueKey, newIntegrator, operator } from "../../../support/states.ts";
import { answeredBy, view } from "../../../support/viewers.ts";

const ACME = "acme/Testing";
const NOT_FOUND = [404, "environment_not_found"];

const erase = (confirm = ACME, { query = OF_ACME, body = {} } = {}): Promise<Answer> =>
  call("DELETE", `/api/environments${query}${confirm === "" ? "" : `&confirm=${confirm}`}`, {
    credential: operator,
    body,
  });

const listed = async () =>
  (await call("GET", "/api/environments", { credential: operator })).body.environments.map(
    ({ workspace, environment }: { workspace: string; environment: string | null }) => `${workspace}/${environment}`,
  );

const erasedEvents = async () =>
  (await call("GET", "/api/events?type=environment.erased", { credential: operator })).body.events;

/** What the storage of a directory has, and whether an alarm is set. */
const storageOf = (name: string) =>
  runInDurableObject(env.GROUP_DIRECTORY.getByName(name) as DurableObjectStub, async (_, { storage }) => ({
    tables: storage.sql
      .exec("SELECT name FROM sqlite_master WHERE name NOT LIKE '\\_cf%' ESCAPE '\\'")
      .toArray()
      .map(({ name: table }) => table),
    alarm: await storage.getAlarm(),
  }));

const runRegistryAlarm = () => runDurableObjectAlarm(env.REGISTRY.getByName(REGISTRY_NAME) as DurableObjectStub);

/** Lets the next erasing of a directory fail before it has deleted anything, as a crash does. */
const failOnce = () =>
  vi.spyOn(GroupDirectory.prototype, "erase").mockRejectedValueOnce(new Error("The machine has stopped."));

describe("DELETE /api/environments", () => {
  it("deletes everything, and refuses each credential at once", async () => {
    const { key, tokenOf } = await newIntegrator();
    const token = await tokenOf("acme");
    const session = await sessionOf(key, { viewer_id: "ann" });
    await newIntegrator({ workspace: "globex" });
    const erased = await erase(ACME, { body: { reason: "contract ended" } });
    expect([erased.status, erased.body]).toEqual([200, { success: 1 }]);

    expect(codeOf(await call("GET", "/api/user_groups", { credential: key }))).toEqual([401, "unauthenticated"]);
    for (const viewer of [token, session]) expect(codeOf(await view(viewer))).toEqual([401, "credential_revoked"]);
    expect(codeOf(await call("GET", `/api/keys${OF_ACME}`, { credential: operator }))).toEqual(NOT_FOUND);
    expect(await storageOf(ACME)).toEqual({ tables: [], alarm: null });
    expect(await listed()).toEqual(["globex/Testing"]);
    expect(await erasedEvents()).toMatchObject([
      {
        actor: { kind: "operator", name: "bootstrap" },
        environment: { workspace: "acme", environment: "Testing" },
        reason: "contract ended",
      },
    ]);
    expect(codeOf(await erase())).toEqual(NOT_FOUND);
  });

  it("leaves a session its stale answers, for so many seconds from its mint on", async () => {
    vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
    const { key, tokenOf } = await newIntegrator();
    await tokenOf("acme");
    const session = await sessionOf(key, { max_stale_seconds: 300, expires_in_seconds: 3600 });
    vi.setSystemTime(NOW.getTime() + 100_000);
    await erase();
    vi.setSystemTime(NOW.getTime() + 300_000);
    expect(answeredBy(await view(session))).toBe("session");
    expect(codeOf(await view(session, { "Cache-Control": "no-cache" }))).toEqual([401, "credential_revoked"]);
    vi.setSystemTime(NOW.getTime() + 301_000);
    expect(codeOf(await view(session))).toEqual([401, "credential_revoked"]);
  });

  it("frees the name, for which no old credential works", async () => {
    const { key, tokenOf } = await newIntegrator();
    const token = await tokenOf("acme");
    await erase();
    const second = await newIntegrator();
    await second.tokenOf("acme");
    expect((await call("GET", "/api/user_groups", { credential: key })).status).toBe(401);
    expect(codeOf(await view(token))).toEqual([401, "credential_revoked"]);
  });

  it("erases nothing without the right confirmation, and names what to give", async () => {
    const { key } = await newIntegrator();
    for (const confirm of ["", "acme", "acme/testing", "acme/Customer", "acme/Testing/"]) {
      const { status, body } = await erase(confirm);
      expect([status, body.error.code, body.error.issues[0].path]).toEqual([422, "invalid_body", ["confirm"]]);
    }
    expect((await erase("acme")).body.error.issues[0].message).toContain("acme/Testing");
    expect((await call("GET", "/api/user_groups", { credential: key })).status).toBe(200);
  });

  it("names the environment without a tag untagged", async () => {
    await newIntegrator({ environment: null });
    expect((await erase("acme/untagged", { query: inEnvironment("acme", "untagged") })).status).toBe(200);
  });

  it("erases an environment that is being restored", async () => {
    await newIntegrator();
    const [page = ""] = await backUp();
    await wipe(ACME);
    const lines = page.split("\n").slice(0, 1);
    const digest = new Uint8Array(
      await crypto.subtle.digest("SHA-256", new TextEncoder().encode(`${lines[0]}\n`)),
    ).toHex();
    const begun = `${lines[0]}\n${JSON.stringify({ kind: "page", number: 1, next_cursor: "x", sha256: digest })}\n`;
    expect((await restorePage(begun, OF_ACME, "unsigned=true")).body).toEqual({ success: 1, page: 1, done: false });
    expect((await erase()).status).toBe(200);
    expect(await storageOf(ACME)).toEqual({ tables: [], alarm: null });
    expect((await restore([page])).body.done).toBe(true);
  });

  it("keeps groups purged that were purged just before", async () => {
    const { key, tokenOf } = await newIntegrator();
    const by = byNumber(key);
    const token = await tokenOf("purged");
    const kept = await tokenOf("kept");
    const pages = await backUp();
    await by.remove(1);
    await by.purge(1);
    await erase();
    expect((await restore(pages)).body.done).toBe(true);
    expect(codeOf(await view(token))).toEqual([401, "credential_revoked"]);
    expect((await view(kept)).status).toBe(200);
  });
});

describe("an erasing that was interrupted", () => {
  it("is finished by the same call", async () => {
    const { key } = await newIntegrator();
    failOnce();
    expect((await erase()).status).toBeGreaterThanOrEqual(500);
    expect(await listed()).toEqual([]);
    expect((await erase()).status).toBe(200);
    expect(codeOf(await call("GET", "/api/user_groups", { credential: key }))).toEqual([401, "unauthenticated"]);
    expect(await erasedEvents()).toHaveLength(1);
  });

  it("is finished by the alarm, also at its second try", async () => {
    await newIntegrator();
    failOnce();
    await erase();
    failOnce();
    expect(await runRegistryAlarm()).toBe(true);
    expect((await storageOf(ACME)).tables).not.toEqual([]);
    expect(await runRegistryAlarm()).toBe(true);
    expect(await storageOf(ACME)).toEqual({ tables: [], alarm: null });
    expect(codeOf(await erase())).toEqual(NOT_FOUND);
  });

  it("is tried again ten seconds after the alarm has failed", async () => {
    vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
    await newIntegrator();
    failOnce();
    await erase();
    vi.setSystemTime(NOW.getTime() + 60_000);
    failOnce();
    await runRegistryAlarm();
    const registry = env.REGISTRY.getByName(REGISTRY_NAME) as DurableObjectStub;
    const alarmAt = await runInDurableObject(registry, (_, { storage }) => storage.getAlarm());
    expect(alarmAt).toBe(NOW.getTime() + 70_000);
  });

  it("is finished before the name gets a new key", async () => {
    const { key } = await newIntegrator();
    failOnce();
    await erase();
    const next = await issueKey();
    expect((await call("GET", "/api/user_groups", { credential: next })).body.user_groups).toEqual([]);
    expect((await call("GET", "/api/user_groups", { credential: key })).status).toBe(401);
    await runRegistryAlarm();
    expect((await call("GET", "/api/user_groups", { credential: next })).status).toBe(200);
  });

  it("leaves nothing of the environment to keys that are issued at the same time", async () => {
    const { tokenOf } = await newIntegrator();
    await tokenOf("acme");
    const [erased, key] = await Promise.all([erase(), issueKey().catch(() => undefined), erase()]);
    expect(erased?.status).toBe(200);
    if (key) await erase();
    expect(await storageOf(ACME)).toEqual({ tables: [], alarm: null });
  });
});
