import { describe, it } from "vitest";
import { call } from "../support/node/client.ts";

const ensure = async (id: string): Promise<string> =>
  (await call("GET", "/api/user", { user_group_id: id })).body.user_group.token;

const view = (token: string) => call("GET", "/api/viewer", undefined, { Authorization: `Token ${token}` });

describe("eight viewers hammering a token", () => {
  it.for([
    ["a rotation", "POST"],
    ["a delete", "DELETE"],
  ] as const)("see not one success after %s has returned", async ([name, method], { expect }) => {
    for (let round = 0; round < 10; round += 1) {
      const token = await ensure(`hammered by ${name} ${round}`);
      let isRevoked = false;
      let isOver = false;
      const early: number[] = [];
      const late: unknown[] = [];
      const viewers = Array.from({ length: 8 }, async () => {
        while (!isOver) {
          const startedLate = isRevoked;
          const { status, body } = await view(token);
          if (startedLate) late.push(body.error?.code);
          else early.push(status);
          isOver ||= late.length >= 24;
        }
      });
      await view(token);
      expect((await call(method, "/api/user", { current_token: token })).status).toBe(200);
      isRevoked = true;
      await Promise.all(viewers);
      expect(early).toContain(200);
      expect(new Set(late)).toEqual(new Set(["credential_revoked"]));
    }
  });
});
