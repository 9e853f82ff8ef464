/** The connection of `ug prove`. It is read-only, and hides PostgreSQL's messages, because they quote values of rows. */
import pg from "pg";
import { CommandError } from "../../common/command-error.ts";
import { targetOf } from "./tls.ts";

/** The part of a connection that the prover uses, such as a client of `pg`, or PGlite. It sends one statement at a time. */
export type Database = { query(sql: string, params?: unknown[]): Promise<{ rows: unknown[] }> };

const CONNECT_MS_MAX = 10_000;
/** The time limit of one query: the integrator's users wait for the same disk. */
const STATEMENT_MS_MAX = 30_000;
const LOCK_MS_MAX = 5_000;

const UNKNOWN_AUTHORITY =
  "an unknown authority has signed the server's certificate: name the authority's with sslrootcert=FILE, or use sslmode=require";
/** What PostgreSQL's codes mean. Its messages are not printed: `invalid input syntax for type bigint: "…"` has a value in it. */
const MEANINGS: Record<string, string> = {
  "22P02": "a text has the wrong form for its type",
  "28000": "the login is refused",
  "28P01": "the password is wrong",
  "3D000": "the database does not exist",
  "42501": "permission denied",
  "22023": "the role or the value does not exist",
  "53300": "too many connections",
  "55P03": "another session locks the table",
  "57014": "it took too long",
  "57P03": "the server is starting or stopping",
  CERT_HAS_EXPIRED: "the server's certificate has expired",
  DEPTH_ZERO_SELF_SIGNED_CERT:
    "the server's certificate is self-signed: name it with sslrootcert=FILE, or use sslmode=require",
  ECONNREFUSED: "no server listens there",
  ENOENT: "there is no such socket",
  ENOTFOUND: "the host does not exist",
  ERR_TLS_CERT_ALTNAME_INVALID: "the server's certificate is for another host: use its name, or sslmode=verify-ca",
  NO_TLS: "the server offers no TLS: use sslmode=prefer or disable",
  SELF_SIGNED_CERT_IN_CHAIN: UNKNOWN_AUTHORITY,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNKNOWN_AUTHORITY,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNKNOWN_AUTHORITY,
  unknown: "the server does not respond, or closed the connection",
};

/** PostgreSQL's code of an error, or that of the system, such as ECONNREFUSED. */
export function codeOf(error: unknown): string {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (error instanceof Error && error.message === "The server does not support SSL connections") return "NO_TLS";
  return /^[A-Z0-9_]{4,40}$/.test(code) ? code : "unknown";
}

/** An error without the text that PostgreSQL wrote. */
export function reasonOf(error: unknown): string {
  const code = codeOf(error);
  return MEANINGS[code] === undefined ? code : `${code}, ${MEANINGS[code]}`;
}

/** There is neither a proof nor a mistake: something prevented the check. */
export const couldNotTell = (message: string): CommandError =>
  new CommandError(`Could not tell: ${message}`, { code: "could_not_tell" });

/** Errors after which another attempt with other TLS would end in the same way. */
const FINAL = ["ECONNREFUSED", "ENOENT", "ENOTFOUND", "28P01"];

async function connected(address: string): Promise<pg.Client> {
  const { url, attempts } = targetOf(address);
  const failures: unknown[] = [];
  for (const ssl of attempts)
    try {
      const client = new pg.Client({
        connectionString: url,
        ssl,
        connectionTimeoutMillis: CONNECT_MS_MAX,
        application_name: "ug prove",
      });
      // A lost connection also rejects the query that waits, so this event needs no handling.
      client.on("error", () => undefined);
      await client.connect();
      return client;
    } catch (error) {
      failures.push(error);
      if (FINAL.includes(codeOf(error))) break;
    }
  throw couldNotTell(
    `the database in DATABASE_URL cannot be used (${reasonOf(failures.at(-1))}). Give it as postgres://USER:PASSWORD@HOST:5432/DATABASE, with the user of your dashboards' backend.`,
  );
}

/** Opens a connection to `url` for `use`, and closes it. @throws CommandError if nobody responds, or refuses. */
export async function withDatabase<T>(url: string, use: (database: Database) => Promise<T>): Promise<T> {
  const client = await connected(url);
  try {
    return await use({ query: (text, values = []) => client.query(text, values) });
  } finally {
    await client.end().catch(() => undefined);
  }
}

const BEGINNING = [
  "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
  `SET LOCAL statement_timeout = ${STATEMENT_MS_MAX}`,
  `SET LOCAL lock_timeout = ${LOCK_MS_MAX}`,
  // The queries of the catalogue are short, and their estimates are high: PostgreSQL compiled them for longer than it ran them.
  "SET LOCAL jit = off",
  // Names in the prover's own queries are PostgreSQL's, whatever else has these names.
  "SET LOCAL search_path = pg_catalog, pg_temp",
  "SET LOCAL quote_all_identifiers = off",
];

/** Runs `work` in a transaction that cannot write and is rolled back. */
export async function withRollback<T>(database: Database, work: () => Promise<T>): Promise<T> {
  for (const statement of BEGINNING) await database.query(statement);
  try {
    return await work();
  } finally {
    await database.query("ROLLBACK").catch(() => undefined);
  }
}

/** Runs `work` and undoes what it has set: roles, settings, and a failure. */
export async function withSavepoint<T>(database: Database, work: () => Promise<T>): Promise<T> {
  await database.query("SAVEPOINT prove");
  try {
    return await work();
  } finally {
    await database.query("ROLLBACK TO SAVEPOINT prove").catch(() => undefined);
    await database.query("RELEASE SAVEPOINT prove").catch(() => undefined);
  }
}

/** The rows of a query of the prover itself. */
export async function rowsOf<Row>(database: Database, sql: string, params: unknown[] = []): Promise<Row[]> {
  const { rows } = await database.query(sql, params);
  return rows as Row[];
}
