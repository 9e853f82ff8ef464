import { evictDurableObject, listDurableObjectIds } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { REGISTRY_NAME } from "../../../../src/domain/placement.ts";
import { type Answer, call, codeOf, invalid } from "../../../support/client.ts";
import { operatorPath, ROUTES } from "../../../support/routes.ts";
import { inEnvironment, issueKey, issueOperator, newIntegrator, operator } from "../../../support/states.ts";

const NOW = new Date("2026-03-01T10:30:00.000Z");

const list = (query = "", credential = operator): Promise<Answer> =>
  call("GET", `/api/environments${query}`, { credential });
const listed = async () => (await list()).body.environments;
const issue = (fields: object = {}, callEnv = env) =>
  call("POST", "/api/keys", {
    credential: operator,
    body: { workspace: "acme", environment: "Testing", name: "backend", ...fields },
    env: callEnv,
  });

/** The environment, in which directories fail at `methods`, and the options with which the Worker asks for directories. */
function brokenEnv(...methods: string[]) {
  const placements: [name: string, options: object | undefined][] = [];
  const getByName = (name: string, options?: DurableObjectNamespaceGetDurableObjectOptions) => {
    placements.push([name, options]);
    const stub = env.GROUP_DIRECTORY.getByName(name, options);
    return new Proxy(stub, {
      get: (_, method) =>
        methods.includes(String(method))
          ? () => Promise.reject(new Error("The machine has stopped."))
          : Reflect.get(stub, method),
    });
  };
  return { placements, callEnv: { ...env, GROUP_DIRECTORY: { getByName } } as unknown as Env };
}

describe("GET /api/environments", () => {
  it("lists every environment that has had a key, oldest first", async () => {
    vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
    await issue({ environment: null, location: "weur" });
    await issue({ environment: "Customer" });
    await issue({ environment: "Customer", name: "a second key" });
    vi.setSystemTime(NOW.getTime() + 1000);
    await issue({ workspace: "beta" });
    for (const credential of [operator, await issueOperator("viewer")])
      expect((await list("", credential)).body).toEqual({
        success: 1,
        environments: [
          { workspace: "acme", environment: null, location: "weur", created_at: "2026-03-01T10:30:00.000Z" },
          { workspace: "acme", environment: "Customer", location: null, created_at: "2026-03-01T10:30:00.000Z" },
          { workspace: "beta", environment: "Testing", location: null, created_at: "2026-03-01T10:30:01.000Z" },
        ],
        next_cursor: null,
      });
  });

  it("is empty where there is none, and after a refused issue", async () => {
    const nothing = { success: 1, environments: [], next_cursor: null };
    expect((await list()).body).toEqual(nothing);
    for (const fields of [{ name: "" }, { workspace: "A" }, { environment: "untagged" }, { scopes: [] }])
      expect((await issue(fields)).status).toBe(422);
    expect((await list()).body).toEqual(nothing);
  });

  it("keeps the environments when the registry is evicted", async () => {
    await issue();
    const before = await listed();
    await evictDurableObject(env.REGISTRY.getByName(REGISTRY_NAME));
    expect(await listed()).toEqual(before);
  });
});

describe("an environment is recorded before its first key is issued", () => {
  it("so a crash in between leaves it listed, without keys", async () => {
    const { callEnv } = brokenEnv("issueKey");
    expect((await issue({}, callEnv)).status).toBe(500);
    expect(await listed()).toMatchObject([{ workspace: "acme", environment: "Testing" }]);
    const keys = await call("GET", `/api/keys${inEnvironment()}`, { credential: operator });
    expect(keys.body).toEqual({ success: 1, api_keys: [], next_cursor: null });
    for (const path of ["/api/user_groups", "/api/user_groups/1", "/api/events"])
      expect(codeOf(await call("GET", path + inEnvironment(), { credential: operator }))).toEqual([
        404,
        "environment_not_found",
      ]);
  });

  it("and issuing again repairs it, with one record", async () => {
    const { callEnv } = brokenEnv("issueKey");
    for (const _ of [1, 2]) await issue({}, callEnv);
    expect((await issue()).body.api_key).toMatchObject({ id: 1 });
    expect(await listed()).toHaveLength(1);
    const feed = await call("GET", "/api/events", { credential: operator });
    expect(feed.body.events).toMatchObject([{ id: 1, type: "environment.created" }]);
  });

  it("and no key is issued where it cannot be recorded", async () => {
    const registry = new Proxy(env.REGISTRY.getByName(REGISTRY_NAME), {
      get: (stub, method) =>
        method === "recordEnvironment" ? () => Promise.reject(new Error("no")) : Reflect.get(stub, method),
    });
    const callEnv = { ...env, REGISTRY: { getByName: () => registry } } as unknown as Env;
    expect((await issue({}, callEnv)).status).toBe(500);
    expect((await issue()).body.api_key.id).toBe(1);
  });

  it("and once, however many first keys are issued at once", async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => issue()));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201));
    expect(await listed()).toHaveLength(1);
  });
});

describe("the location of an environment", () => {
  const MESSAGE = "This environment exists already, and stays where it is. Leave the location out.";
  const LOCATION_REFUSED = [{ path: ["location"], message: MESSAGE }];

  it.for(["wnam", "enam", "sam", "weur", "eeur", "apac", "oc", "afr", "me"])(
    "places the directory at the first key: %s",
    async (location) => {
      const { placements, callEnv } = brokenEnv();
      expect((await issue({ location }, callEnv)).status).toBe(201);
      expect(placements).toEqual([["acme/Testing", { locationHint: location }]]);
      expect(await listed()).toMatchObject([{ location }]);
    },
  );

  it.for(["WEUR", "eu", "", null, ["weur"]])("is none that the platform does not know: %j", async (location) => {
    expect(await issue({ location })).toMatchObject(invalid("location"));
    expect(await listed()).toEqual([]);
  });

  it.for([
    ["another", "weur", "enam"],
    ["the same", "weur", "weur"],
    ["one where there was none", undefined, "weur"],
  ] as const)("cannot be given with a later key: %s", async ([, first, later]) => {
    await issue({ location: first });
    await call("DELETE", `/api/keys/1${inEnvironment()}`, { credential: operator });
    expect((await issue({ location: later })).body.error.issues).toEqual(LOCATION_REFUSED);
    expect((await issue()).body.api_key.id).toBe(2);
    expect(await listed()).toMatchObject([{ location: first ?? null }]);
  });

  it.for(["weur", undefined])("stays as it was recorded when the first key is issued again: %s", async (again) => {
    await issue({ location: "weur" }, brokenEnv("issueKey").callEnv);
    for (const location of ["enam", "apac"])
      expect((await issue({ location })).body.error.issues).toEqual(LOCATION_REFUSED);
    const { placements, callEnv } = brokenEnv();
    expect((await issue({ location: again }, callEnv)).status).toBe(201);
    expect(new Set(placements.map(([, options]) => JSON.stringify(options)))).toEqual(
      new Set([JSON.stringify({ locationHint: "weur" })]),
    );
    expect(await listed()).toMatchObject([{ location: "weur" }]);
  });

  it("cannot be given after a crash where none was recorded", async () => {
    await issue({}, brokenEnv("issueKey").callEnv);
    expect((await issue({ location: "weur" })).status).toBe(422);
    expect((await issue()).status).toBe(201);
  });
});

describe("an operator names an environment", () => {
  const CALLS = ROUTES.filter(({ access }) => access.environmentQuery !== undefined);

  it.for([
    ["?environment=Testing", "workspace"],
    ["?workspace=acme", "environment"],
    ["?workspace=acme&environment=", "environment"],
    ["?workspace=acme&environment=null", "environment"],
    ["?workspace=acme&environment=testing", "environment"],
    ["?workspace=ACME&environment=Testing", "workspace"],
    ["?workspace=acme%2FTesting&environment=Testing", "workspace"],
    ["?workspace=%ff&environment=Testing", "workspace"],
    [`${inEnvironment()}&workspace=acme`, "workspace"],
    [`${inEnvironment()}&environment=Customer`, "environment"],
    [`${inEnvironment()}&%65nvironment=Customer`, "environment"],
  ] as const)("exactly: %s is 422 at every call", async ([query, path]) => {
    const { tokenOf } = await newIntegrator();
    await tokenOf("acme");
    for (const route of CALLS) {
      const answer = await call(route.method, route.path + query, { credential: operator, body: route.body });
      expect(answer).toMatchObject({ status: 422, body: { error: { code: "invalid_body" } } });
      expect(answer.body.error.issues.map((issued: { path: string[] }) => issued.path[0])).toContain(path);
    }
    expect((await call("GET", `/api/user_groups/1${inEnvironment()}`, { credential: operator })).status).toBe(200);
  });

  it("or must, unless the call is about the deployment", async () => {
    await newIntegrator();
    for (const route of CALLS.filter(({ access }) => access.environmentQuery === "required")) {
      const answer = await call(route.method, route.path, { credential: operator, body: route.body });
      expect(answer.body.error).toMatchObject({
        code: "invalid_body",
        issues: [{ path: ["workspace"] }, { path: ["environment"] }],
      });
    }
    expect((await call("GET", "/api/events", { credential: operator })).status).toBe(200);
  });

  it("and sees no other", async () => {
    for (const environment of ["Testing", "Customer"]) {
      const { tokenOf } = await newIntegrator({ environment });
      await tokenOf(environment);
    }
    const change = { credential: operator, body: { name: "changed" } };
    expect((await call("PUT", `/api/user_groups/1${inEnvironment("acme", "Customer")}`, change)).status).toBe(200);
    const { body } = await call("GET", `/api/user_groups${inEnvironment()}`, { credential: operator });
    expect(body.user_groups).toMatchObject([{ provided_id: "Testing", name: "Testing" }]);
    expect(body.user_groups).toHaveLength(1);
  });

  it("and one that is unknown is 404 at every call, and creates nothing", async () => {
    await issueKey();
    const admin = await issueOperator("admin");
    const before = await listDurableObjectIds(env.GROUP_DIRECTORY);
    // A restore begins in an environment that need not be there yet.
    for (const credential of [operator, admin])
      for (const route of CALLS.filter(({ name }) => name !== "POST /api/restore")) {
        const path = operatorPath(route, "never-recorded");
        expect(codeOf(await call(route.method, path, { credential, body: route.body }))).toEqual([
          404,
          "environment_not_found",
        ]);
      }
    expect(await listDurableObjectIds(env.GROUP_DIRECTORY)).toHaveLength(before.length);
    expect(await listed()).toHaveLength(1);
  });

  it("after the role is judged, so that a viewer learns of none", async () => {
    await issueKey();
    const viewer = await issueOperator("viewer");
    for (const workspace of ["acme", "never-recorded", "NO SLUG"]) {
      const path = `/api/user_groups/1${inEnvironment(encodeURIComponent(workspace))}`;
      expect(codeOf(await call("DELETE", path, { credential: viewer }))).toEqual([403, "insufficient_access"]);
    }
  });
});

describe("an API key names no environment", () => {
  const CALLS = ROUTES.filter(({ access }) => access.scope);

  it.for([
    [inEnvironment(), ["workspace", "environment"]],
    ["?workspace=acme", ["workspace"]],
    ["?environment=Customer", ["environment"]],
    ["?%77orkspace=acme", ["workspace"]],
    ["?workspace=", ["workspace"]],
  ] as const)("%s is 422 at every call", async ([query, paths]) => {
    const { key, tokenOf } = await newIntegrator();
    await tokenOf("acme");
    for (const { method, path, body } of CALLS) {
      const answer = await call(method, path + query, { credential: key, body });
      expect(codeOf(answer)).toEqual([422, "invalid_body"]);
      expect(answer.body.error.issues).toEqual(
        paths.map((each) => ({ path: [each], message: expect.stringContaining("only operators name an environment") })),
      );
    }
    const { body } = await call("GET", "/api/user_groups", { credential: key });
    expect(body.user_groups).toMatchObject([{ provided_id: "acme", name: "acme" }]);
  });

  it("and only a key that may make the call learns so", async () => {
    await issueKey({ access: "write" });
    const [revoked, minter, reader] = [
      await issueKey(),
      await issueKey({ scopes: ["sessions:create"] }),
      await issueKey({ scopes: ["events:read"] }),
    ];
    await call("DELETE", `/api/keys/2${inEnvironment()}`, { credential: operator });
    for (const { name, method, path, body, access } of CALLS) {
      const codes = async (credential: string) =>
        codeOf(await call(method, path + inEnvironment(), { credential, body }));
      expect([name, await codes(revoked)]).toEqual([name, [401, "credential_revoked"]]);
      const expected = access.scope === "any" ? [422, "invalid_body"] : [403, "insufficient_access"];
      const narrow = access.scope === "sessions:create" ? reader : minter;
      expect([name, await codes(narrow)]).toEqual([name, expected]);
    }
  });
});
