/** `ug doctor`: what is wrong with a deployment. */
import { once } from "node:events";
import { connect } from "node:tls";
import { styleText } from "node:util";
import type { Command } from "commander";
import * as z from "zod";
import { type Environment, OperatorClient, UserGroupClient, UserGroupServiceError } from "../../../client/src/index.ts";
import { parse } from "../../../client/src/transport/connection.ts";
import { CommandError } from "../../../common/command-error.ts";
import { DAY_MS, LIST_ITEMS_MAX } from "../../../common/limits.ts";
import { isLoopback } from "../../../common/origin.ts";
import project from "../../../package.json" with { type: "json" };
import { action, serviceCommand } from "../command.ts";
import { checkBox } from "../doctor/box.ts";
import { checkLoaded, examineEnvFile } from "../doctor/env-file.ts";
import { type Finding, failed, ok, skipped, warning } from "../doctor/finding.ts";
import { checkProviderKeys, JwkSet } from "../doctor/provider-keys.ts";
import { environmentName } from "../environment-options.ts";
import { IS_CLONE, TRY } from "../release.ts";
import { DEFAULT_SECRETS_FILE } from "../serve/options.ts";
import { anyCredential, type Credential, explainedError, type ServiceOptions } from "../service-access.ts";
import { causeOf, LOCAL_URL } from "../support/service.ts";
import { connectionTo, FIRST_ANSWER_MS_MAX } from "../support/transport.ts";
import { callerOf } from "./whoami.ts";

type Options = ServiceOptions & { envFile?: string };

const REACHABLE = "reachable";
const EXIT_UNREACHABLE = 3;
const CLOCK_SECONDS_MAX = 30;
const ENDS_SOON_MS = 14 * DAY_MS;
const CERTIFICATE = "certificate";
/** Proxies renew certificates of 90 days a month before their end. */
const RENEWED_DAYS_MIN = 14;
const DATABASES = "databases";
const ENVIRONMENTS_MAX = 1000;
const STEPS = "docs/operators/customers.md has the steps.";
const LOST = `has no keys: its database may be missing. Restore it, or erase it if it should be empty. ${STEPS}`;

/** A box has its secrets where only root can read them. */
const BY_DEFAULT = IS_CLONE ? `; by default ${DEFAULT_SECRETS_FILE}, for a service on this machine` : "";

export const command = (): Command =>
  serviceCommand("doctor", {
    summary: "check a deployment, and say how to fix it",
    examples: {
      "ug doctor": "the service on this machine, and its secrets",
      "API_KEY=… ug doctor --url https://groups.example.com": "also what an API key can do there",
      "ug doctor --env-file /etc/user-groups/env": "the secrets of ug serve",
    },
    notes:
      "It changes nothing. It exits with 1 if a check has failed, and with 3 if the service cannot be reached. On a box it also checks the backups,\nthe owners of files, the clock and the proxy: run it as root there. With the key of an operator it asks each environment.",
  })
    .option("--env-file <file>", `the secrets to check${BY_DEFAULT}`)
    .action(
      action(async (options: Options) => {
        const { url } = options.target;
        const checks = await examine(url, options);
        const failures = checks.filter(({ level }) => level === "failed");
        const success = failures.length > 0 ? 0 : 1;
        if (!success) process.exitCode = failures.some(({ check }) => check === REACHABLE) ? EXIT_UNREACHABLE : 1;
        return { body: { success, url: url.origin, checks }, text: checks.map(lineOf).join("\n") };
      }),
    );

const STYLES: Record<Finding["level"], Parameters<typeof styleText>[0]> = {
  ok: "green",
  warning: "yellow",
  failed: "red",
  skipped: "dim",
};

const lineOf = ({ check, level, message }: Finding): string =>
  `${styleText(STYLES[level], level.padEnd(8), { stream: process.stdout })} ${check.padEnd(12)} ${message}`;

/** Makes all checks. If the service does not respond, the checks that need it are left out. */
async function examine(url: URL, options: Options): Promise<Finding[]> {
  const { file, texts, findings: ofFile } = examineEnvFile(url, options.envFile);
  const settings = [...ofFile, ...(texts ? await checkProviderKeys(texts) : [])];
  const { findings, isUp } = await checkService(url);
  const ofMachine = [...(await checkCertificate(url)), ...checkBox(url, options.envFile)];
  if (!isUp) return [...settings, ...findings, ...ofMachine];
  const keys = await checkKeys(url);
  return [
    ...settings,
    ...findings,
    ...ofMachine,
    await checkReadiness(url),
    keys.finding,
    ...(file !== undefined && texts ? checkLoaded({ file, texts }, url, keys.shown) : []),
    ...(await checkCredential(url, options)),
  ];
}

/** Reads a page that needs no credential. */
async function read(path: string, url: URL) {
  const signal = AbortSignal.timeout(FIRST_ANSWER_MS_MAX);
  const response = await fetch(new URL(path, url), { redirect: "manual", signal });
  return { status: response.status, date: response.headers.get("Date"), text: await response.text() };
}

const sentenceOf = (error: unknown): string => causeOf(error).sentence;

/** Whether a page was read, and is none of the service. */
const isMalformed = (error: unknown): boolean => error instanceof SyntaxError || error instanceof z.ZodError;

/** Whether the service responds, which version it is, and whether its clock agrees with this one. */
async function checkService(url: URL): Promise<{ findings: Finding[]; isUp: boolean }> {
  const startedAt = Date.now();
  const page = await read("/health", url).catch(sentenceOf);
  const start = url.origin === LOCAL_URL ? ` Start it with ${TRY}, or give --url.` : "";
  if (typeof page === "string") return down(REACHABLE, `${url.origin} cannot be reached${page}${start}`);
  const { data: body } = Health.safeParse(parse(page.text));
  if (!body)
    return down(REACHABLE, `The server at ${url.origin} (status ${page.status}) is not the user group service.`);
  if (body.error)
    return down(
      "settings",
      `${body.error.code}: the service refuses all calls. Its log has the reason in a line of level error.`,
    );
  const isSame = body.version === project.version;
  const other = `the service is ${body.version}, and this ug is ${project.version}: use the one of the same release`;
  const findings = [
    ok(REACHABLE, `${url.origin} responds`),
    isSame ? ok("version", `${body.version}, as this ug`) : warning("version", other),
    checkClock(page.date, (startedAt + Date.now()) / 2),
  ];
  return { findings, isUp: true };
}

const down = (check: string, message: string) => ({ findings: [failed(check, message)], isUp: false });

const Health = z.object({
  success: z.number(),
  version: z.optional(z.string()),
  error: z.optional(z.object({ code: z.string() })),
});

/** Viewer sessions expire within minutes, so a wrong clock makes them invalid. */
function checkClock(date: string | null, now: number): Finding {
  const at = Date.parse(date ?? "");
  if (Number.isNaN(at)) return skipped("clock", "the service does not show its time");
  const seconds = Math.round(Math.abs(at - now) / 1000);
  const differ = `The clocks of the service and of this machine differ by ${seconds} s. Synchronise both with NTP.`;
  return seconds > CLOCK_SECONDS_MAX ? failed("clock", differ) : ok("clock", "agrees with the clock of this machine");
}

/** When the certificate of the server ends; nothing for an address without TLS. */
export async function checkCertificate(url: URL): Promise<Finding[]> {
  if (url.protocol !== "https:") return [];
  const host = url.hostname.replace(/^\[|\]$/g, "");
  // The calls of the service verify it; here an expired one is examined.
  const socket = connect({ host, port: Number(url.port || 443), servername: host, rejectUnauthorized: false });
  try {
    await once(socket, "secureConnect", { signal: AbortSignal.timeout(FIRST_ANSWER_MS_MAX) });
    return [findingFor(new Date(socket.getPeerCertificate().valid_to), Date.now())];
  } catch {
    return [skipped(CERTIFICATE, "it cannot be read")];
  } finally {
    socket.destroy();
  }
}

/** The finding for a certificate that ends then. */
export function findingFor(end: Date, now: number): Finding {
  const days = Math.floor((end.getTime() - now) / DAY_MS);
  if (days < 0) return failed(CERTIFICATE, `It ended at ${end.toISOString()}. Renew it in the proxy.`);
  const ends = `ends at ${end.toISOString()}, in ${days} days`;
  return days < RENEWED_DAYS_MIN
    ? warning(CERTIFICATE, `It ${ends}. See why the proxy has not renewed it.`)
    : ok(CERTIFICATE, ends);
}

/** Whether the registry answers, and its storage can be read. */
async function checkReadiness(url: URL): Promise<Finding> {
  const check = "ready";
  try {
    const { status, text } = await read("/ready", url);
    if (status === 200) {
      const { jurisdiction } = Readiness.parse(JSON.parse(text));
      return ok(check, `the registry can be read${jurisdiction ? `; all data is kept in ${jurisdiction}` : ""}`);
    }
    const { failed: found } = Unreadiness.parse(JSON.parse(text)).error;
    const what = `not ready: ${found.join(", ")}. The log has the reason in a line of level error.`;
    return failed(check, found.includes("settings") ? `${what} ${UNREADABLE}` : what);
  } catch (error) {
    const foreign = "/ready is not answered by this service. Check the proxy in front of it.";
    return failed(check, isMalformed(error) ? foreign : `/ready cannot be read${sentenceOf(error)}`);
  }
}

const UNREADABLE = "A setting cannot be read: correct it, and load it by a restart, or on Cloudflare by a deployment.";

const Readiness = z.object({ jurisdiction: z.string().nullable() });
const Unreadiness = z.object({ error: z.object({ failed: z.array(z.string()) }) });

/** Offline verifiers need the public keys of the ring. */
async function checkKeys(url: URL): Promise<{ finding: Finding; shown?: unknown[] }> {
  const check = "public keys";
  const path = "/.well-known/jwks.json";
  try {
    const { status, text } = await read(path, url);
    const { keys } = JwkSet.parse(JSON.parse(text));
    if (status === 200 && keys.length > 0) return { finding: ok(check, `${path} shows ${keys.length}`), shown: keys };
  } catch (error) {
    const unread = `${path} cannot be read${sentenceOf(error)} Check the proxy in front of the service.`;
    if (!isMalformed(error)) return { finding: failed(check, unread) };
  }
  return { finding: failed(check, `${path} shows none, so nobody can verify sessions. See the log of the service.`) };
}

/** Whether a credential is accepted, its databases can be read, and sessions can be minted. */
async function checkCredential(url: URL, options: Options): Promise<Finding[]> {
  try {
    const credential = anyCredential(options);
    if (!credential)
      return [skipped("credential", "set API_KEY or OPERATOR_KEY, to check also the databases and PUBLIC_URL")];
    const { kind, expires_at: expiresAt } = await callerOf(url, credential);
    const endsSoon = typeof expiresAt === "string" && Date.parse(expiresAt) - Date.now() < ENDS_SOON_MS;
    const accepted = endsSoon
      ? warning("credential", `${credential.source} ends at ${expiresAt}: roll it before`)
      : ok("credential", `${credential.source} is accepted, as ${kind}`);
    const databases = credential.kind === "operator" ? await checkDatabases(url, credential.text) : [];
    return [accepted, ok("schema", "the database can be read"), ...databases, await checkPublicUrl(url, credential)];
  } catch (failure) {
    if (!(failure instanceof CommandError)) throw failure;
    if (failure.code !== "service_not_configured") return [failed("credential", failure.message)];
    const schema =
      "The database is of another release, or the settings are wrong. The log has the reason in a line of level error.";
    return [failed("schema", schema)];
  }
}

/** Asks for a session of a group that does not exist: the service checks PUBLIC_URL before it looks for the group. */
async function checkPublicUrl(url: URL, credential: Credential): Promise<Finding> {
  const check = "PUBLIC_URL";
  if (credential.kind !== "api_key") return skipped(check, "only an API key mints sessions: set API_KEY to check it");
  const client = new UserGroupClient({ ...connectionTo(url), apiKey: credential.text });
  const call = client.mintSession({ userGroupId: `ug doctor ${crypto.randomUUID()}` });
  const failure = await call.catch((error: unknown) => explainedError(error, url, credential));
  const code = failure instanceof CommandError ? failure.code : "unknown";
  if (code === "user_group_not_found") return ok(check, "sessions can be minted here");
  if (code === "insufficient_access") return skipped(check, "this API key does not mint sessions");
  if (code !== "service_not_configured") return failed(check, `A session cannot be minted: ${code}.`);
  const origin = isLoopback(url) ? "https://groups.example.com" : url.origin;
  return failed(check, `Set PUBLIC_URL to the origin by which users reach the service, such as ${origin}.`);
}

/** Asks each environment as an operator for a group and a key: whether its database can be read, and is there. */
async function checkDatabases(url: URL, operatorKey: string): Promise<Finding[]> {
  const operator = new OperatorClient({ ...connectionTo(url), operatorKey });
  const findings: Finding[] = [];
  let asked = 0;
  try {
    for await (const environment of operator.environments({ pageSize: LIST_ITEMS_MAX })) {
      if (asked === ENVIRONMENTS_MAX) break;
      const problem = await problemOf(operator, environment);
      if (problem !== undefined) findings.push(failed(DATABASES, `${environmentName(environment)} ${problem}`));
      asked += 1;
    }
  } catch (error) {
    if (!(error instanceof UserGroupServiceError)) throw error;
    if (error.code === "insufficient_access")
      return [skipped(DATABASES, "this operator's role may not read environments")];
    findings.push(failed(DATABASES, `The environments cannot be listed: ${error.code}. ${STEPS}`));
  }
  const all = asked === ENVIRONMENTS_MAX ? `the first ${asked}` : `all ${asked}`;
  return findings.length > 0
    ? findings
    : [ok(DATABASES, `${all} environments answer. ug backup --all reads them whole`)];
}

/** What is wrong with an environment. @throws UserGroupServiceError if the operator may not read it */
async function problemOf(operator: OperatorClient, environment: Environment): Promise<string | undefined> {
  try {
    await operator.inEnvironment(environment).listPage({ pageSize: 1 });
    const { keys } = await operator.keyPage({ ...environment, pageSize: 1 });
    return keys.length > 0 ? undefined : LOST;
  } catch (error) {
    if (!(error instanceof UserGroupServiceError) || error.code === "insufficient_access") throw error;
    if (error.code === "environment_not_found") return LOST;
    if (error.code === "environment_damaged") return `is damaged: its database cannot be read. ${STEPS}`;
    return error.code === "environment_restoring" ? undefined : `cannot be read: ${error.code}.`;
  }
}
