/** TLS as psql does it: `sslmode` and its files, from the address or the environment. */
import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { type ConnectionOptions, checkServerIdentity } from "node:tls";
import { CommandError } from "../../common/command-error.ts";

/** What `pg` takes for one attempt: no TLS, or its options. */
type Tls = false | ConnectionOptions;

/** An address without its parameters of TLS, and with which TLS to try it, in this order. */
export type Target = { url: string; attempts: Tls[] };

const PARAMETERS = ["sslmode", "sslrootcert", "sslcert", "sslkey"] as const;
type Parameters = Partial<Record<(typeof PARAMETERS)[number], string>>;

const MODES = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"];

/** Reads an address. @throws CommandError for an unknown `sslmode`, or a file that cannot be read. */
export function targetOf(address: string): Target {
  const [base = "", query = ""] = address.split(/\?(.*)/s);
  const parts = query.split("&").filter((part) => part !== "");
  const isTls = (part: string) => PARAMETERS.some((name) => part.startsWith(`${name}=`));
  const given = new URLSearchParams(parts.join("&"));
  const parameters: Parameters = {};
  for (const name of PARAMETERS) {
    const value = given.get(name) ?? process.env[`PG${name.toUpperCase()}`];
    if (value) parameters[name] = value;
  }
  const kept = parts.filter((part) => !isTls(part));
  const url = kept.length > 0 ? `${base}?${kept.join("&")}` : base;
  const [, named = ""] = /@?(\[[^\]]+\]|[^@:/]*)(?::\d+)?(?:\/[^/]*)?$/.exec(base) ?? [];
  const host = given.get("host") || decodeURIComponent(named) || process.env.PGHOST || "localhost";
  // PostgreSQL speaks no TLS over a socket of the machine.
  return { url, attempts: host.startsWith("/") ? [false] : attemptsOf(parameters, host.replaceAll(/[[\]]/g, "")) };
}

function attemptsOf(parameters: Parameters, host: string): Tls[] {
  const { sslmode = "prefer" } = parameters;
  if (!MODES.includes(sslmode))
    throw new CommandError(`sslmode ${JSON.stringify(sslmode)} does not exist. Use one of ${MODES.join(", ")}.`);
  if (sslmode === "disable") return [false];
  const { sslrootcert, sslcert, sslkey } = parameters;
  if (sslrootcert === "system" && sslmode !== "verify-full")
    throw new CommandError("sslrootcert=system needs sslmode=verify-full, as with psql.");
  const own = join(homedir(), ".postgresql", "root.crt");
  const root = sslrootcert ?? (existsSync(own) ? own : undefined);
  const ca = root === undefined || root === "system" ? {} : { ca: contentOf(root) };
  const files = { ...ca, ...(sslcert && { cert: contentOf(sslcert) }), ...(sslkey && { key: contentOf(sslkey) }) };
  switch (sslmode) {
    case "verify-full":
      return [{ ...files, checkServerIdentity: (_, certificate) => checkServerIdentity(host, certificate) }];
    case "verify-ca":
      return [{ ...files, checkServerIdentity: () => undefined }];
    case "require":
      // With a root certificate, psql verifies the chain in this mode, too.
      return [{ ...files, rejectUnauthorized: ca.ca !== undefined, checkServerIdentity: () => undefined }];
    default: {
      const unverified = { ...files, rejectUnauthorized: false };
      return sslmode === "allow" ? [false, unverified] : [unverified, false];
    }
  }
}

function contentOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    throw new CommandError(`${file}, a file for TLS, cannot be read.`);
  }
}
