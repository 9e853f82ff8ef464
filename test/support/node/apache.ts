import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { endGroup, runIn, waitUntil } from "./service.ts";

/** Where Debian's packages apache2 and libapache2-mod-auth-openidc install what they have. */
const PROGRAM = "/usr/sbin/apache2";
const MODULES = "/usr/lib/apache2/modules";
const LOADED = [
  "mpm_event",
  "authn_core",
  "authz_core",
  "authz_user",
  "headers",
  "proxy",
  "proxy_http",
  "auth_openidc",
];

export const hasApache = existsSync(PROGRAM) && existsSync(join(MODULES, "mod_auth_openidc.so"));
export const skippedWithoutApache = hasApache ? "" : ", skipped: Apache with mod_auth_openidc is missing";

/** Runs Apache on a port of loopback, with its files in `folder`, until `stop` ends it. `directives` are those of its only site. */
export async function startApache(
  folder: string,
  port: number,
  directives: string,
): Promise<{ stop: () => Promise<void> }> {
  const file = join(folder, "apache.conf");
  const log = join(folder, "apache.log");
  const modules = LOADED.map((name) => `LoadModule ${name}_module ${MODULES}/mod_${name}.so`);
  const configuration = `${modules.join("\n")}
ServerName localhost
Listen 127.0.0.1:${port}
PidFile ${folder}/apache.pid
DefaultRuntimeDir ${folder}
Mutex sem
ErrorLog ${log}
LogLevel info
User www-data
Group www-data
${directives}`;
  writeFileSync(file, configuration);
  const checked = spawnSync(PROGRAM, ["-t", "-f", file], { encoding: "utf8" });
  if (checked.status !== 0) throw new Error(checked.stderr);
  const child = runIn(folder, [PROGRAM, "-DFOREGROUND", "-f", file], {}, "ignore");
  await waitUntil(
    () => existsSync(log) && readFileSync(log, "utf8").includes("resuming normal operations"),
    "Apache was ready",
  );
  return { stop: () => endGroup(child, "SIGTERM") };
}
