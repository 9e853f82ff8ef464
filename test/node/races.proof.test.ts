import { describe, inject, it } from "vitest";
import { call } from "./support/client.ts";

const ensure = async (id: string) => (await call("GET", "/api/user", { user_group_id: id })).body.user_group;

describe("64 at once", () => {
  const ROUNDS = Array.from({ length: inject("effort").minutes > 0 ? 50 : 5 }, (_, round) => round);
  const at64 = <Value>(one: () => Promise<Value>) => Promise.all(Array.from({ length: 64 }, one));

  it("of simultaneous POSTs with one token exactly one wins, and 63 get token_superseded", async ({ expect }) => {
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

  it("exactly one of simultaneous GETs for one new id creates, and all get one token", async ({ expect }) => {
    for (const round of ROUNDS) {
      const answers = await at64(() => call("GET", "/api/user", { user_group_id: `created ${round}` }));
      expect(answers.filter(({ body }) => body.new_user_group)).toHaveLength(1);
      expect(new Set(answers.map(({ body }) => body.user_group.token)).size).toBe(1);
    }
  });

  it("of simultaneous DELETEs exactly one succeeds, and the others find nothing", async ({ expect }) => {
    for (const round of ROUNDS) {
      const { token } = await ensure(`deleted ${round}`);
      const answers = await at64(() => call("DELETE", "/api/user", { current_token: token }));
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
      expect(answers.filter(({ status }) => status === 404)).toHaveLength(63);
    }
  });
});
