import { describe, it } from "vitest";
import { unstable_readConfig } from "wrangler";

type RateLimit = { name: string; namespace_id: string; simple: object };

const configOf = (env?: string) =>
  unstable_readConfig({ config: "wrangler.toml", ...(env !== undefined && { env }) }) as unknown as Record<
    string,
    unknown
  > & { ratelimits: RateLimit[] };

describe("the stage staging", () => {
  const production = configOf();
  const staging = configOf("staging");

  it.for(["durable_objects", "kv_namespaces", "vars", "assets", "observability", "migrations", "main"])(
    "has the same %s as production",
    (field, { expect }) => {
      expect(staging[field]).toEqual(production[field]);
    },
  );

  it("has its own name, and the same rate limits in namespaces of its own", ({ expect }) => {
    expect(staging.name).toBe("user-group-service-staging");
    const withoutNamespaces = ({ ratelimits }: typeof staging) =>
      ratelimits.map(({ name, simple }) => ({ name, simple }));
    expect(withoutNamespaces(staging)).toEqual(withoutNamespaces(production));
    const namespaces = [...production.ratelimits, ...staging.ratelimits].map(({ namespace_id: id }) => id);
    expect(new Set(namespaces).size).toBe(namespaces.length);
  });
});
