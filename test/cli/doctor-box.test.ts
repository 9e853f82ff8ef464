import { chownSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { nameAt } from "../../cli/src/backup/newest-backup.ts";
import { checkCertificate, findingFor } from "../../cli/src/commands/doctor.ts";
import { checkBackups, checkOwners, proxyFinding } from "../../cli/src/doctor/box.ts";
import { newFolder } from "../support/node/new-folder.ts";

const HOUR_MS = 3_600_000;
const NOW = new Date("2026-11-24T09:00:00Z");

/** A folder with a backup that began `hours` before now. */
function backupsOf(hours: number): string {
  const folder = newFolder();
  mkdirSync(join(folder, nameAt(new Date(NOW.getTime() - hours * HOUR_MS))));
  return folder;
}

describe("ug doctor on a box", () => {
  it("finds a newest backup that is old or missing", () => {
    expect(checkBackups(backupsOf(6), NOW)).toMatchObject({ level: "ok", message: expect.stringContaining("6 hours") });
    expect(checkBackups(backupsOf(27), NOW)).toMatchObject({ level: "failed" });
    expect(checkBackups(newFolder(), NOW)).toMatchObject({
      level: "failed",
      message: expect.stringContaining("no backup"),
    });
    expect(checkBackups("/nowhere/at-all", NOW)).toMatchObject({ level: "skipped" });
  });

  it.skipIf(process.getuid?.() !== 0)("names a file of the state that belongs to another user", () => {
    const state = newFolder();
    const file = join(state, "class", "a.sqlite");
    mkdirSync(join(state, "class"));
    writeFileSync(file, "");
    expect(checkOwners(state)).toMatchObject({ level: "ok" });
    chownSync(file, 65_534, 65_534);
    expect(checkOwners(state)).toMatchObject({ level: "failed", message: expect.stringContaining(file) });
  });

  it("sees in the log whether the proxy passes addresses", () => {
    const lineOf = (client: string) => `{"status":401,"client":"${client}"}\n`;
    expect(proxyFinding("X-Real-IP", "no log")).toEqual([]);
    expect(proxyFinding("X-Real-IP", lineOf("127.0.0.1") + lineOf("::1"))).toMatchObject([{ level: "warning" }]);
    expect(proxyFinding("X-Real-IP", lineOf("127.0.0.1") + lineOf("192.0.2.7"))).toMatchObject([{ level: "ok" }]);
  });

  it("says when a certificate ends, early enough to renew it", async () => {
    const levelIn = (days: number) => findingFor(new Date(NOW.getTime() + days * 24 * HOUR_MS), NOW.getTime()).level;
    expect([60, 13, -1].map(levelIn)).toEqual(["ok", "warning", "failed"]);
    expect(await checkCertificate(new URL("http://localhost:1"))).toEqual([]);
    expect(await checkCertificate(new URL("https://127.0.0.1:1"))).toMatchObject([{ level: "skipped" }]);
  });
});
