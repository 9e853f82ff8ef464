import { describe, expect, it } from "vitest";
import {
  allowsRole,
  type LadderRole,
  ROLES,
  type Role,
  SCOPES,
  type Scope,
} from "../../src/domain/credentials/rights.ts";
import { ACCESS } from "../../src/http/access.ts";
import { call } from "../support/client.ts";
import { paths } from "../support/documented.ts";
import { operatorPath, ROUTES, type Route, type RouteName } from "../support/routes.ts";
import { sessionOf } from "../support/sessions.ts";
import { inEnvironment, issueKey, issueOperator, newIntegrator, operator } from "../support/states.ts";

/**
 * What each call needs, as the design has it: the scope of an API key, the role of an operator; and whether viewers, or operators with the
 * role `backup`, may make it.
 */
const DESIGN: Record<
  RouteName,
  [scope: Scope | "any" | null, role: LadderRole | null, ...others: ("viewers" | "backup")[]]
> = {
  "GET /api/user": ["groups:read", null],
  "PUT /api/user": ["groups:write", null],
  "POST /api/user": ["tokens:rotate", null],
  "DELETE /api/user": ["groups:delete", null],
  "GET /api/user_groups": ["groups:read", "viewer"],
  "POST /api/user_groups": ["groups:read", null],
  "GET /api/user_groups/:team_id": ["groups:read", "viewer"],
  "GET /api/user_groups/:team_id/events": ["events:read", "viewer"],
  "PUT /api/user_groups/:team_id": ["groups:write", "support"],
  "DELETE /api/user_groups/:team_id": ["groups:delete", "admin"],
  "POST /api/user_groups/:team_id/rotate": ["tokens:rotate", "support"],
  "POST /api/user_groups/:team_id/restore": ["groups:write", "support"],
  "POST /api/user_groups/:team_id/purge": ["groups:delete", "admin"],
  "GET /api/events": ["events:read", "viewer"],
  "GET /api/keys": [null, "viewer"],
  "POST /api/keys": [null, "admin"],
  "DELETE /api/keys/:id": [null, "admin"],
  "POST /api/keys/:id/roll": [null, "admin"],
  "GET /api/operators": [null, "viewer"],
  "POST /api/operators": [null, "admin"],
  "DELETE /api/operators/:id": [null, "admin"],
  "POST /api/operators/:id/roll": [null, "admin"],
  "POST /api/credentials/explain": [null, "viewer"],
  "GET /api/environments": [null, "viewer", "backup"],
  "DELETE /api/environments": [null, "admin"],
  "GET /api/backup": [null, "admin", "backup"],
  "POST /api/restore": [null, "admin"],
  "POST /api/viewer_sessions": ["sessions:create", null],
  "POST /api/viewer_sessions/end": ["sessions:create", "support"],
  "GET /api/whoami": ["any", "viewer", "viewers", "backup"],
  "GET /api/viewer": [null, null, "viewers"],
  "GET /api/viewer/check": [null, null, "viewers"],
  "POST /api/viewer/query": [null, null, "viewers"],
};

/** The credentials of the matrix: what each may do, and how a test gets one. */
type Holder = { name: string; scopes?: readonly Scope[]; role?: Role; isViewer?: true };

const HOLDERS: (Holder & { credential: (workspace: string, token: string) => Promise<string | undefined> })[] = [
  ...SCOPES.map((scope) => ({
    name: `an API key with ${scope}`,
    scopes: [scope],
    credential: (workspace: string) => issueKey({ workspace, scopes: [scope] }),
  })),
  {
    name: "an API key with read access",
    scopes: ["groups:read", "events:read"],
    credential: (workspace) => issueKey({ workspace, access: "read" }),
  },
  {
    name: "an API key with write access",
    scopes: SCOPES,
    credential: (workspace) => issueKey({ workspace, access: "write" }),
  },
  ...ROLES.map((role) => ({ name: `the role ${role}`, role, credential: () => issueOperator(role) })),
  { name: "the bootstrap token", role: "admin", credential: async () => operator },
  { name: "the token of a group", isViewer: true, credential: async (_, token) => token },
  {
    name: "a viewer session",
    isViewer: true,
    credential: async (workspace) => sessionOf(await issueKey({ workspace })),
  },
  { name: "no credential", credential: async () => undefined },
];

const ADMITTED = { admitted: true };
const UNAUTHENTICATED = { status: 401, error: { code: "unauthenticated" } };
const lacking = (what: object) => ({ status: 403, error: { code: "insufficient_access", ...what } });

/** What the design says of this call by this holder. */
function expected(route: Route, { scopes, role, isViewer }: Holder): object {
  const [neededScope, neededRole, ...others] = DESIGN[route.name];
  if (scopes && neededScope)
    return neededScope === "any" || scopes.includes(neededScope) ? ADMITTED : lacking({ required_scope: neededScope });
  if (role && neededRole)
    return allowsRole(role, neededRole) || others.some((other) => other === role)
      ? ADMITTED
      : lacking({ required_role: neededRole });
  return isViewer && others.includes("viewers") ? ADMITTED : UNAUTHENTICATED;
}

/** An environment in which a call can succeed: its group 1 and API key 1 are there, and an operator. */
async function newEnvironment(workspace: string) {
  const token = await (await newIntegrator({ workspace })).tokenOf("acme");
  await issueOperator("viewer");
  const { operators } = (await call("GET", "/api/operators", { credential: operator })).body;
  return { workspace, token, operatorId: operators.at(-1).id };
}

/** A function that sends a call of a holder to an environment. */
async function newCall(
  route: Route,
  holder: (typeof HOLDERS)[number],
  place: Awaited<ReturnType<typeof newEnvironment>>,
) {
  const { workspace, token, operatorId } = place;
  const credential = await holder.credential(workspace, token);
  const path = (holder.role ? operatorPath(route, workspace) : route.path)
    .replace("/operators/1", `/operators/${operatorId}`)
    .replace("audience=acme", `audience=${workspace}`);
  const body = route.body && "current_token" in route.body ? { ...route.body, current_token: token } : route.body;
  return async (spoil = {}) => {
    const answer = await call(route.method, path, { credential, body: body && { ...body, ...spoil } });
    const { message: _, ...error } = answer.body?.error ?? {};
    return answer.status < 300 ? ADMITTED : { status: answer.status, error };
  };
}

/** What a caller who may make the call learns of an invalid body. */
const INVALID = {
  status: 422,
  error: { code: "invalid_body", issues: [{ path: ["nonsense"], message: expect.any(String) }] },
};

// A restore takes no JSON; backup.test.ts has it.
const WITH_JSON = ROUTES.filter(({ name }) => name !== "POST /api/restore");

it.for(WITH_JSON)("$name is open to those whom the design names, and to no others", async (route) => {
  const ofRefused = await newEnvironment("refused");
  for (const [index, holder] of HOLDERS.entries()) {
    const outcome = expected(route, holder);
    const place = outcome === ADMITTED ? await newEnvironment(`admitted-${index}`) : ofRefused;
    const send = await newCall(route, holder, place);
    // Only a deleted group can be purged.
    if (outcome === ADMITTED && route.name.endsWith("/purge"))
      await call("DELETE", `/api/user_groups/1${inEnvironment(place.workspace)}`, { credential: operator });
    // A body is judged after its caller. A call without a body is not sent with an invalid one.
    const invalid = route.body && (await send({ nonsense: true }));
    expect([holder.name, invalid]).toEqual([holder.name, route.body && (outcome === ADMITTED ? INVALID : outcome)]);
    expect([holder.name, await send()]).toEqual([holder.name, outcome]);
  }
});

describe("the deployment's feed", () => {
  it.for(["viewer", "support", "admin"] as const)("is open to the role %s, and to no API key", async (role) => {
    await issueKey();
    const credential = await issueOperator(role);
    const { body } = await call("GET", "/api/events", { credential });
    expect(body.events).toMatchObject([{ type: "environment.created" }, { type: "operator.issued" }]);
    const own = await call("GET", "/api/events", { credential: await issueKey() });
    expect(JSON.stringify(own.body.events)).not.toMatch(/operator\.|environment\./);
  });
});

describe("the table of access", () => {
  const documented = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      name: `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ":$1")}`,
      path,
      operation: operation as typeof operation & { "x-scope"?: string; "x-role"?: string; "x-other-role"?: string },
    })),
  );

  it("is the one of the design", () => {
    const table = Object.fromEntries(
      ROUTES.map(({ name, access: { scope, role, isForViewers, isForBackups } }) => [
        name,
        [scope ?? null, role ?? null, ...(isForViewers ? ["viewers"] : []), ...(isForBackups ? ["backup"] : [])],
      ]),
    );
    expect(table).toEqual(DESIGN);
  });

  it("has the calls below /api that the document has, and no others", () => {
    const names = documented.filter(({ path }) => path.startsWith("/api/")).map(({ name }) => name);
    expect(names.toSorted()).toEqual(Object.keys(ACCESS).toSorted());
  });

  it("is what the document shows as x-scope, x-role and security", () => {
    for (const { name, operation } of documented) {
      const [scope = null, role = null, ...others] = DESIGN[name as RouteName] ?? [];
      expect({
        name,
        scope: operation["x-scope"] ?? null,
        role: operation["x-role"] ?? null,
        otherRole: operation["x-other-role"],
        security: operation.security,
      }).toEqual({
        name,
        scope: scope === "any" ? null : scope,
        role,
        otherRole: others.find((other) => other === "backup"),
        security: [
          ...(scope ? [{ api_key: [] }] : []),
          ...(role ? [{ operator_key: [] }] : []),
          ...(others.includes("viewers") ? [{ viewer_session: [] }, { user_group_token: [] }] : []),
        ],
      });
    }
  });
});
