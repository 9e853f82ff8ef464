import { describe, expect, it } from "vitest";
import { call, codeOf } from "../../support/client.ts";
import { operatorPath, ROUTES, type Route } from "../../support/routes.ts";
import { sessionOf } from "../../support/sessions.ts";
import { inEnvironment, issueKey, issueOperator, newIntegrator, operator } from "../../support/states.ts";
import { watchedEnv } from "../../support/watched-env.ts";

const withField = (path: string, field: string) => `${path}${path.includes("?") ? "&" : "?"}${field}`;

/** The credentials that may make a call, each with the path that it calls. */
async function callersOf(route: Route): Promise<[credential: string, path: string][]> {
  const { access, path } = route;
  const { key, tokenOf } = await newIntegrator();
  const token = await tokenOf("acme");
  return [
    ...(access.scope ? ([[key, path]] as const) : []),
    ...(access.role ? ([[await issueOperator("admin"), operatorPath(route)]] as const) : []),
    ...(access.isForViewers
      ? ([
          [token, path],
          [await sessionOf(key), path],
        ] as const)
      : []),
  ].map(([credential, calledPath]) => [credential, calledPath]);
}

describe("an unknown field of the query", () => {
  it.for(ROUTES)("is refused where the caller may make the call: $name", async (route) => {
    for (const [credential, path] of await callersOf(route)) {
      const { body: sent, method } = route;
      for (const field of ["nonsense=1", "suspended=true", "nonsense"]) {
        const answer = await call(method, withField(path, field), { credential, body: sent });
        expect(codeOf(answer)).toEqual([422, "invalid_body"]);
        expect(answer.body.error.issues).toEqual([
          {
            path: [field.split("=")[0]],
            message: "This call takes no such field. Check its spelling, or leave it out.",
          },
        ]);
      }
    }
  });

  it.for(ROUTES)("tells nothing to a caller without a valid credential: $name", async (route) => {
    const revoked = await issueKey();
    await call("DELETE", `/api/keys/1${inEnvironment()}`, { credential: operator });
    for (const credential of [undefined, "x", revoked]) {
      const { status } = await call(route.method, withField(route.path, "nonsense=1"), {
        credential,
        body: route.body,
      });
      expect(status).toBe(401);
    }
  });

  it.for(["PUT", "POST", "DELETE"])("changes nothing with %s /api/user", async (method) => {
    const { watched, costs } = watchedEnv();
    const { key, tokenOf } = await newIntegrator();
    const token = await tokenOf("acme");
    const body = method === "PUT" ? { user_group_id: "acme", name: "x" } : { current_token: token };
    const answer = await call(method, "/api/user?suspended=true", { credential: key, body, env: watched });
    expect(codeOf(answer)).toEqual([422, "invalid_body"]);
    expect(costs).toEqual({ rpcs: ["checkCaller"], kv: [] });
  });
});
