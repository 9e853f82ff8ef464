import { cloudflareTest } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { SummaryReporter } from "./test/support/summary-reporter.ts";

/** Runs files by name, and last the one that searches what all others left behind. */
class AtRestLast extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => (moduleId.endsWith("at-rest.test.ts") ? 1 : 0);
    return files.toSorted((a, b) => rank(a) - rank(b) || a.moduleId.localeCompare(b.moduleId));
  }
}

/** The Worker's runtime, with secrets of the tests' own. */
const inWorkerd = () =>
  cloudflareTest({
    main: "./src/index.ts",
    wrangler: { configPath: "./wrangler.toml" },
    miniflare: {
      bindings: {
        SIGNING_KEYS: `test:${Buffer.alloc(32, 7).toString("base64")}`,
        OPERATOR_TOKEN: "the-operator-token-of-all-these-tests",
      },
    },
  });

export default defineConfig({
  test: {
    reporters: ["default", new SummaryReporter()],
    sequence: { sequencer: AtRestLast },
    provide: { effort: { minutes: Number(process.env.PROOF_MINUTES ?? 0), seed: Number(process.env.PROOF_SEED ?? 1) } },
    projects: [
      {
        plugins: [inWorkerd()],
        test: {
          name: "runtime",
          include: ["test/{http,domain,storage,client}/**/*.test.ts"],
          setupFiles: ["test/support/each-test.ts"],
          testTimeout: 60_000,
        },
      },
      {
        plugins: [inWorkerd()],
        test: {
          name: "runtime without KV",
          include: ["test/http/*.test.ts"],
          // Those that are about KV itself, or have nothing to do with it.
          exclude: ["test/http/{stale-viewers,prices,demo,exact-json}.test.ts"],
          setupFiles: ["test/support/each-test.ts", "test/support/without-kv.ts"],
          testTimeout: 60_000,
        },
      },
      {
        test: {
          name: "node",
          include: ["test/node/**/*.test.ts"],
          globalSetup: ["test/node/support/server.ts"],
          fileParallelism: false,
          testTimeout: 120_000,
          hookTimeout: 120_000,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
