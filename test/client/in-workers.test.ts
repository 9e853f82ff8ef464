import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, it, vi } from "vitest";
import { OperatorClient, UserGroupClient, ViewerClient } from "../../src/client/index.ts";
import { app } from "../../src/http/app.ts";
import { operator } from "../support/states.ts";

const url = "https://service.test";

/** Leads the runtime's own fetch to the Worker, by a request that this runtime has made: it knows fewer options than others. */
beforeEach(() => {
  vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) =>
    app.fetch(new Request(input, init) as Parameters<typeof app.fetch>[0], env, createExecutionContext()),
  );
});

it("works in a Worker", async ({ expect }) => {
  const keys = new OperatorClient({ url, operatorToken: operator });
  const { key } = await keys.issueKey({ workspace: "acme", environment: null, name: "worker" });

  const groups = new UserGroupClient({ url, apiKey: key });
  const { created, group } = await groups.ensure({ userGroupId: "a", properties: { region: "eu" } });
  expect(created).toBe(true);
  const { token } = await groups.rotateToken({ currentToken: group.token });

  const { variables } = await new ViewerClient({ url, token }).view();
  expect(variables).toEqual({ user_group_id: "a", user_group_name: "a", "user_group.region": "eu" });

  await groups.remove({ currentToken: token });
  expect(await keys.listKeys({ workspace: "acme", environment: null })).toMatchObject([{ id: 1, name: "worker" }]);
});
