/** Why a file or a folder cannot be used: its owner, its mode, or its disk. */
import { accessSync, constants, existsSync, readFileSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { attempt } from "../../../common/attempt.ts";
import { systemErrorCode } from "./errors.ts";

const { R_OK, W_OK, X_OK } = constants;
const READ_WRITE = R_OK | W_OK;

const CAUSES: NodeJS.Dict<string> = {
  ENOSPC: "the disk is full. Free space on it",
  EDQUOT: "the quota of this user on the disk is used up. Free space, or raise the quota",
  EROFS: "the disk is read-only. Mount it for writing",
};

/** The end of a sentence for the code of an error at a path, with what to do if that is known. It has no full stop. */
export function causeOf(code: string, path: string | undefined, needed: number = READ_WRITE): string {
  const cause = CAUSES[code];
  const denied = path === undefined ? undefined : denialOf(path, needed, code);
  const known = cause === undefined ? denied : `${cause}: ${path}`;
  return known === undefined ? code : `${code}. ${known.charAt(0).toUpperCase()}${known.slice(1)}`;
}

/**
 * What denies this user a path: a sentence without its full stop, with the file or folder and its owner. Only for the path itself, and for
 * no folder above it, it has a command for root.
 */
export function denialOf(path: string, needed: number = READ_WRITE, code?: string): string | undefined {
  const user = process.getuid?.();
  const whole = resolve(path);
  const barrier = barrierOn(whole, needed) ?? (code === "EPERM" ? whole : undefined);
  const stats = barrier === undefined ? undefined : attempt(() => statSync(barrier));
  if (barrier === undefined || stats === undefined || user === undefined) return undefined;
  if (stats.uid === user) {
    const mode = (stats.mode & 0o7777).toString(8).padStart(4, "0");
    return code === "EPERM"
      ? undefined
      : `${barrier} has the mode ${mode}: chmod u+rw${stats.isDirectory() ? "x" : ""} ${barrier}`;
  }
  const command = barrier === whole ? `: chown ${nameOf(user) ?? user} ${barrier}` : "";
  return `${barrier} belongs to ${named(stats.uid)}, and ug runs as ${named(user)}${command}`;
}

/** The first of a path's folders, or the path itself, that this user may not use as needed. */
function barrierOn(path: string, needed: number): string | undefined {
  const folder = dirname(path);
  const above = folder === path ? undefined : barrierOn(folder, X_OK);
  if (above !== undefined) return above;
  if (!existsSync(path)) return (needed & W_OK) !== 0 && !mayUse(folder, W_OK | X_OK) ? folder : undefined;
  const isFolder = attempt(() => statSync(path).isDirectory()) ?? false;
  return mayUse(path, isFolder ? needed | X_OK : needed) ? undefined : path;
}

function mayUse(path: string, needed: number): boolean {
  try {
    accessSync(path, needed);
    return true;
  } catch (error) {
    return systemErrorCode(error) !== "EACCES";
  }
}

const named = (user: number): string => [nameOf(user), `(${user})`].filter((part) => part !== undefined).join(" ");

/** The name of a user in passwd(5). */
function nameOf(user: number): string | undefined {
  const lines = (attempt(() => readFileSync("/etc/passwd", "utf8")) ?? "").split("\n").map((line) => line.split(":"));
  return lines.find(([, , id]) => id === String(user))?.[0];
}
