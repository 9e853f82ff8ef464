import { env } from "cloudflare:workers";
import { expect, vi } from "vitest";
import type { Role } from "../../src/domain/credentials/rights.ts";
import { type Answer, type CallOptions, call } from "./client.ts";
import { STALE, view } from "./viewers.ts";

/** The states that tests start from, each reached through the API as a user would. */

/** The bootstrap token. */
export const operator = env.OPERATOR_TOKEN;

/** Names an environment in a query, as an operator does. */
export const inEnvironment = (workspace = "acme", environment = "Testing"): string =>
  `?workspace=${workspace}&environment=${environment}`;

/** Issues the key of an operator with this role, named after it unless the fields say otherwise. */
export async function issueOperator(role: Role, fields: object = {}, callEnv: Env = env): Promise<string> {
  const body = { name: role, role, ...fields };
  const answer = await call("POST", "/api/operators", { credential: operator, body, env: callEnv });
  expect(answer).toMatchObject({ status: 201 });
  return answer.body.key;
}

/** Issues an API key; without fields it is one of workspace acme, environment Testing. */
export async function issueKey(fields: object = {}): Promise<string> {
  const body = { workspace: "acme", environment: "Testing", name: "backend", ...fields };
  const answer = await call("POST", "/api/keys", { credential: operator, body });
  expect(answer).toMatchObject({ status: 201 });
  return answer.body.key;
}

/** The options of a call that is repeated under this `Idempotency-Key`. */
export const withKey = (key: string) => ({ headers: { "Idempotency-Key": key } });

/** An integrator: its API key, and the four calls with it. */
export type Integrator = {
  key: string;
  get: (body: object | string, options?: CallOptions) => Promise<Answer>;
  put: (body: object | string, options?: CallOptions) => Promise<Answer>;
  rotate: (currentToken: string, fields?: object, options?: CallOptions) => Promise<Answer>;
  remove: (currentToken: string, fields?: object, options?: CallOptions) => Promise<Answer>;
  /** Changes the group of a token by one of the three calls. */
  changeBy: (method: "PUT" | "POST" | "DELETE", currentToken: string, id?: string) => Promise<Answer>;
  /** Creates a group, or gets it, and returns its token. */
  tokenOf: (id: string, fields?: object) => Promise<string>;
  /** The same, after two viewers that accept stale answers: KV has a lease of the token. */
  leasedTokenOf: (id: string, fields?: object) => Promise<string>;
};

/** An integrator with a fresh key. Every call goes to `callEnv`, where a test wants to watch or to break something. */
export async function newIntegrator(keyFields: object = {}, callEnv: Env = env): Promise<Integrator> {
  const key = await issueKey(keyFields);
  const to =
    (method: string) =>
    (body: object | string, options: CallOptions = {}) =>
      call(method, "/api/user", { credential: key, body, env: callEnv, ...options });
  const get = to("GET");
  const tokenOf = async (id: string, fields = {}) =>
    (await get({ user_group_id: id, ...fields })).body.user_group.token;
  return {
    key,
    get,
    put: to("PUT"),
    rotate: (current_token, fields = {}, options = {}) => to("POST")({ current_token, ...fields }, options),
    remove: (current_token, fields = {}, options = {}) => to("DELETE")({ current_token, ...fields }, options),
    changeBy: (method, current_token, id = "acme") =>
      to(method)(method === "PUT" ? { user_group_id: id, name: `not ${id}` } : { current_token }),
    tokenOf,
    leasedTokenOf: async (id, fields = {}) => {
      const token = await tokenOf(id, fields);
      for (const _ of [1, 2]) await view(token, STALE, callEnv);
      return token;
    },
  };
}

/** A group whose token was rotated with a grace of an hour at `now`, where the clock stops. KV has leases of both tokens. */
export async function rotatedWithGrace(now: Date): Promise<Integrator & { old: string; current: string }> {
  vi.useFakeTimers({ now, toFake: ["Date"] });
  const integrator = await newIntegrator();
  const old = await integrator.tokenOf("acme");
  const { body } = await integrator.rotate(old, { grace_seconds: 3600 });
  for (const token of [old, old, body.user_group.token, body.user_group.token]) await view(token, STALE);
  return { ...integrator, old, current: body.user_group.token };
}
