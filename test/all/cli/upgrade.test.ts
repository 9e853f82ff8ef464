import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { Agent, request } from "undici";
import { describe, expect, it, onTestFinished } from "vitest";
import { newFolder } from "../../support/node/new-folder.ts";
import { GROWN_SESSIONS } from "../../support/node/next-release.ts";
import { endGroup, freshCopy, launcherPidOf, removeCopy, runIn, waitUntil } from "../../support/node/service.ts";
import { plant } from "../../support/node/skewed-workerd.ts";
import { stageRelease, switchTo } from "../../support/node/staged-release.ts";

const PERL = spawnSync("perl", ["--version"]).status === 0;
const NEXT = "99.0.0";
const WRITERS = 4;

/** Installs a release from a copy of the project. What comes after this one adds to sessions. */
function install(version: string, root: string): string {
  const folder = freshCopy();
  onTestFinished(() => removeCopy(folder));
  if (version === NEXT) plant(folder, GROWN_SESSIONS);
  const file = join(folder, "package.json");
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, "utf8")), version }));
  const release = join(root, version);
  stageRelease(folder, release);
  return release;
}

describe.skipIf(!PERL)(`on one box${PERL ? "" : ", skipped: perl is missing"}`, () => {
  it("an upgrade and a rollback under load fail no call, lose no write and end no session", async () => {
    const { version }: { version: string } = JSON.parse(readFileSync("package.json", "utf8"));
    const place = newFolder();
    const root = join(place, "opt");
    const releases: Record<string, string> = { [version]: install(version, root), [NEXT]: install(NEXT, root) };
    switchTo(releases[version] ?? "");
    const serve = [join(root, "current/bin/ug"), "serve", "--persist-to", "state", "--socket-fd", "3"];
    const holder = runIn(place, ["perl", join(process.cwd(), "test/support/node/hold-socket.pl"), ...serve]);
    onTestFinished(() => endGroup(holder, "SIGKILL"));
    const lines: string[] = [];
    createInterface({ input: holder.stdout as Readable }).on("line", (line) => lines.push(line));
    const starts = () => lines.filter((line) => line.includes("is ready")).length;
    await waitUntil(() => starts() === 1, "the service was ready");
    const url = `http://127.0.0.1:${/^port (\d+)$/.exec(lines[0] ?? "")?.[1]}`;

    // Each call has a connection of its own, as through the proxy of the guide.
    const dispatcher = new Agent({ pipelining: 0 });
    const call = async (method: "GET" | "POST", path: string, credential: string, body: object) => {
      const headers = { authorization: `Token ${credential}`, "content-type": "application/json" };
      const answer = await request(url + path, { method, headers, body: JSON.stringify(body), dispatcher });
      return { status: answer.statusCode, body: (await answer.body.json()) as Record<string, never> };
    };
    const [, operatorToken = ""] = /^OPERATOR_TOKEN=(.*)$/m.exec(readFileSync(join(place, ".dev.vars"), "utf8")) ?? [];
    const issued = await call("POST", "/api/keys", operatorToken, {
      workspace: "acme",
      environment: "Testing",
      name: "upgrade",
    });
    const key: string = issued.body.key ?? "";
    const written: string[] = [];
    const statuses = new Set<number>();
    let isLoading = true;
    const load = Array.from({ length: WRITERS }, async (_, writer) => {
      for (let n = 0; isLoading; n += 1) {
        const id = `${writer}-${n}`;
        const { status } = await call("POST", "/api/user_groups", key, { user_group_id: id });
        statuses.add(status);
        written.push(id);
        await delay(5);
      }
    });
    const sessions: string[] = [];
    const mint = async () => {
      const fields = { user_group_id: "0-0", max_stale_seconds: 300, expires_in_seconds: 3600 };
      const minted = await call("POST", "/api/viewer_sessions", key, fields);
      sessions.push((minted.body.session as unknown as { token: string }).token);
    };
    /** Who answers the session: with `no-cache` the service, and else the session itself. */
    const viewedBy = async (session: string, cacheControl: string) => {
      const headers = { authorization: `Bearer ${session}`, "cache-control": cacheControl };
      const view = await request(`${url}/api/viewer`, { headers, dispatcher });
      await view.body.dump();
      return [view.statusCode, view.headers["x-answered-by"]];
    };
    const versionNow = async () =>
      ((await (await request(`${url}/health`)).body.json()) as { version: string }).version;
    for (const [index, release] of [NEXT, version].entries()) {
      const before = written.length;
      await waitUntil(() => written.length > before + 100, "the service wrote under load");
      await mint();
      switchTo(releases[release] ?? "");
      process.kill(launcherPidOf(holder), "SIGTERM");
      await waitUntil(() => starts() === index + 2, "the other release was ready");
      expect(await versionNow()).toBe(release);
      for (const session of sessions) {
        expect(await viewedBy(session, "max-age=300")).toEqual([200, "session"]);
        expect(await viewedBy(session, "no-cache")).toEqual([200, "directory"]);
      }
    }
    isLoading = false;
    await Promise.all(load);
    expect(statuses).toEqual(new Set([201]));
    for (const id of written) {
      const { body } = await call("GET", `/api/user_groups?user_group_id=${id}`, key, {});
      expect((body.user_groups as unknown as object[]).length, id).toBe(1);
    }
  });
});
