import { accessSync, constants, statfsSync } from "node:fs";
import { join } from "node:path";
import { cloudflareTest } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";
import { SummaryReporter } from "./test/support/summary-reporter.ts";

// Node keeps compiled code there. It saves a third of the CPU time of the hundreds of processes that tests start.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, "node_modules/.cache/node");

/**
 * The temporary files are in memory where Linux has 1 GiB of it free in `/dev/shm`, a container's default having 64 MiB. Most
 * tests write a database, and on a disk they wait a minute for it.
 */
if (process.env.TMPDIR === undefined && hasRoom("/dev/shm")) process.env.TMPDIR = "/dev/shm";

function hasRoom(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize >= 2 ** 30;
  } catch {
    return false;
  }
}

/** The Workers runtime, with secrets that only tests use. */
const inWorkerd = () =>
  cloudflareTest({
    main: "./src/index.ts",
    wrangler: { configPath: "./wrangler.toml" },
    // Otherwise workerd prints each exception that a test expects of a Durable Object.
    verbose: false,
    miniflare: {
      bindings: {
        SIGNING_KEYS: `test:${Buffer.alloc(32, 7).toString("base64")}`,
        OPERATOR_TOKEN: "the-operator-token-of-all-these-tests",
      },
    },
  });

/**
 * In its files of transformed modules vitest puts the source map behind the code, where the Workers runtime does not look for
 * it: the locations of failures would be those in the transformed code.
 */
const WITH_SOURCE_MAPS = { fsModuleCache: false };

/** The entries of the client's package that the examples import, from their sources: nothing has built the package. */
const CLIENT_ENTRIES = Object.fromEntries(
  Object.entries({ client: "index", postgres: "postgres", server: "server" }).map(([entry, file]) => [
    `user-group-service/${entry}`,
    join(import.meta.dirname, `client/src/${file}.ts`),
  ]),
);

/** Files share a runtime, whose start takes longer than most of them: each test leaves it as it was. */
const IN_ONE_RUNTIME = { isolate: false, setupFiles: ["test/support/each-test.ts"] };

/** How long each long proof takes, and the seed of what is random in it. */
const EFFORT = { minutes: Number(process.env.PROOF_MINUTES ?? 0), seed: Number(process.env.PROOF_SEED ?? 1) };

/** A limit only ends what hangs: a busy machine takes ten times as long for the same test. */
const TIME_LIMITS = {
  testTimeout: 900_000 + 4 * EFFORT.minutes * 60_000,
  hookTimeout: 900_000,
  expect: { poll: { timeout: 60_000 } },
};

/**
 * Most files in Node wait for processes or timers, so five run at a time, on two cores too. Files share the modules that they import, and
 * none leaves a module, a clock or a spy changed.
 */
const IN_NODE = { ...TIME_LIMITS, isolate: false, maxWorkers: 5, sequence: { groupOrder: 1 } };

export default defineConfig({
  test: {
    // A test that takes longer is shown with its time.
    slowTestThreshold: 10_000,
    // For two cores. A third Workers runtime took a quarter more CPU time.
    maxWorkers: 2,
    reporters: ["default", new SummaryReporter()],
    provide: { effort: EFFORT },
    // One service for all tests over sockets. It starts only if one of them runs.
    globalSetup: ["test/support/node/server.ts"],
    projects: [
      {
        plugins: [inWorkerd()],
        test: {
          ...WITH_SOURCE_MAPS,
          ...IN_ONE_RUNTIME,
          ...TIME_LIMITS,
          name: "runtime",
          include: ["test/{http,domain,storage}/**/*.test.ts"],
        },
      },
      {
        resolve: { alias: CLIENT_ENTRIES },
        test: {
          ...IN_NODE,
          name: "node",
          include: ["test/{service,client,cli,prove,tools,docs,examples}/**/*.test.ts"],
          exclude: ["test/service/at-rest.test.ts"],
        },
      },
      {
        resolve: { alias: CLIENT_ENTRIES },
        test: {
          ...IN_NODE,
          // What `npm run test:all` adds: other people's programs, other languages, mixtures of releases, and more pages in a browser.
          name: "all",
          include: ["test/all/**/*.test.ts", "examples/test/**/*.test.ts"],
        },
      },
      {
        test: {
          ...TIME_LIMITS,
          // Searches the files and logs that all other tests have written, so it runs last.
          name: "node at rest",
          include: ["test/service/at-rest.test.ts"],
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
