/** TLS as psql does it: `sslmode` and its files, from the address or the environment. */
import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { type ConnectionOptions, checkServerIdentity } from "node:tls";
import { CommandError } from "../../common/command-error.ts";

/** What `pg` takes for one attempt: no TLS, or its options. */
type Tls = false | ConnectionOptions;

const PARAMETERS = ["sslmode", "sslrootcert", "sslcert", "sslkey"] as const;

/** Reads an address: without its parameters of TLS, and with which TLS to try it. @throws CommandError for a wrong `sslmode` or file. */
export function targetOf(address: string): { url: string; attempts: Tls[] } {
  const [base = "", query = ""] = address.split(/\?(.*)/s);
  const given = new URLSearchParams(query);
  const tls = PARAMETERS.map((name) => given.get(name) ?? process.env[`PG${name.toUpperCase()}`]);
  for (const name of PARAMETERS) given.delete(name);
  const [, named = ""] = /@?(\[[^\]]+\]|[^@:/]*)(?::\d+)?(?:\/[^/]*)?$/.exec(base) ?? [];
  const host = given.get("host") || decodeURIComponent(named) || process.env.PGHOST || "localhost";
  // PostgreSQL speaks no TLS over a socket of the machine.
  const attempts = host.startsWith("/") ? [false as const] : attemptsOf(tls, host.replaceAll(/[[\]]/g, ""));
  return { url: given.size > 0 ? `${base}?${given}` : base, attempts };
}

function attemptsOf([mode, rootFile, certificateFile, keyFile]: readonly (string | undefined)[], host: string): Tls[] {
  const sslmode = mode || "prefer";
  if (sslmode === "disable") return [false];
  if (rootFile === "system" && sslmode !== "verify-full")
    throw new CommandError("sslrootcert=system needs sslmode=verify-full, as with psql.");
  const own = join(homedir(), ".postgresql", "root.crt");
  const root = rootFile || (existsSync(own) ? own : "system");
  const files = {
    ...(root !== "system" && { ca: contentOf(root) }),
    ...(certificateFile && { cert: contentOf(certificateFile) }),
    ...(keyFile && { key: contentOf(keyFile) }),
  };
  const withAnyName = { ...files, checkServerIdentity: () => undefined };
  const unverified = { ...files, rejectUnauthorized: false };
  const modes: Record<string, Tls[]> = {
    disable: [false],
    allow: [false, unverified],
    prefer: [unverified, false],
    // With a root certificate, psql verifies the chain in this mode, too.
    require: [root === "system" ? unverified : withAnyName],
    "verify-ca": [withAnyName],
    "verify-full": [{ ...files, checkServerIdentity: (_, certificate) => checkServerIdentity(host, certificate) }],
  };
  const attempts = modes[sslmode];
  if (attempts) return attempts;
  throw new CommandError(
    `sslmode ${JSON.stringify(sslmode)} does not exist. Use one of ${Object.keys(modes).join(", ")}.`,
  );
}

function contentOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    throw new CommandError(`${file}, a file for TLS, cannot be read.`);
  }
}
