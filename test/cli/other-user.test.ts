import { spawnSync } from "node:child_process";
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, it } from "vitest";

/** The user `nobody` of Linux. */
const NOBODY = 65_534;
const UG = join(process.cwd(), "cli/ug.mjs");
const asNobody = (args: readonly string[]) =>
  spawnSync(process.execPath, ["--", ...args], {
    uid: NOBODY,
    gid: NOBODY,
    encoding: "utf8",
    env: { OPERATOR_KEY: "ugo_none" },
  });
const mayChange = process.getuid?.() === 0 && asNobody([join(process.cwd(), "cli/ug.mjs"), "--version"]).status === 0;

describe.skipIf(!mayChange)(
  `a user who owns nothing${mayChange ? "" : ", skipped: this user may not become another"}`,
  () => {
    const folder = mkdtempSync(join(tmpdir(), "user-group-service-"));
    chmodSync(folder, 0o755);
    afterAll(() => rmSync(folder, { recursive: true }));

    const ug = (...args: string[]) => {
      const { status, stderr } = asNobody([join(process.cwd(), "cli/ug.mjs"), ...args]);
      return { status, stderr };
    };

    it("can use secrets in a file of root, as systemd and podman pass them", ({ expect }) => {
      const file = join(folder, "secrets");
      writeFileSync(file, "", { mode: 0o644 });
      const program = join(folder, "program.ts");
      const module = join(process.cwd(), "cli/src/serve/private-files.ts");
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
      expect(read.stderr).toMatch(/^error: .* cannot be read: EACCES/m);
      expect(read.stderr).not.toMatch(/^\s+at /m);
    });

    const serve = (...options: string[]) => ug("serve", "--port", "0", ...options);

    it("learns in a sentence that the state or the secrets belong to another user", ({ expect }) => {
      const state = join(folder, "state");
      mkdirSync(join(state, "objects"), { recursive: true, mode: 0o700 });
      const closed = serve("--persist-to", state);
      const open = join(folder, "open");
      mkdirSync(join(open, "objects"), { recursive: true, mode: 0o700 });
      writeFileSync(join(open, "ug-serve.lock"), "");
      chownSync(open, NOBODY, NOBODY);
      chownSync(join(open, "ug-serve.lock"), NOBODY, NOBODY);
      for (const { status, stderr } of [closed, serve("--persist-to", open)]) {
        expect(status).toBe(1);
        expect(stderr).toMatch(/^error: The state in .* cannot be used: EACCES\. If it belongs to another user, run/);
        expect(stderr).not.toMatch(/^\s+at /m);
      }
    });

    it("is invited to make no secrets where some may be that it cannot read", ({ expect }) => {
      const closed = join(folder, "closed");
      mkdirSync(closed, { mode: 0o700 });
      const file = join(folder, "readable-by-root");
      for (const each of [file, join(closed, "env")]) writeFileSync(each, "SIGNING_KEYS=\n", { mode: 0o600 });
      const own = join(folder, "own");
      mkdirSync(own);
      chownSync(own, NOBODY, NOBODY);
      for (const each of [file, join(closed, "env")]) {
        const { status, stderr } = serve("--persist-to", join(own, "state"), "--env-file", each);
        expect([status, stderr]).toEqual([
          1,
          expect.stringMatching(/ cannot be read: EACCES\. .* make no new secrets/),
        ]);
        expect(stderr).not.toMatch(/is missing|openssl/);
        const doctor = asNobody([UG, "doctor", "--json", "--url", "http://127.0.0.1:1", "--env-file", each]);
        expect(JSON.parse(doctor.stdout).checks[0]).toMatchObject({
          check: "secrets",
          level: "failed",
          message: expect.stringMatching(/ cannot be read: EACCES\. .* make no new secrets/),
        });
      }
    });
  },
);
