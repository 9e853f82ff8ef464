import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { it } from "vitest";
import { migrate } from "../../src/storage/migrations.ts";

it("runs each migration once, however often a directory starts", async ({ expect }) => {
  const directory = env.GROUP_DIRECTORY.getByName("acme/Testing");
  const levels = () =>
    runInDurableObject(directory, (_, { storage }) =>
      storage.sql.exec("SELECT level, ran_at FROM migrations ORDER BY level").toArray(),
    );
  const first = await levels();
  await evictDurableObject(directory);
  expect(await levels()).toEqual(first);
  await runInDurableObject(directory, (_, { storage }) => migrate(storage));
  expect(await levels()).toEqual(first);
  expect(first.map(({ level }) => level)).toEqual(first.map((_, index) => index + 1));
});
