import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { withDatabase } from "../../prove/src/database.ts";
import { hasPostgres, type Postgres, startPostgres } from "../support/node/postgres.ts";

const skipped = hasPostgres ? "" : ", skipped: Debian's PostgreSQL is missing";

describe("the TLS of ug prove", () => {
  let postgres: Postgres;
  beforeAll(async () => {
    if (hasPostgres) postgres = await startPostgres({ tls: true });
  });
  afterAll(() => postgres?.stop());

  /** Whether a connection has TLS; the sentence, if there is none. */
  const outcomeOf = async (query: string, host = "localhost") => {
    const url =
      postgres.tcp.url("postgres", host) + query.replace("CERTIFICATE", encodeURIComponent(postgres.tcp.certificate));
    try {
      const { rows } = await withDatabase(url, (database) =>
        database.query("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"),
      );
      return JSON.stringify(rows);
    } catch (error) {
      return String(error);
    }
  };
  const [WITH, WITHOUT] = ['[{"ssl":true}]', '[{"ssl":false}]'];

  it.skipIf(!hasPostgres).for([
    ["", WITH],
    ["?sslmode=disable", WITHOUT],
    ["?sslmode=allow", WITHOUT],
    ["?sslmode=prefer", WITH],
    ["?sslmode=require", WITH],
    [
      "?sslmode=verify-ca",
      "DEPTH_ZERO_SELF_SIGNED_CERT, the server's certificate is self-signed: name it with sslrootcert=",
    ],
    ["?sslmode=verify-full", "DEPTH_ZERO_SELF_SIGNED_CERT"],
    ["?sslmode=verify-ca&sslrootcert=CERTIFICATE", WITH],
    ["?application_name=x&sslrootcert=CERTIFICATE&sslmode=verify-full", WITH],
    ["?sslmode=require&sslrootcert=CERTIFICATE", WITH],
    ["?sslmode=require&sslrootcert=/nowhere.pem", "/nowhere.pem, a file for TLS, cannot be read"],
    ["?sslmode=require&sslrootcert=system", "sslrootcert=system needs sslmode=verify-full"],
    ["?sslmode=on", 'sslmode "on" does not exist. Use one of disable, allow, prefer, require, verify-ca, verify-full.'],
  ] as const)(`connects as psql does with %s${skipped}`, async ([query, expected]) => {
    expect(await outcomeOf(query)).toContain(expected);
  });

  it.skipIf(!hasPostgres)(`compares the name of the host with verify-full alone${skipped}`, async () => {
    const of = (mode: string) => outcomeOf(`?sslmode=${mode}&sslrootcert=CERTIFICATE`, "127.0.0.1");
    expect(await of("verify-ca")).toBe(WITH);
    expect(await of("verify-full")).toContain(
      "ERR_TLS_CERT_ALTNAME_INVALID, the server's certificate is for another host",
    );
  });

  it.skipIf(!hasPostgres)(`prefers TLS, and requires it only with sslmode=require${skipped}`, async () => {
    await postgres.run("ALTER SYSTEM SET ssl = off");
    await postgres.run("SELECT pg_reload_conf()");
    await expect.poll(() => outcomeOf("?sslmode=prefer")).toBe(WITHOUT);
    expect(await outcomeOf("?sslmode=require")).toContain(
      "NO_TLS, the server offers no TLS: use sslmode=prefer or disable",
    );
  });
});
