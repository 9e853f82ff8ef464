import { describe, expect, inject, it } from "vitest";
import { report } from "../proof/effort.ts";
import { call } from "../support/node/client.ts";

const ensure = async (id: string) => (await call("GET", "/api/user", { user_group_id: id })).body.user_group;

describe("64 at once", () => {
  const ROUNDS = Array.from({ length: inject("effort").minutes > 0 ? 50 : 5 }, (_, round) => round);
  const at64 = <Value>(one: () => Promise<Value>) => Promise.all(Array.from({ length: 64 }, one));

  it("of simultaneous POSTs with one token exactly one wins, and 63 get token_superseded", async () => {
    let { token } = await ensure("rotated");
    for (const _ of ROUNDS) {
      const answers = await at64(() => call("POST", "/api/user", { current_token: token }));
      const winners = answers.filter(({ status }) => status === 200);
      expect(winners).toHaveLength(1);
      expect(answers.filter(({ body }) => body.error?.code === "token_superseded")).toHaveLength(63);
      token = winners[0]?.body.user_group.token;
    }
    expect((await ensure("rotated")).token).toBe(token);
  });

  it("exactly one of simultaneous GETs for one new id creates, and all get one token", async () => {
    for (const round of ROUNDS) {
      const answers = await at64(() => call("GET", "/api/user", { user_group_id: `created ${round}` }));
      expect(answers.filter(({ body }) => body.new_user_group)).toHaveLength(1);
      expect(new Set(answers.map(({ body }) => body.user_group.token)).size).toBe(1);
    }
  });

  it("of simultaneous DELETEs exactly one succeeds, and the others find nothing", async () => {
    for (const round of ROUNDS) {
      const { token } = await ensure(`deleted ${round}`);
      const answers = await at64(() => call("DELETE", "/api/user", { current_token: token }));
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
      expect(answers.filter(({ status }) => status === 404)).toHaveLength(63);
    }
  });
});

it("8 clients that race ends and views find no session that views after its end, and no fresh one refused", async () => {
  const user_group_id = "ended";
  await ensure(user_group_id);
  const viewsMax = inject("effort").minutes > 0 ? 100_000 : 3_000;
  const counts = { views: 0, ends: 0, late: 0, refused: 0 };
  const mint = async (viewer_id: string): Promise<string> =>
    (await call("POST", "/api/viewer_sessions", { user_group_id, viewer_id })).body.session.token;
  const view = async (session: string): Promise<number> => {
    counts.views += 1;
    return (await call("GET", "/api/viewer", undefined, { Authorization: `Token ${session}` })).status;
  };
  const isEnded = async (session: string) => (await view(session)) === 401;
  const client = async (viewer_id: string) => {
    for (let round = 0; counts.views < viewsMax; round += 1) {
      const [session, other] = [await mint(viewer_id), await mint(`${viewer_id} elsewhere`)];
      for (const fresh of [session, other, session, other]) if (await isEnded(fresh)) counts.refused += 1;
      const racing = Array.from({ length: 4 }, () => view(session));
      const body = round % 2 === 0 ? { session } : { user_group_id, viewer_id };
      const { status } = await call("POST", "/api/viewer_sessions/end", body);
      expect(status).toBe(200);
      counts.ends += 1;
      const after = await Promise.all(Array.from({ length: 8 }, () => isEnded(session)));
      counts.late += after.filter((ended) => !ended).length;
      if (await isEnded(other)) counts.refused += 1;
      // A session that is minted after the end of the person's views at once.
      if (await isEnded(await mint(viewer_id))) counts.refused += 1;
      await Promise.all(racing);
    }
  };
  await Promise.all(Array.from({ length: 8 }, (_, index) => client(`viewer ${index}`)));
  report("races of ends", counts);
  expect([counts.late, counts.refused]).toEqual([0, 0]);
});
