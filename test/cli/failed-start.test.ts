import { type ChildProcess, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { describe, expect, it, onTestFinished } from "vitest";
import { newFolder } from "../support/node/new-folder.ts";
import { endGroup, launcherPidOf, runIn, waitUntil } from "../support/node/service.ts";

const PERL = spawnSync("perl", ["--version"]).error === undefined;
const SETTINGS = `SIGNING_KEYS=k1:${Buffer.alloc(32, 1).toString("base64")}\nOPERATOR_TOKEN=${"x".repeat(40)}\n`;

describe.skipIf(!PERL)(`a service that cannot start${PERL ? "" : ", skipped: perl is missing"}`, () => {
  type Held = { holder: ChildProcess; url: string; folder: string; output: () => string };

  /** Runs `ug serve` below a process that holds its socket, as systemd does. */
  async function hold(settings: string, ...options: string[]): Promise<Held> {
    const folder = newFolder();
    writeFileSync(join(folder, "env"), settings);
    const socket = join(process.cwd(), "test/support/node/hold-socket.pl");
    const ug = [process.execPath, "--", join(process.cwd(), "cli/ug.mjs"), "serve", "--persist-to", "state"];
    const holder = runIn(folder, ["perl", socket, ...ug, "--socket-fd", "3", "--env-file", "env", ...options]);
    onTestFinished(() => endGroup(holder, "SIGKILL"));
    const lines: string[] = [];
    for (const stream of [holder.stdout, holder.stderr])
      createInterface({ input: stream as Readable }).on("line", (line) => lines.push(line));
    await waitUntil(() => lines.some((line) => line.startsWith("port ")), "the socket was open");
    const output = () => lines.join("\n");
    return { holder, folder, output, url: `http://127.0.0.1:${/^port (\d+)$/m.exec(output())?.[1]}` };
  }

  it("answers each call with 503 not_ready, without the cause, and starts when that is gone", async () => {
    const { url, folder, output } = await hold(`${SETTINGS}UNDO_DAYS=7d\n`);
    await waitUntil(() => output().includes("UNDO_DAYS cannot be read"), "the log had the cause");
    const large = "x".repeat(2 ** 20);
    for (const [path, init] of [
      ["/health", {}],
      ["/api/user", { method: "PUT", body: large, headers: { Authorization: "Token ugk_x" } }],
    ] as const) {
      const answer = await fetch(url + path, init);
      expect(answer.status).toBe(503);
      expect(Object.fromEntries(answer.headers)).toMatchObject({
        "content-type": "application/json",
        "retry-after": "5",
        connection: "close",
        "cache-control": "no-store",
      });
      expect(await answer.json()).toEqual({
        success: 0,
        error: {
          code: "not_ready",
          message: "The service could not start. Its operator finds the reason in its log.",
        },
        request_id: answer.headers.get("x-request-id"),
      });
    }
    expect((await fetch(url, { method: "HEAD" })).status).toBe(503);
    // The answers come for 5 s, and the process ends with 1.
    await waitUntil(() => output().includes(`ended ${1 << 8}`), "the launcher had ended");
    writeFileSync(join(folder, "env"), SETTINGS);
    await waitUntil(async () => (await fetch(`${url}/health`)).status === 200, "the service had started");
  });

  it("answers after a wrong option, and after a file that nobody foresaw", async () => {
    for (const options of [["--no-such-option"], ["--persist-to", "/dev/null/state"]]) {
      const { url } = await hold(SETTINGS, ...options);
      const { status, headers } = await fetch(url);
      expect([options, status, headers.get("retry-after")]).toEqual([options, 503, "5"]);
    }
  });

  it("ends at once by a signal, with 0", async () => {
    const { url, output, holder } = await hold(`${SETTINGS}UNDO_DAYS=7d\n`);
    expect((await fetch(url)).status).toBe(503);
    const before = Date.now();
    process.kill(launcherPidOf(holder), "SIGTERM");
    await waitUntil(() => /^ended 0$/m.test(output()), "the launcher had ended");
    expect(Date.now() - before).toBeLessThan(4_000);
  });
});
