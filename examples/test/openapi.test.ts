import { spawnSync } from "node:child_process";
import { resolve } from "node:path";
import { expect, it } from "vitest";

it.for(["public/openapi.json", "public/openapi-3.0.json"])("%s passes the linter redocly", (file) => {
  const { stdout } = spawnSync(resolve("examples/node_modules/.bin/redocly"), ["lint", file, "--format", "json"], {
    encoding: "utf8",
    env: { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" },
  });
  expect(JSON.parse(stdout).problems).toEqual([]);
});
