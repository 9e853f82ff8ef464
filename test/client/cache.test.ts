import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import { startWorkerd } from "../../cli/src/serve/workerd.ts";
import { SOCKET, textOf } from "../../cli/src/serve/workerd-config.ts";
import { UserGroupClient } from "../../client/src/index.ts";
import { newFolder } from "../support/node/new-folder.ts";
import { errorOf } from "../support/node/refused.ts";
import { refusal, standIn } from "../support/node/stand-in.ts";
import { CALLS, callsOf } from "../support/node/uncached-calls.ts";

const { url: service, key } = inject("service");
it("each call asks for no cached answer, and only one with a session for a stale one", async () => {
  const { url, received } = await standIn(() => refusal(403, "user_group_suspended"));
  for (const call of Object.values(callsOf(url))) await errorOf(call());
  expect(received.map(({ headers }) => headers["cache-control"])).toEqual(Object.values(CALLS));
});

it("a fetch that caches, as Next's does, shows a suspended group as suspended", async () => {
  const answers = new Map<string, Response>();
  const caching = async (url: string, init: RequestInit) => {
    const answer = (init.cache !== "no-store" && answers.get(url)) || (await fetch(url, init));
    answers.set(url, answer.clone());
    return answer;
  };
  const groups = new UserGroupClient({ url: service, apiKey: key, fetch: caching });
  const { group } = await groups.ensure({ userGroupId: "cached" });
  expect((await groups.get({ teamId: group.teamId })).state).toBe("active");
  await groups.suspend({ userGroupId: "cached" });
  expect((await groups.get({ teamId: group.teamId })).state).toBe("suspended");
});

/** A Worker that makes the calls with its own `fetch`. It returns the code of the error that each ends with. */
const WORKER = `
import { callsOf } from "./uncached-calls.ts";
export default {
  async fetch(request) {
    const calls = callsOf(new URL(request.url).searchParams.get("service"));
    const codes = [];
    for (const call of Object.values(calls)) codes.push(await call().catch((error) => error.code ?? String(error)));
    return Response.json(codes);
  },
};
`;

describe("in a Worker with the compatibility date", () => {
  /** Workers throw on the option before 2024-11-11. */
  it.for([
    ["2024-11-10", { "a view with a token": undefined, "an ensure": undefined, "a list": undefined }],
    ["2026-10-20", {}],
  ] as const)("%s, the calls work, and ask for the same", async ([date, differences]) => {
    const folder = newFolder();
    const script = join(folder, "worker.js");
    const stdin = { contents: WORKER, resolveDir: "test/support/node", loader: "js" as const };
    await build({ stdin, bundle: true, format: "esm", outfile: script });
    const config = join(folder, "workerd.capnp");
    writeFileSync(
      config,
      `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = .main), (name = "internet", network = (allow = ["local", "private"]))],
  sockets = [(name = "${SOCKET}", address = "127.0.0.1:0", http = (), service = "main")],
);
const main :Workerd.Worker = (
  modules = [(name = "worker.js", esModule = embed ${textOf(script)})],
  compatibilityDate = "${date}",
);
`,
    );
    const worker = await startWorkerd({ config, env: {}, log: "ignore" });
    onTestFinished(worker.stop);
    const { url, received } = await standIn(() => refusal(403, "user_group_suspended"));
    const response = await fetch(`http://127.0.0.1:${worker.port}/?service=${url}`);
    expect(new Set((await response.json()) as string[])).toEqual(new Set(["user_group_suspended"]));
    expect(received.map(({ headers }) => headers["cache-control"])).toEqual(
      Object.values({ ...CALLS, ...differences }),
    );
  });
});
