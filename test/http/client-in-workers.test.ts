import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, expect, expectTypeOf, it, vi } from "vitest";
import {
  type ApiKey,
  type Caller,
  type EnsuredGroup,
  type EnvironmentClient,
  type GroupFields,
  type GroupState,
  type ListedEnvironment,
  type Operator,
  OperatorClient,
  type Role,
  type Scope,
  UserGroupClient,
  type ViewedGroup,
  ViewerClient,
} from "../../client/src/index.ts";
import type { Role as ServiceRole, Scope as ServiceScope } from "../../src/domain/credentials/rights.ts";
import type { UserGroupDraft } from "../../src/domain/user-groups/user-group.ts";
import type { ACCESS } from "../../src/http/access.ts";
import { app } from "../../src/http/app.ts";
import type { apiKeyBody } from "../../src/http/resources/api-keys/wire.ts";
import type { environmentBody } from "../../src/http/resources/environments/wire.ts";
import type { operatorBody } from "../../src/http/resources/operators/wire.ts";
import type { getBody, viewBody } from "../../src/http/resources/user-groups/wire.ts";
import type { apiKeyCaller, operatorCaller } from "../../src/http/resources/whoami/routes.ts";
import type { GroupState as ServiceGroupState } from "../../src/records.ts";
import { operator } from "../support/states.ts";

const url = "https://service.test";

/** Sends calls to the Worker. The request is made by this runtime, whose fetch supports fewer options than others. */
beforeEach(() => {
  vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) =>
    app.fetch(new Request(input, init) as Parameters<typeof app.fetch>[0], env, createExecutionContext()),
  );
});

/** The name that the client gives to a field of the wire. */
type ClientName<Name> = Name extends "provided_id"
  ? "userGroupId"
  : Name extends `${infer First}_${infer Rest}`
    ? `${First}${Capitalize<ClientName<Rest> & string>}`
    : Name;

it("has every field of a group that the wire has", () => {
  expectTypeOf<ClientName<keyof ReturnType<typeof viewBody>>>().toEqualTypeOf<keyof ViewedGroup>();
  expectTypeOf<ClientName<keyof ReturnType<typeof getBody>> | "etag">().toEqualTypeOf<keyof EnsuredGroup>();
  expectTypeOf<Exclude<keyof UserGroupDraft, "providedId">>().toEqualTypeOf<keyof GroupFields<object>>();
});

it("has every field of keys, operators, environments and callers that the wire has", () => {
  expectTypeOf<ClientName<keyof ReturnType<typeof apiKeyBody>>>().toEqualTypeOf<keyof ApiKey>();
  expectTypeOf<ClientName<keyof ReturnType<typeof operatorBody>>>().toEqualTypeOf<keyof Operator>();
  expectTypeOf<ClientName<keyof ReturnType<typeof environmentBody>>>().toEqualTypeOf<keyof ListedEnvironment>();
  type CallerFields = keyof ReturnType<typeof apiKeyCaller> | keyof ReturnType<typeof operatorCaller>;
  expectTypeOf<ClientName<CallerFields>>().toEqualTypeOf<keyof Caller>();
});

it("has every scope, role and state of the service", () => {
  expectTypeOf<Scope>().toEqualTypeOf<ServiceScope>();
  expectTypeOf<Role>().toEqualTypeOf<ServiceRole>();
  expectTypeOf<GroupState>().toEqualTypeOf<ServiceGroupState>();
});

type Method = keyof UserGroupClient | keyof OperatorClient | keyof EnvironmentClient | keyof ViewerClient;

/** The methods of the clients that make each call; none makes those that are empty. */
const METHODS: Record<keyof typeof ACCESS, Method[]> = {
  "GET /api/user": ["ensure"],
  "PUT /api/user": ["update", "suspend", "resume"],
  "POST /api/user": ["rotateToken"],
  "DELETE /api/user": ["remove"],
  "GET /api/user_groups": ["listPage", "list"],
  // GET /api/user under another name, for clients that send no body with a GET.
  "POST /api/user_groups": [],
  "GET /api/user_groups/:team_id": ["get"],
  "GET /api/user_groups/:team_id/events": ["historyPage", "history"],
  "PUT /api/user_groups/:team_id": ["updateByNumber", "mergeByNumber", "suspendByNumber", "resumeByNumber"],
  "DELETE /api/user_groups/:team_id": ["removeByNumber"],
  "POST /api/user_groups/:team_id/rotate": ["rotateTokenByNumber"],
  "POST /api/user_groups/:team_id/restore": ["restore"],
  "POST /api/user_groups/:team_id/purge": ["purge"],
  "GET /api/events": ["eventPage", "events", "latestEventCursor"],
  "GET /api/keys": ["keyPage", "listKeys"],
  "POST /api/keys": ["issueKey"],
  "DELETE /api/keys/:id": ["revokeKey"],
  "POST /api/keys/:id/roll": ["rollKey"],
  "GET /api/operators": ["operatorPage", "listOperators"],
  "POST /api/operators": ["issueOperator"],
  "DELETE /api/operators/:id": ["revokeOperator"],
  "POST /api/operators/:id/roll": ["rollOperator"],
  "POST /api/credentials/explain": ["explainCredential"],
  "GET /api/environments": ["environmentPage", "environments"],
  "DELETE /api/environments": ["eraseEnvironment"],
  // Pages of a backup are files, which `ug` writes and sends.
  "GET /api/backup": [],
  "POST /api/restore": [],
  "POST /api/viewer_sessions": ["mintSession"],
  "POST /api/viewer_sessions/end": ["endSessions"],
  "GET /api/whoami": ["whoami"],
  "GET /api/viewer": ["view"],
  // Gateways make it.
  "GET /api/viewer/check": [],
  "POST /api/viewer/query": ["bindQuery"],
};

it.for(Object.entries(METHODS))("has a method for %s", ([, methods]) => {
  const operatorClient = new OperatorClient({ url, operatorKey: operator });
  const clients: object[] = [
    operatorClient,
    operatorClient.inEnvironment({ workspace: "acme", environment: null }),
    new UserGroupClient({ url, apiKey: "ugk_" }),
    new ViewerClient({ url, token: "ugt_" }),
  ];
  for (const method of methods)
    expect(
      clients.some((client) => typeof Reflect.get(client, method) === "function"),
      method,
    ).toBe(true);
});

it("works in a Worker", async () => {
  const keys = new OperatorClient({ url, operatorKey: operator });
  const { key } = await keys.issueKey({ workspace: "acme", environment: null, name: "worker" });

  const groups = new UserGroupClient({ url, apiKey: key });
  const { created, group } = await groups.ensure({ userGroupId: "a", properties: { region: "eu" } });
  expect(created).toBe(true);
  const { token } = await groups.rotateToken({ currentToken: group.token });

  const { variables } = await new ViewerClient({ url, token }).view();
  expect(variables).toEqual({ user_group_id: "a", user_group_name: "a", "user_group.region": "eu" });

  await groups.remove({ currentToken: token });
  expect(await Array.fromAsync(keys.listKeys({ workspace: "acme", environment: null }))).toMatchObject([
    { id: 1, name: "worker" },
  ]);
});

it("gets the stale answer of a session in a Worker, whose fetch adds no-cache otherwise", async () => {
  const keys = new OperatorClient({ url, operatorKey: operator });
  const { key } = await keys.issueKey({ workspace: "acme", environment: null, name: "worker" });
  const groups = new UserGroupClient({ url, apiKey: key });
  const { group } = await groups.ensure({ userGroupId: "a", name: "Before" });
  const session = await groups.mintSession({ userGroupId: "a", maxStaleSeconds: 300 });
  await groups.update({ userGroupId: "a", name: "After" });
  const viewer = new ViewerClient({ url, session: async () => session });
  expect((await viewer.view()).group.name).toBe("Before");
  expect((await viewer.view({ maxAgeSeconds: 0 })).group.name).toBe("After");
  expect((await new ViewerClient({ url, token: group.token }).view()).group.name).toBe("After");
});
