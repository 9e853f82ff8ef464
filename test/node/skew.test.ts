import { rmSync } from "node:fs";
import { afterAll, beforeAll, describe, it, onTestFinished } from "vitest";
import type { Bundle } from "../../scripts/serve/bundle.ts";
import { OperatorClient, UserGroupClient } from "../../src/client/index.ts";
import { startLoad } from "./support/gated-load.ts";
import { RELEASES, recorded } from "./support/releases.ts";
import { freshCopy, removeCopy, waitUntil } from "./support/service.ts";
import { bundleWith, type Edit, newState, startSkewed } from "./support/skewed-workerd.ts";
import { linesOf, walk } from "./support/walk.ts";

/** The release after the recorded one: a new column, a new RPC method that its Worker does not call yet, a new event type. */
const NEXT_RELEASE: Edit[] = [
  {
    file: "src/storage/schema.ts",
    from: "];\n\n/** The schema of the registry. */",
    to: `  { number: 99, readableBy: 18, statements: "ALTER TABLE user_groups ADD COLUMN locale TEXT; ALTER TABLE deleted_groups ADD COLUMN locale TEXT;" },
];

/** The schema of the registry. */`,
  },
  {
    file: "src/records.ts",
    from: '  "user_group.updated",\n',
    to: '  "user_group.updated",\n  "user_group.localized",\n',
  },
  {
    file: "src/domain/feed/event.ts",
    from: 'return "user_group.updated";',
    to: 'return after.name.startsWith("localized") ? "user_group.localized" : "user_group.updated";',
  },
  {
    file: "src/domain/group-directory.ts",
    from: "  /** Writes to the disk, and keeps nothing.",
    to: "  countLocales(): number {\n    return 0;\n  }\n\n  /** Writes to the disk, and keeps nothing.",
  },
];

/** Walks through a service that has the Worker of one bundle and the Durable Objects of another. */
async function walkThrough(worker: Bundle, objects: Bundle): Promise<string[]> {
  const service = await startSkewed([worker], objects);
  try {
    return linesOf((await walk(service)).steps);
  } finally {
    await service.stop();
  }
}

describe("in a gradual deployment of the next release", () => {
  const copy = freshCopy();
  let now: Bundle;
  let next: Bundle;
  let expected: string[];
  beforeAll(async () => {
    now = recorded(RELEASES.at(-1) ?? "").worker;
    next = bundleWith(copy, NEXT_RELEASE);
    expected = await walkThrough(now, now);
  }, 60_000);
  afterAll(() => removeCopy(copy));

  it("every call of the walk is answered as planned", ({ expect }) => {
    const refused = expected.filter((line) => !/: 20[01] $|events$/.test(line));
    expect(refused).toEqual([
      "PUT /api/user: 404 user_group_not_found",
      "POST /api/user: 409 token_superseded",
      "GET /api/viewer: 401 credential_revoked",
      "POST /api/viewer/query: 422 unknown_variable",
      "GET /api/viewer: 401 credential_revoked",
      "GET /api/viewer: 403 user_group_suspended",
      "GET /api/user_groups/1: 404 user_group_not_found",
      "POST /api/user_groups/2/purge: 409 user_group_not_deleted",
      "DELETE /api/user: 409 user_group_mismatch",
      "POST /api/restore?workspace=acme&environment=Testing: 409 environment_not_empty",
      "DELETE /api/environments?workspace=acme&environment=Testing&confirm=acme: 422 invalid_body",
      "PUT /api/user: 409 user_group_id_taken",
      "GET /api/user_groups: 401 credential_revoked",
      "GET /api/operators: 401 credential_revoked",
      "POST /api/environments: 405 method_not_allowed",
      "GET /api/user_groups: 401 unauthenticated",
    ]);
  });

  it("the recorded Worker gets the same answers from the next one's Durable Objects", async ({ expect }) => {
    expect(await walkThrough(now, next)).toEqual(expected);
  });

  it("the next release's Worker gets the same answers from the recorded Durable Objects", async ({ expect }) => {
    expect(await walkThrough(next, now)).toEqual(expected);
  });

  it("under load, a deployment in steps and a rollback fail no call, lose no write and revive no credential", async ({
    expect,
  }) => {
    const state = newState();
    onTestFinished(() => rmSync(state.folder, { recursive: true, force: true }));
    /** The Workers that requests go to, and whose Durable Objects there are. */
    const steps: [Bundle[], Bundle][] = [
      [[now, next], now],
      [[now, next], next],
      [[next], next],
      [[next, now], now],
      [[now], now],
    ];
    let service = await startSkewed([now], now, state);
    onTestFinished(() => service.stop());
    const { url, operatorToken } = service;
    const operator = new OperatorClient({ url, operatorKey: operatorToken });
    const { key } = await operator.issueKey({ workspace: "acme", environment: "Testing", name: "load" });
    const load = startLoad(url, { key, operatorToken });
    for (const [workers, objects] of steps) {
      const { calls } = load.counts;
      await waitUntil(() => load.counts.calls >= calls + 500, "the service was used");
      await load.hold();
      await service.stop();
      service = await startSkewed(workers, objects, state);
      load.release(service.url);
    }
    expect(await load.stop()).toEqual([]);
    expect(Math.min(...Object.values(load.counts))).toBeGreaterThan(50);
  }, 120_000);

  it("an upgrade and a rollback lose no write, revive no credential, and keep each event", async ({ expect }) => {
    const state = newState();
    onTestFinished(() => rmSync(state.folder, { recursive: true, force: true }));
    const clients = async (bundle: Bundle, apiKey?: string) => {
      const { url, operatorToken, stop } = await startSkewed([bundle], bundle, state);
      const operator = new OperatorClient({ url, operatorKey: operatorToken });
      const issued = async () =>
        (await operator.issueKey({ workspace: "acme", environment: "Testing", name: "x" })).key;
      const key = apiKey ?? (await issued());
      return { key, stop, groups: new UserGroupClient({ url, apiKey: key }), url };
    };
    const before = await clients(now);
    const { key } = before;
    const { group } = await before.groups.ensure({ userGroupId: "first" });
    const revoked = group.token;
    await before.groups.rotateToken({ currentToken: revoked });
    await before.stop();

    const upgraded = await clients(next, key);
    await upgraded.groups.ensure({ userGroupId: "second" });
    await upgraded.groups.update({ userGroupId: "first", name: "localized name" });
    await upgraded.stop();

    const after = await clients(now, key);
    const listed = await Array.fromAsync(after.groups.list());
    expect(listed.map(({ userGroupId, name }) => [userGroupId, name])).toEqual([
      ["first", "localized name"],
      ["second", "second"],
    ]);
    const view = await fetch(`${after.url}/api/viewer`, { headers: { Authorization: `Token ${revoked}` } });
    expect(view.status).toBe(401);
    const { group: third } = await after.groups.ensure({ userGroupId: "third" });
    expect(third.teamId).toBe(3);
    const events = await fetch(`${after.url}/api/events`, { headers: { Authorization: `Token ${key}` } });
    const types = ((await events.json()) as { events: { type: string }[] }).events.map(({ type }) => type);
    expect(types).toEqual([
      "api_key.issued",
      "user_group.created",
      "user_group.token_rotated",
      "user_group.created",
      "user_group.localized",
      "user_group.created",
    ]);
    await after.stop();
  });
});
