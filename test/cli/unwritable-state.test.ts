import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, describe, expect, it } from "vitest";
import { freshCopy, removeCopy, runNode, SERVE, startService } from "../support/node/service.ts";

const disk = mkdtempSync(join(tmpdir(), "user-group-disk-"));
const canMount = spawnSync("mount", ["-t", "tmpfs", "-o", "size=2m,mode=700", "tmpfs", disk]).status === 0;

afterAll(() => {
  if (canMount) spawnSync("umount", [disk]);
  rmSync(disk, { recursive: true, force: true });
});

describe.skipIf(!canMount)(`a state folder${canMount ? "" : ", skipped: this user may not mount a disk"}`, () => {
  const folder = freshCopy();
  afterAll(() => removeCopy(folder));

  const persistTo = (state: string) => ["--persist-to", join(disk, state)];
  const refusedStart = async (state: string) => {
    const child = runNode(folder, [...SERVE, "--port", "0", ...persistTo(state)]);
    const code = new Promise((resolve) => child.once("exit", resolve));
    return { output: child.stderr ? await text(child.stderr) : "", code: await code };
  };

  it("that is read-only or on a full disk is refused at the start with a sentence", async () => {
    await (await startService(folder, persistTo("known"))).stop();

    spawnSync("mount", ["-o", "remount,ro", disk]);
    const readOnly = [await refusedStart("known"), await refusedStart("new")];
    spawnSync("mount", ["-o", "remount,rw", disk]);
    spawnSync("dd", ["if=/dev/zero", `of=${join(disk, "filler")}`, "bs=4096"]);
    const full = [await refusedStart("known"), await refusedStart("new")];

    for (const { code, output } of [...readOnly, ...full]) {
      expect(code).toBe(1);
      expect(output).toMatch(/cannot be written \(.+\)\. /);
      expect(output).not.toMatch(/^\s+at /m);
    }
    for (const { output } of full) expect(output).toContain(`ENOSPC. The disk is full. Free space on it: ${disk}`);
    rmSync(join(disk, "filler"));
    await (await startService(folder, persistTo("known"))).stop();
  });
});
