/** A MariaDB server of Debian's packages, for one test file. */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { type Connection, createConnection } from "mysql2/promise";
import { waitUntil } from "../../test/support/node/service.ts";

const SERVER = "/usr/sbin/mariadbd";
const INSTALL = "/usr/bin/mariadb-install-db";

/** Whether MariaDB is installed; the names of the tests that need it say so. */
export const hasMariadb = existsSync(SERVER) && existsSync(INSTALL);

export type Mariadb = { connect: () => Promise<Connection>; stop: () => Promise<void> };

/** Starts an empty server, which listens on a socket of its own folder alone. */
export async function startMariadb(): Promise<Mariadb> {
  const folder = mkdtempSync(join(tmpdir(), "mariadb-"));
  const user = userInfo().username;
  const options = ["--no-defaults", `--datadir=${join(folder, "data")}`, `--user=${user}`];
  execFileSync(INSTALL, [...options, "--auth-root-authentication-method=normal", "--skip-test-db"], {
    stdio: "ignore",
  });
  const socketPath = join(folder, "socket");
  const settings = ["--skip-networking", "--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=16M"];
  const server = spawn(SERVER, [...options, ...settings, `--socket=${socketPath}`], { stdio: "ignore" });
  const connect = () => createConnection({ socketPath, user: "root", maxPreparedStatements: 50 });
  await waitUntil(
    () =>
      connect()
        .then((connection) => connection.end())
        .then(
          () => true,
          () => false,
        ),
    "MariaDB accepts connections",
  );
  return {
    connect,
    stop: async () => {
      const ended = once(server, "exit");
      server.kill("SIGTERM");
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
