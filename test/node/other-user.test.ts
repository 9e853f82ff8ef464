import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, it } from "vitest";

/** The user `nobody` of Linux. */
const NOBODY = 65_534;
const asNobody = (args: readonly string[]) =>
  spawnSync(process.execPath, ["--", ...args], {
    uid: NOBODY,
    gid: NOBODY,
    encoding: "utf8",
    env: { OPERATOR_KEY: "ugo_none" },
  });
const mayChange =
  process.getuid?.() === 0 && asNobody([join(process.cwd(), "scripts/ug.mjs"), "--version"]).status === 0;

describe.skipIf(!mayChange)(
  `a user who owns nothing${mayChange ? "" : ", skipped: this user may not become another"}`,
  () => {
    const folder = mkdtempSync(join(tmpdir(), "user-group-service-"));
    chmodSync(folder, 0o755);
    afterAll(() => rmSync(folder, { recursive: true }));

    const ug = (...args: string[]) => {
      const { status, stderr } = asNobody([join(process.cwd(), "scripts/ug.mjs"), ...args]);
      return { status, stderr };
    };

    it("can use secrets in a file of root, as systemd and podman pass them", ({ expect }) => {
      const file = join(folder, "secrets");
      writeFileSync(file, "", { mode: 0o644 });
      const program = join(folder, "program.ts");
      const module = join(process.cwd(), "scripts/serve/private-files.ts");
      writeFileSync(
        program,
        `import { makePrivateFile } from ${JSON.stringify(module)};\nmakePrivateFile(process.argv[2]);`,
      );
      expect(asNobody([program, file])).toMatchObject({ status: 0, stderr: "" });
      expect(statSync(file).mode & 0o777).toBe(0o644);
    });

    it("learns in a sentence that a backup may not be read, or a folder not be written", ({ expect }) => {
      const file = join(folder, "acme-Testing.ndjson");
      writeFileSync(file, "{}\n", { mode: 0o600 });
      const read = ug("restore", file);
      expect(read.status).toBe(2);
      expect(read.stderr).toMatch(/^error: .* cannot be read: EACCES/);
      expect(read.stderr).not.toMatch(/^\s+at /m);
    });
  },
);
