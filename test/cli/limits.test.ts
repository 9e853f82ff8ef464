import { describe, expect, it, onTestFinished } from "vitest";
import { outcomeOf, runCommand } from "../support/node/commands.ts";
import { newFolder } from "../support/node/new-folder.ts";
import { freshCopy, removeCopy, runNode, startService } from "../support/node/service.ts";

describe("ug serve --limit", () => {
  it("takes the place of the limit of that name, and of no other", async () => {
    const copy = freshCopy();
    onTestFinished(() => removeCopy(copy));
    const service = await startService(copy, ["--limit", "API_KEY_LIMIT=3/3600", "--limit", "SESSION_LIMIT=9/60"]);
    onTestFinished(service.stop);
    const statuses: number[] = [];
    for (const credential of [...Array<string>(5).fill(service.key), service.operatorToken]) {
      const headers = { Authorization: `Token ${credential}` };
      statuses.push((await fetch(`${service.url}/api/whoami`, { headers })).status);
    }
    expect(statuses).toEqual([200, 200, 200, 429, 429, 200]);
  });

  it.for([
    "API_KEY_LIMIT",
    "API_KEY_LIMIT=0/60",
    "API_KEY_LIMIT=10/0",
    "API_KEY_LIMIT=10/3601",
    "API_KEY_LIMIT=1e3/60",
    "=1/1",
  ])("refuses %s with an example", async (limit) => {
    const { status, stderr } = await runCommand("serve", ["--port", "0", "--limit", limit]);
    expect([status, stderr]).toEqual([
      2,
      expect.stringMatching(/^error: Give --limit as NAME=CALLS\/SECONDS, such as/),
    ]);
  });

  it("names the limits that there are for one that there is not", async () => {
    const serve = ["--", `${process.cwd()}/cli/src/main.ts`, "serve", "--port", "0", "--limit", "KEY_LIMIT=1/1"];
    const { status, stderr } = await outcomeOf(runNode(newFolder(), serve));
    expect(status).toBe(2);
    expect(stderr).toMatch(/There is no rate limit KEY_LIMIT\. Give --limit for one of API_KEY_LIMIT, .*SESSION_LIMIT/);
  });
});
