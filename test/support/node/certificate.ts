import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** Whether openssl is installed; the names of the tests that need it say so. */
export const hasOpenssl = spawnSync("openssl", ["version"]).status === 0;

/** A key, and a certificate for `localhost` that has signed itself. */
export type Certified = { key: Buffer; cert: Buffer; file: string };

/** Makes `key.pem` and `certificate.pem` in a folder, as the user `owner` if it is given. */
export function certify(folder: string, owner?: { uid: number; gid: number }): Certified {
  const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"];
  const files = ["-keyout", "key.pem", "-out", "certificate.pem"];
  execFileSync("openssl", ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", ...files, ...subject], {
    cwd: folder,
    stdio: "ignore",
    ...owner,
  });
  const file = join(folder, "certificate.pem");
  return { key: readFileSync(join(folder, "key.pem")), cert: readFileSync(file), file };
}
