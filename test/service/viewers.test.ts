import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import { describe, it } from "vitest";
import { call } from "../support/node/client.ts";

const ensure = async (id: string, properties: object = {}): Promise<string> =>
  (await call("GET", "/api/user", { user_group_id: id, properties })).body.user_group.token;

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

describe("bound SQL, run by SQLite", () => {
  const database = new DatabaseSync(":memory:");
  database.exec(`CREATE TABLE orders (tenant TEXT, region TEXT, amount INTEGER);
    INSERT INTO orders VALUES ('mine', 'eu', 1), ('mine', 'us', 2), ('mine', 'asia', 4), ('theirs', 'eu', 8)`);

  const run = async (token: string, sql: string): Promise<unknown> => {
    const { body } = await call("POST", "/api/viewer/query", { sql }, { Authorization: `Token ${token}` });
    return database.prepare(body.sql).get(...(body.params as SQLInputValue[]))?.total;
  };
  const TOTAL = "SELECT coalesce(sum(amount), 0) AS total FROM orders";

  it("selects only the rows of the viewer's group", async ({ expect }) => {
    const token = await ensure("mine", { regions: ["eu", "us"] });
    expect(await run(token, `${TOTAL} WHERE tenant = {{user_group_id}}`)).toBe(7);
    expect(await run(token, `${TOTAL} WHERE tenant = {{user_group_id}} AND region IN ({{user_group.regions}})`)).toBe(
      3,
    );
    expect(await run(token, `${TOTAL} WHERE tenant = {{user_group_id}} [[AND region = {{user_group.region}}]]`)).toBe(
      7,
    );
  });

  it("never executes a value as SQL", async ({ expect }) => {
    for (const hostile of [
      "' OR 1=1 --",
      "'; DROP TABLE orders; --",
      "{{user_group_id}}",
      "?",
      "\\",
      '"',
      "*/",
      "]]",
    ]) {
      const token = await ensure(`sql ${hostile}`, { region: hostile, regions: [hostile, "' OR '1'='1"] });
      expect(await run(token, `${TOTAL} WHERE region = {{user_group.region}}`)).toBe(0);
      expect(await run(token, `${TOTAL} WHERE region IN ({{user_group.regions}}) OR tenant = {{user_group_id}}`)).toBe(
        0,
      );
    }
    expect(database.prepare(TOTAL).get()?.total).toBe(15);
  });
});
