/** What a service on this machine has loaded, as Linux shows it to the user who runs the service, and to root. */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { resolve } from "node:path";
import { DEFAULT_PORT, DEFAULT_SECRETS_FILE } from "../serve/options.ts";
import { CONFIG_FILE } from "../serve/state-folder.ts";

/** A running `ug serve`: its arguments and folder, and the settings of its workerd. */
type Running = { args: string[]; folder: string; settings: Record<string, string> };

/** The settings that it has loaded, and those that `--var` set. */
export type Loaded = { settings: Record<string, string>; fromOptions: string[] };

/**
 * The settings of the service at this port, or else of the one that was started with this file, or else of the one whose socket systemd
 * holds. `undefined` if there is not exactly one that this user can see.
 */
export function loadedSettings(port: string, file: string): Loaded | undefined {
  const running = processIds().flatMap((id) => runningIn(id) ?? []);
  const isHeld = ({ args }: Running) => valuesOf(args, "--socket-fd").length > 0;
  const atPort = running.filter((each) => !isHeld(each) && portIn(each) === port);
  const withFile = running.filter(({ args, folder }) => {
    const [own = DEFAULT_SECRETS_FILE] = valuesOf(args, "--env-file");
    return resolve(folder, own) === resolve(file);
  });
  const found = [atPort, withFile, running.filter(isHeld)].find((each) => each.length > 0) ?? [];
  const [service] = found;
  if (!service || found.length > 1) return undefined;
  return {
    settings: service.settings,
    fromOptions: valuesOf(service.args, "--var").map((text) => text.split(":")[0] ?? ""),
  };
}

const portIn = ({ args }: Running): string => valuesOf(args, "--port")[0] ?? String(DEFAULT_PORT);

/** The values of an option in a command line, as `--port 1` or `--port=1`. */
const valuesOf = (args: readonly string[], option: string): string[] =>
  args.flatMap((arg, index) => {
    if (arg === option) return args[index + 1] ?? [];
    return arg.startsWith(`${option}=`) ? arg.slice(option.length + 1) : [];
  });

/** The service whose workerd is this process. */
function runningIn(id: string): Running | undefined {
  try {
    if (!textsIn(id, "cmdline").some((arg) => arg.endsWith(CONFIG_FILE))) return undefined;
    const [, parent = ""] = /^PPid:\s*(\d+)$/m.exec(readFileSync(`/proc/${id}/status`, "utf8")) ?? [];
    const args = textsIn(parent, "cmdline");
    if (!args.includes("serve")) return undefined;
    const settings = textsIn(id, "environ").map((text) => {
      const end = text.indexOf("=");
      return [text.slice(0, end), text.slice(end + 1)];
    });
    return { args, folder: readlinkSync(`/proc/${parent}/cwd`), settings: Object.fromEntries(settings) };
  } catch {
    // It has ended, or belongs to another user.
    return undefined;
  }
}

const textsIn = (id: string, file: "cmdline" | "environ"): string[] =>
  readFileSync(`/proc/${id}/${file}`, "utf8").split("\0").slice(0, -1);

function processIds(): string[] {
  try {
    return readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  } catch {
    return [];
  }
}
