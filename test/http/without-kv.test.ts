import { beforeEach, describe } from "vitest";
import { failingKv } from "../support/hostile-kv.ts";

/** The calls that must not depend on KV, with a KV that fails. */
describe("with a KV that fails", async () => {
  beforeEach(failingKv);
  await import("./resources/user-groups/user-groups.test.ts?without-kv");
  await import("./resources/user-groups/idempotency.test.ts?without-kv");
  await import("./resources/viewers/viewers.test.ts?without-kv");
});
