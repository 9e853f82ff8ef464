import { rmSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { type Bundle, bundleOf } from "../../../cli/src/serve/bundle.ts";
import { UserGroupClient } from "../../../client/src/index.ts";
import { issueKey } from "../../../tools/bench/service.ts";
import { GROWN_OBJECTS, GROWN_SESSIONS } from "../../support/node/next-release.ts";
import { PREVIOUS_RELEASE, recorded } from "../../support/node/releases.ts";
import { bundleWith, type Edit, newState, startSkewed } from "../../support/node/skewed-workerd.ts";
import { isStaleView, linesOf, type Step, stepsAsIn, walk } from "../../support/node/walk.ts";

const releaseBefore = (): Bundle => recorded(PREVIOUS_RELEASE).worker;
const thisRelease = (): Bundle => bundleOf({ isNew: () => undefined });

/**
 * Two releases that follow one another: the one before this, and this one with what the next may add; and this one, and the next.
 * The Worker of 1.0.0 refuses a session with a claim that it does not know. So only sessions that 1.0.0 and this release mint go on
 * in a rollback to it, and what the next release adds to sessions is planted for releases from this one on.
 */
const PAIRS: { name: string; now: () => Bundle; added: Edit[]; isShared: (step: Step) => boolean }[] = [
  {
    name: "the release before",
    now: releaseBefore,
    added: GROWN_OBJECTS,
    isShared: (step) => isStaleView(step) || stepsAsIn(recorded(PREVIOUS_RELEASE).steps, [step]).length > 0,
  },
  {
    name: "this release",
    now: thisRelease,
    added: [...GROWN_OBJECTS, ...GROWN_SESSIONS],
    isShared: () => true,
  },
];

describe.for(PAIRS)("in a gradual deployment of the release after $name", ({ now: nowOf, added, isShared }) => {
  /** Walks through a service that has these Workers, which take turns, and the Durable Objects of another bundle. */
  const walkThrough = async (workers: Bundle[], objects: Bundle): Promise<string[]> => {
    const service = await startSkewed(workers, objects);
    try {
      return linesOf((await walk(service)).steps.filter(isShared));
    } finally {
      await service.stop();
    }
  };
  let now: Bundle;
  let next: Bundle;
  let expected: string[];
  beforeAll(async () => {
    now = nowOf();
    next = await bundleWith(added);
    expected = await walkThrough([now], now);
  });
  afterAll(() => rmSync(next.folder, { recursive: true, force: true }));

  it("every call of the walk is answered as planned", () => {
    const refused = expected.filter((line) => !/: 20[014] $|events$/.test(line));
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

  it("sessions with max_stale_seconds answer for themselves", () => {
    const views = expected.filter((line) => line.startsWith("a stale view"));
    expect(views).toEqual(Array(2).fill("a stale view, answered by the session: 200 "));
  });

  it("its Worker gets the same answers from the next one's Durable Objects", async () => {
    expect(await walkThrough([now], next)).toEqual(expected);
  });

  it("the next release's Worker gets the same answers from its Durable Objects", async () => {
    expect(await walkThrough([next], now)).toEqual(expected);
  });

  it("both Workers answer what the other has minted, with the Durable Objects of either", async () => {
    for (const objects of [now, next]) expect(await walkThrough([now, next], objects)).toEqual(expected);
  });

  it("an upgrade and a rollback lose no write, revive no credential, and keep each event", async () => {
    const state = newState();
    onTestFinished(() => rmSync(state.folder, { recursive: true, force: true }));
    const clients = async (bundle: Bundle, apiKey?: string) => {
      const { url, stop } = await startSkewed([bundle], bundle, state);
      const key = apiKey ?? (await issueKey(url, "acme"));
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

it("a mint by a directory of 1.1 has no viewer_ended_ms_ago, which that does not know", async () => {
  const mintedBy = async (objects: Bundle) => {
    const { url, stop } = await startSkewed([thisRelease()], objects);
    const groups = new UserGroupClient({ url, apiKey: await issueKey(url, "acme") });
    const person = { userGroupId: "acme", viewerId: "ann" };
    await groups.ensure({ userGroupId: "acme" });
    await groups.endSessions(person);
    const minted = await groups.mintSession(person);
    await stop();
    return minted;
  };
  expect(await mintedBy(thisRelease())).toHaveProperty("viewerEndedMsAgo", expect.any(Number));
  const minted = await mintedBy(recorded("1.1.0").worker);
  expect(minted.token).toMatch(/^eyJ/);
  expect(minted).not.toHaveProperty("viewerEndedMsAgo");
});
