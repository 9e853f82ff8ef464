import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { describe, inject, it, onTestFinished } from "vitest";
import { hasSystemd, Systemd, skippedWithoutSystemd } from "../support/node/systemd.ts";

const isLong = inject("effort").minutes > 0;
const SERVICE = "user-group-service.service";
const PROJECT = "/opt/user-group-service";
const UNITS = "/etc/systemd/system";
const ENV_FILE = "/etc/user-group-service/env";
const SETTINGS = `SIGNING_KEYS=k1:${Buffer.alloc(32, 1).toString("base64")}
OPERATOR_TOKEN=${"x".repeat(40)}
PUBLIC_URL=https://groups.example.com
`;

/** Boots a machine on which the service is installed, with these settings, but not started. */
async function install(settings: string): Promise<Systemd> {
  // The user of the service may not build the Worker.
  execFileSync(process.execPath, ["--", "tools/build.ts"]);
  const machine = await Systemd.boot();
  onTestFinished(() => machine.stop());
  for (const unit of [SERVICE, "user-group-service.socket"])
    await machine.run("cp", `${PROJECT}/deploy/${unit}`, UNITS);
  await machine.run("mkdir", "--mode=0700", "/etc/user-group-service");
  machine.write(ENV_FILE, settings);
  return machine;
}

/** Lets the service start again at once, which takes less time. All other settings of its unit stay in force. */
async function restartAtOnce(machine: Systemd): Promise<void> {
  await machine.run("mkdir", `${UNITS}/${SERVICE}.d`);
  machine.write(`${UNITS}/${SERVICE}.d/at-once.conf`, "[Service]\nRestartSec=100ms\n");
}

/** systemd gives up a unit without a limit of its own at the sixth start, also where six starts take longer than the usual 10 s. */
async function giveUpLate(machine: Systemd): Promise<void> {
  await machine.run("mkdir", "/etc/systemd/system.conf.d");
  machine.write("/etc/systemd/system.conf.d/late.conf", "[Manager]\nDefaultStartLimitIntervalSec=10min\n");
}

const shown = (machine: Systemd, property: string) =>
  machine.systemctl("show", `--property=${property}`, "--value", SERVICE);

/** The status of `/health`. The socket unit holds the connection until the service accepts it. */
const health = (machine: Systemd) =>
  machine.run(
    `${PROJECT}/node_modules/.bin/node`,
    ...[
      "--eval",
      `fetch("http://127.0.0.1:8787/health", { signal: AbortSignal.timeout(60_000) })
      .then(({ status }) => console.info(status))`,
    ],
  );

describe.skipIf(!hasSystemd)(`under systemd${skippedWithoutSystemd}`, () => {
  it("runs on a machine that sees and writes nothing else of this one", async ({ expect }) => {
    const machine = await Systemd.boot();
    onTestFinished(() => machine.stop());
    const file = join(tmpdir(), `user-group-service-${randomUUID()}`);
    writeFileSync(file, "");
    onTestFinished(() => rmSync(file));
    await expect(machine.run("cat", file)).rejects.toThrow("No such file");
    for (const folder of ["/usr", PROJECT, "/sys/kernel"])
      await expect(machine.run("touch", `${folder}/written`)).rejects.toThrow("Read-only file system");
    expect(await machine.run("cat", "/proc/1/comm")).toBe("systemd");
  });

  const FAILURES = isLong ? 50 : 6;
  it(`starts the service again after ${FAILURES} failures, until their cause has gone`, async ({ expect }) => {
    const machine = await install(`${SETTINGS}UNDO_DAYS=wrong\n`);
    await giveUpLate(machine);
    if (!isLong) await restartAtOnce(machine);
    await machine.systemctl("daemon-reload");
    await machine.systemctl("start", "user-group-service.socket", SERVICE);

    const restarts = async () => Number(await shown(machine, "NRestarts"));
    // A service that waits for its next start is "activating"; one that is "failed" has no next start.
    while ((await restarts()) < FAILURES && (await shown(machine, "ActiveState")) !== "failed") await delay(100);
    expect(await restarts()).toBeGreaterThanOrEqual(FAILURES);
    const causes = (await machine.journal(SERVICE)).match(/^error: UNDO_DAYS cannot be read/gm) ?? [];
    expect(causes.length).toBeGreaterThanOrEqual(FAILURES);

    machine.write(ENV_FILE, SETTINGS);
    expect(await health(machine)).toBe("200");
    expect(await shown(machine, "ActiveState")).toBe("active");
  }, 600_000);
});
