/** A PostgreSQL server of Debian's packages, for one test file. */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, chmodSync, chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { certify } from "./certificate.ts";
import { freePort } from "./free-port.ts";
import { waitUntil } from "./service.ts";

const PACKAGES = "/usr/lib/postgresql";
const versions = existsSync(PACKAGES) ? readdirSync(PACKAGES).toSorted((a, b) => Number(b) - Number(a)) : [];
const programs = versions
  .map((version) => join(PACKAGES, version, "bin"))
  .find((bin) => existsSync(join(bin, "initdb")));

export const hasPostgres = programs !== undefined;
/** The end of the name of a test that needs PostgreSQL. */
export const skippedWithoutPostgres = hasPostgres ? "" : ", skipped: Debian's PostgreSQL is missing";

/** PostgreSQL refuses to run as root. */
function ordinaryUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const idOf = (option: string) => Number(execFileSync("id", [option, "nobody"], { encoding: "utf8" }));
  return { uid: idOf("-u"), gid: idOf("-g") };
}

export type Postgres = {
  /** The address by which a role logs in, over a socket that only this machine has. */
  url: (role: string) => string;
  /** With `tls`: the address by which a role logs in over TCP, and the file of the server's certificate, which is self-signed for `localhost`. */
  tcp: { url: (role: string, host: string) => string; certificate: string };
  /** Runs SQL as a superuser. */
  run: (sql: string) => Promise<void>;
  /** A copy of everything in the server as SQL. */
  dump: () => string;
  stop: () => Promise<void>;
};

/** A connection, once the server accepts it. */
async function connected(connectionString: string): Promise<pg.Client> {
  let client = new pg.Client({ connectionString });
  const connects = async () => {
    client = new pg.Client({ connectionString });
    return client.connect().then(
      () => true,
      () => false,
    );
  };
  await waitUntil(connects, "PostgreSQL accepts connections");
  // The end of the server.
  client.on("error", () => undefined);
  return client;
}

/** Starts an empty server, which listens on TCP and offers TLS only if a test asks for it. */
export async function startPostgres({ tls = false } = {}): Promise<Postgres> {
  const user = ordinaryUser();
  const folder = mkdtempSync(join(tmpdir(), "postgres-"));
  if (user) chownSync(folder, user.uid, user.gid);
  // Processes of other users may connect, such as a client that runs as root.
  chmodSync(folder, 0o755);
  const data = join(folder, "data");
  const program = (name: string) => join(programs ?? "", name);
  const at = { cwd: folder, ...user };
  execFileSync(program("initdb"), ["-D", data, "-A", "trust", "-U", "postgres", "-E", "UTF8", "--no-sync"], {
    ...at,
    stdio: "ignore",
  });
  const port = tls ? await freePort() : 5432;
  const certificate = tls ? certify(folder, user).file : "";
  const settings = [
    ...[`unix_socket_directories=${folder}`, `port=${port}`, "fsync=off", "jit=off", "max_connections=20"],
    ...(tls
      ? ["listen_addresses=localhost", `ssl_cert_file=${certificate}`, `ssl_key_file=${join(folder, "key.pem")}`]
      : ["listen_addresses="]),
  ];
  // A setting of the command line could not be changed.
  if (tls) appendFileSync(join(data, "postgresql.auto.conf"), "ssl = on\n");
  const server = spawn(program("postgres"), ["-D", data, ...settings.flatMap((setting) => ["-c", setting])], {
    ...at,
    stdio: "ignore",
  });
  const url = (role: string) => `postgresql://${role}@localhost:${port}/postgres?host=${encodeURIComponent(folder)}`;
  const superuser = await connected(url("postgres"));
  // A connection for each would take longer than most of the SQL.
  const run = async (sql: string) => {
    await superuser.query(sql).finally(() => superuser.query("DISCARD ALL"));
  };
  return {
    url,
    tcp: { url: (role, host) => `postgresql://${role}@${host}:${port}/postgres`, certificate },
    run,
    dump: () =>
      execFileSync(program("pg_dumpall"), ["-h", folder, "-p", String(port), "-U", "postgres"], {
        cwd: folder,
        encoding: "utf8",
      })
        // Random in each dump.
        .replaceAll(/^\\(?:un)?restrict .*$/gm, ""),
    stop: async () => {
      const ended = once(server, "exit");
      server.kill("SIGQUIT");
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
