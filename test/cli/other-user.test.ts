import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";

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

    it("can use secrets in a file of root, as systemd and podman pass them", () => {
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

    it("learns in a sentence that a backup may not be read, or a folder not be written", () => {
      const file = join(folder, "acme-Testing.ndjson");
      writeFileSync(file, "{}\n", { mode: 0o600 });
      const read = ug("restore", file);
      expect(read.status).toBe(2);
      expect(read.stderr).toMatch(/^error: .* cannot be read: EACCES/m);
      expect(read.stderr).not.toMatch(/^\s+at /m);
    });

    const serve = (...options: string[]) => ug("serve", "--port", "0", ...options);

    it("learns in a sentence that the state or the secrets belong to another user", () => {
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
        expect(stderr).toMatch(/^error: The state in .* cannot be used: EACCES\. /);
        expect(stderr).toMatch(
          / belongs to root \(0\), and ug runs as nobody \(65534\): chown nobody \/.* Run the service as the user/,
        );
        expect(stderr).not.toMatch(/^\s+at /m);
      }
    });

    it.for([
      "user-group-service-GroupDirectory/a.sqlite",
      "user-group-service-GroupDirectory/a.sqlite-wal",
      "user-group-service-GroupDirectory",
      "ug-serve.lock",
      "ug-serve.lock-journal",
      "workerd.capnp",
      ".",
    ])("learns the owner of %s in the state, and the command that changes it", (foreign) => {
      const state = mkdtempSync(join(folder, "foreign-"));
      mkdirSync(join(state, "user-group-service-GroupDirectory"));
      const files = ["ug-serve.lock", "workerd.capnp", "user-group-service-GroupDirectory/a.sqlite"];
      for (const file of [...files, ...(foreign.includes("-") ? [foreign] : [])])
        if (!existsSync(join(state, file))) writeFileSync(join(state, file), "", { mode: 0o600 });
      for (const each of [state, ...globSync("**", { cwd: state }).map((name) => join(state, name))])
        chownSync(each, NOBODY, NOBODY);
      chmodSync(state, 0o700);
      const changed = join(state, foreign);
      chownSync(changed, 0, 0);
      const { status, stderr } = serve("--persist-to", state);
      expect(status).toBe(1);
      expect(stderr).toContain(
        `${changed} belongs to root (0), and ug runs as nobody (65534): chown nobody ${changed}`,
      );
      expect(stderr).not.toMatch(/^\s+at /m);
    });

    it("learns the folder above its state that it may not enter, without a command that would change its owner", () => {
      const above = mkdtempSync(join(folder, "above-"));
      const { status, stderr } = serve("--persist-to", join(above, "state"));
      expect([status, stderr]).toEqual([1, expect.stringContaining(`${above} belongs to root (0), and ug runs as`)]);
      expect(stderr).not.toContain("chown");
    });

    it("is invited to make no secrets where some may be that it cannot read", () => {
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
          expect.stringMatching(/ cannot be read: EACCES\. .* belongs to root \(0\), .* make no new secrets/),
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
