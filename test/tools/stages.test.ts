import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { unstable_readConfig } from "wrangler";
import { outcomeOf } from "../support/node/commands.ts";
import { newFolder } from "../support/node/new-folder.ts";
import { runIn } from "../support/node/service.ts";

type RateLimit = { name: string; namespace_id: string; simple: object };

const configOf = (env?: string) =>
  unstable_readConfig({ config: "wrangler.toml", ...(env !== undefined && { env }) }) as unknown as Record<
    string,
    unknown
  > & { ratelimits: RateLimit[] };

it("npm run deploy names its environment, so that wrangler does not warn", async () => {
  for (const [args, name] of [
    [[], "user-group-service"],
    [["--env", "staging"], "user-group-service-staging"],
  ] as const) {
    const outdir = newFolder();
    const log = join(outdir, "output.json");
    const dryRun = ["tools/deploy.ts", "--dry-run", "--outdir", outdir, ...args];
    const env = { WRANGLER_SEND_METRICS: "false", WRANGLER_OUTPUT_FILE_PATH: log };
    const { status, stdout, stderr } = await outcomeOf(runIn(process.cwd(), [process.execPath, ...dryRun], env));
    expect([status, stdout + stderr]).toEqual([0, expect.not.stringMatching(/WARNING|Multiple environments/)]);
    expect(readFileSync(log, "utf8")).toContain(`"worker_name":"${name}"`);
  }
});

describe("the stage staging", () => {
  const production = configOf();
  const staging = configOf("staging");

  it.for(["durable_objects", "kv_namespaces", "vars", "assets", "observability", "migrations", "main"])(
    "has the same %s as production",
    (field) => {
      expect(staging[field]).toEqual(production[field]);
    },
  );

  it("has its own name, and the same rate limits in namespaces of its own", () => {
    expect(staging.name).toBe("user-group-service-staging");
    const withoutNamespaces = ({ ratelimits }: typeof staging) =>
      ratelimits.map(({ name, simple }) => ({ name, simple }));
    expect(withoutNamespaces(staging)).toEqual(withoutNamespaces(production));
    const namespaces = [...production.ratelimits, ...staging.ratelimits].map(({ namespace_id: id }) => id);
    expect(new Set(namespaces).size).toBe(namespaces.length);
  });
});
