import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { version } from "../../../../package.json";
import { REGISTRY_NAME } from "../../../../src/domain/placement.ts";
import { backUp, restorePage, wipe } from "../../../support/backups.ts";
import { call, codeOf } from "../../../support/client.ts";
import { logLines } from "../../../support/each-test.ts";
import { issueOperator, newIntegrator, operator } from "../../../support/states.ts";
import { watchedEnv } from "../../../support/watched-env.ts";

const registry = () => env.REGISTRY.getByName(REGISTRY_NAME) as DurableObjectStub;
/** An environment of its own, so that no earlier answer is remembered. */
const ask = (fields: Partial<Env> = {}, method = "GET") =>
  call(method, "/ready", { env: { ...env, ...fields } as Env });
const failedOf = async (fields: Partial<Env> = {}) => {
  const { status, body } = await ask(fields);
  return [status, body.error.code, body.error.failed];
};

describe("GET /ready", () => {
  it("answers without a credential, also before anything is there", async () => {
    const ready = { success: 1, ready: true, version, jurisdiction: null };
    expect(await ask()).toMatchObject({ status: 200, body: ready });
    await newIntegrator();
    await issueOperator("viewer");
    expect(await ask()).toMatchObject({ status: 200, body: ready });
    expect((await ask({}, "HEAD")).status).toBe(200);
  });

  it("names settings that cannot be read, which the log explains", async () => {
    for (const [fields, sentence] of [
      [{ SIGNING_KEYS: "k1:short" }, "SIGNING_KEYS cannot be read: entry 1"],
      [{ JURISDICTION: "fr" }, "JURISDICTION cannot be read: it is neither eu nor us"],
    ] as const) {
      expect(await failedOf(fields)).toEqual([503, "not_ready", ["settings"]]);
      expect(logLines.at(-1)).toMatchObject({
        level: "error",
        path: "/ready",
        problem: expect.stringContaining(sentence),
      });
      const other = await call("GET", "/api/operators", { credential: operator, env: { ...env, ...fields } as Env });
      expect(codeOf(other)).toEqual([503, "service_not_configured"]);
    }
  });

  it("names a registry whose schema is of a later release", async () => {
    await newIntegrator();
    const sql = "UPDATE migrations SET level = 99 WHERE level = (SELECT max(level) FROM migrations)";
    await runInDurableObject(registry(), (_, { storage }) => void storage.sql.exec(sql));
    await evictDurableObject(registry());
    expect(await failedOf()).toEqual([503, "not_ready", ["schema"]]);
    expect(logLines.at(-1)?.problem).toMatch(/Unknown schema/);
  });

  it.for(["environments", "operators", "events", "tombstones", "console_sessions"])(
    "names a registry that has lost its table %s while it ran",
    async (table) => {
      await newIntegrator();
      await runInDurableObject(registry(), (_, { storage }) => void storage.sql.exec(`DROP TABLE ${table}`));
      expect(await failedOf()).toEqual([503, "not_ready", ["schema"]]);
      expect(logLines.at(-1)?.problem).toMatch(/no such table/);
    },
  );

  it("names a registry that is being restored", async () => {
    await newIntegrator();
    const [page = ""] = await backUp("");
    await wipe(REGISTRY_NAME);
    const [header = ""] = page.split("\n");
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(`${header}\n`));
    const last = { kind: "page", number: 1, next_cursor: "x", sha256: new Uint8Array(digest).toHex() };
    expect((await restorePage(`${header}\n${JSON.stringify(last)}\n`, "", "unsigned=true")).body.done).toBe(false);
    expect(await failedOf()).toEqual([503, "not_ready", ["restoring"]]);
  });

  it("names a registry that cannot be reached", async () => {
    const unreachable = {
      getByName: () => ({
        checkStorage: () => Promise.reject(Object.assign(new Error("The machine has stopped."), { overloaded: true })),
        probeDisk: () => Promise.resolve(),
      }),
    };
    expect(await failedOf({ REGISTRY: unreachable as unknown as Env["REGISTRY"] })).toEqual([
      503,
      "not_ready",
      ["registry"],
    ]);
  });

  describe("asked often", () => {
    beforeEach(() => void vi.useFakeTimers({ now: Date.now(), toFake: ["Date"] }));
    afterEach(() => void vi.useRealTimers());

    it("asks the registry every 5 seconds, for all callers together", async () => {
      const { watched, costs } = watchedEnv();
      for (let n = 0; n < 20; n += 1) expect((await call("GET", "/ready", { env: watched })).status).toBe(200);
      expect(costs.rpcs).toEqual(["registry.checkStorage"]);
      vi.setSystemTime(Date.now() + 5_000);
      await Promise.all(Array.from({ length: 20 }, () => call("GET", "/ready", { env: watched })));
      expect(costs.rpcs).toEqual(["registry.checkStorage", "registry.checkStorage"]);
    });
  });
});

/** Namespaces that record the jurisdiction by which each object is asked for: workerd itself has none. */
function placedEnv(JURISDICTION: string) {
  const asked: string[] = [];
  const namespace = (name: string, real: { getByName: (name: string) => unknown }) => ({
    getByName: (object: string) => {
      asked.push(`${name} without a jurisdiction`);
      return real.getByName(object);
    },
    jurisdiction: (jurisdiction: string) => ({
      getByName: (object: string) => {
        asked.push(`${name} in ${jurisdiction}`);
        return real.getByName(object);
      },
    }),
  });
  const placed = {
    ...env,
    JURISDICTION,
    GROUP_DIRECTORY: namespace("directory", env.GROUP_DIRECTORY),
    REGISTRY: namespace("registry", env.REGISTRY),
  } as unknown as Env;
  return { placed, asked };
}

describe("JURISDICTION", () => {
  it.for(["eu", "us"])("%s is where every Durable Object of the deployment is", async (jurisdiction) => {
    const { placed, asked } = placedEnv(jurisdiction);
    const { key, tokenOf } = await newIntegrator({}, placed);
    const token = await tokenOf("acme");
    await call("GET", "/api/user_groups", { credential: key, env: placed });
    await call("GET", "/api/viewer", { credential: token, env: placed });
    await call("GET", "/api/environments", { credential: operator, env: placed });
    const { body } = await call("GET", "/ready", { env: placed });
    expect(body.jurisdiction).toBe(jurisdiction);
    expect(new Set(asked)).toEqual(new Set([`directory in ${jurisdiction}`, `registry in ${jurisdiction}`]));
  });
});
