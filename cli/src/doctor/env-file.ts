/** Checks the file of a service's settings and secrets, and prints no value of it. */
import { createECDH, hkdfSync } from "node:crypto";
import { readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { attempt } from "../../../common/attempt.ts";
import { CommandError } from "../../../common/command-error.ts";
import { OPERATOR_TOKEN_UNITS_MIN } from "../../../common/limits.ts";
import { isLoopback } from "../../../common/origin.ts";
import { SESSION_KEY } from "../../../common/session-key-derivation.ts";
import { readSetting, SETTING_NAMES, type SettingName, unusableSettings } from "../../../common/settings/settings.ts";
import { IS_CLONE, SECRETS_OF_MACHINE } from "../release.ts";
import { DEFAULT_PORT, DEFAULT_SECRETS_FILE, SECRETS } from "../serve/options.ts";
import { repeatedSettings, type SettingsFile, settingsFileIn, unknownNames } from "../serve/settings-file.ts";
import { CONFIG_FILE } from "../serve/workerd-config.ts";
import { type Finding, failed, ok, skipped, warning } from "./finding.ts";

type Texts = NodeJS.Dict<string>;

/** The file of `--env-file`, or else that of a service on this machine: its name, its texts, and what is wrong with them. */
export type EnvFile = { file: string; texts: Texts; findings: Finding[] };

/** Why the secrets of this machine are not examined. Those of a box are where only root can read them. */
const NOT_GIVEN = IS_CLONE ? `there is no ${DEFAULT_SECRETS_FILE} here` : `give --env-file ${SECRETS_OF_MACHINE}`;

/** Examines the file. The texts are `undefined` if there are none. */
export function examineEnvFile(url: URL, envFile: string | undefined): Partial<EnvFile> & Pick<EnvFile, "findings"> {
  const file = envFile ?? (isLoopback(url) ? DEFAULT_SECRETS_FILE : undefined);
  if (file === undefined) return { findings: [] };
  let found: SettingsFile | undefined;
  try {
    found = settingsFileIn(file);
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    return { findings: [failed("secrets", error.message)] };
  }
  if (!found) {
    const missing = skipped("secrets", NOT_GIVEN);
    return { findings: [envFile ? failed("secrets", `${file} does not exist.`) : missing] };
  }
  const { texts, repeated } = found;
  const findings = checkTexts(file, texts);
  if ((statSync(file).mode & 0o077) !== 0)
    findings.push(failed("secrets", `Other users can read ${file}. Run: chmod 600 ${file}`));
  findings.push(...checkToken(file, texts));
  const twice = repeatedSettings(file, repeated);
  if (twice !== undefined) findings.push(warning("settings", twice));
  // Lines without an effect are perhaps a mistake.
  const unknown = unknownNames(texts);
  if (unknown !== undefined) findings.push(warning("settings", `${unknown} in ${file}.`));
  const useless = `CLIENT_ADDRESS_HEADER does nothing in ${file}. Give ug serve --client-address-header in its place.`;
  if (texts.CLIENT_ADDRESS_HEADER && isLoopback(url)) findings.push(warning("settings", useless));
  return { file, texts, findings };
}

/** Whether each setting in the file can be used, and the signing keys are there. */
function checkTexts(file: string, texts: Texts): Finding[] {
  const found = unusableSettings(texts).map(({ name, problem }) => failed(checkOf(name), `In ${file}: ${problem}`));
  const hasKeys = readSetting(texts, "SIGNING_KEYS").ok;
  return hasKeys ? [ok("secrets", `${file} has SIGNING_KEYS`), ...found] : found;
}

const checkOf = (name: SettingName): string => (SECRETS.includes(name) ? "secrets" : "settings");

function checkToken(file: string, texts: Texts): Finding[] {
  const token = readSetting(texts, "OPERATOR_TOKEN");
  if (!token.ok || token.value !== undefined) return [];
  const what = texts.OPERATOR_TOKEN ? `has fewer than ${OPERATOR_TOKEN_UNITS_MIN} characters` : "is missing";
  return [warning("secrets", `OPERATOR_TOKEN in ${file} ${what}, so it admits nobody`)];
}

const RESTART = "Restart the service; under systemd: sudo systemctl restart user-group-service";

/** Whether the service at this address has loaded the present content of the file. */
export function checkLoaded({ file, texts }: Pick<EnvFile, "file" | "texts">, url: URL, jwks: unknown): Finding[] {
  const service = isLoopback(url) ? runningService(url.port, file) : undefined;
  if (!service) return checkLoadedKeys({ file, texts }, jwks);
  const { args, settings } = service;
  const fromOptions = valuesOf(args, "--var").map((text) => text.split(":")[0] ?? "");
  const other = SETTING_NAMES.filter((name) => texts[name] && !fromOptions.includes(name))
    .filter((name) => name !== "CLIENT_ADDRESS_HEADER")
    .filter((name) => texts[name] !== settings[name]);
  const isLoaded = ok("loaded", `the service has loaded what is in ${file}`);
  const isOld = failed("loaded", `The service has not loaded ${other.join(", ")} as ${file} has it. ${RESTART}`);
  return [other.length === 0 ? isLoaded : isOld, ...checkAddressHeader(settings)];
}

/** Without a proxy, users reach a service on one box by loopback alone. */
function checkAddressHeader({ PUBLIC_URL, CLIENT_ADDRESS_HEADER: header }: Record<string, string>): Finding[] {
  const setting = readSetting({ PUBLIC_URL }, "PUBLIC_URL");
  const isBehindProxy = setting.ok && URL.canParse(setting.value ?? "") && !isLoopback(new URL(setting.value ?? ""));
  if (!isBehindProxy) return [];
  if (header) return [ok("address", `clients are counted by the header ${header}, which the proxy must set`)];
  const shared =
    "PUBLIC_URL names another host, so a proxy is in front, and all its clients share one limit of refused credentials. Give ug serve --client-address-header.";
  return [warning("address", shared)];
}

/** The public keys that the service shows derive from its signing keys. */
function checkLoadedKeys({ file, texts }: Pick<EnvFile, "file" | "texts">, jwks: unknown): Finding[] {
  const keys = readSetting(texts, "SIGNING_KEYS");
  if (!keys.ok || !Array.isArray(jwks)) return [];
  const shown = jwks.map((key: { x?: unknown }) => key.x);
  if (String(shown) === String(keys.value.map(({ secret }) => publicXOf(secret))))
    return [ok("loaded", `the service has loaded the SIGNING_KEYS of ${file}`)];
  const other = `The service has other SIGNING_KEYS than ${file}. If the file is that of this service: ${RESTART}`;
  return [failed("loaded", other)];
}

/** The coordinate x of the public key that `session-key.ts` derives in the Worker. */
function publicXOf(secret: Uint8Array): string {
  const { info, derivedBytes, order } = SESSION_KEY;
  const derived = Buffer.from(hkdfSync("sha256", secret, new Uint8Array(0), info, derivedBytes)).toString("hex");
  const scalar = (BigInt(`0x${derived}`) % (order - 1n)) + 1n;
  const pair = createECDH("prime256v1");
  pair.setPrivateKey(scalar.toString(16).padStart(64, "0"), "hex");
  return pair.getPublicKey().subarray(1, 33).toString("base64url");
}

/** A running `ug serve`: its arguments and folder, and the settings of its workerd. */
export type Running = { args: string[]; folder: string; settings: Record<string, string> };

/**
 * The service at this port, or else of the one that was started with this file, or else of the one whose socket systemd
 * holds. `undefined` if there is not exactly one that this user can see: Linux shows a process to its user and to root.
 */
export function runningService(port: string, file: string): Running | undefined {
  // Those that have ended, and those of other users, cannot be read.
  const running = processIds().flatMap((id) => attempt(() => runningIn(id)) ?? []);
  const isHeld = ({ args }: Running) => valuesOf(args, "--socket-fd").length > 0;
  const atPort = running.filter((each) => !isHeld(each) && portIn(each) === port);
  const withFile = running.filter(({ args, folder }) => {
    const [own = DEFAULT_SECRETS_FILE] = valuesOf(args, "--env-file");
    return resolve(folder, own) === resolve(file);
  });
  const found = [atPort, withFile, running.filter(isHeld)].find((each) => each.length > 0) ?? [];
  return found.length === 1 ? found[0] : undefined;
}

const portIn = ({ args }: Running): string => valuesOf(args, "--port")[0] ?? String(DEFAULT_PORT);

/** The values of an option in a command line, as `--port 1` or `--port=1`. */
export const valuesOf = (args: readonly string[], option: string): string[] =>
  args.flatMap((arg, index) => {
    if (arg === option) return args[index + 1] ?? [];
    return arg.startsWith(`${option}=`) ? arg.slice(option.length + 1) : [];
  });

/** The service whose workerd is this process. */
function runningIn(id: string): Running | undefined {
  if (!textsIn(id, "cmdline").some((arg) => arg.endsWith(CONFIG_FILE))) return undefined;
  const [, parent = ""] = /^PPid:\s*(\d+)$/m.exec(readFileSync(`/proc/${id}/status`, "utf8")) ?? [];
  const args = textsIn(parent, "cmdline");
  if (!args.includes("serve")) return undefined;
  const settings = textsIn(id, "environ").map((text) => {
    const end = text.indexOf("=");
    return [text.slice(0, end), text.slice(end + 1)];
  });
  return { args, folder: readlinkSync(`/proc/${parent}/cwd`), settings: Object.fromEntries(settings) };
}

const textsIn = (id: string, file: "cmdline" | "environ"): string[] =>
  readFileSync(`/proc/${id}/${file}`, "utf8").split("\0").slice(0, -1);

const processIds = (): string[] => (attempt(() => readdirSync("/proc")) ?? []).filter((name) => /^\d+$/.test(name));
