/** Finds the TCP sockets on which a process and its descendants listen, as Linux lists them under /proc. */
import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs";

const LISTENING = "0A";

export const canListAddresses: boolean = existsSync("/proc/net/tcp") && existsSync("/proc/self/fd");

/** The addresses, such as `127.0.0.1:8787`, on which the process `root` and its descendants accept connections. */
export function listeningAddresses(root: number): string[] {
  const sockets = new Set(processTree(root).flatMap(socketsOf));
  return ["/proc/net/tcp", "/proc/net/tcp6"]
    .filter((file) => existsSync(file))
    .flatMap((file) => readFileSync(file, "utf8").trim().split("\n").slice(1))
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , , state, , , , , , socket]) => state === LISTENING && sockets.has(`socket:[${socket}]`))
    .map(([, address = ""]) => reachable(address));
}

/** Returns the result of `read`, or `[]` if the process has ended. */
function unlessEnded<Item>(read: () => Item[]): Item[] {
  try {
    return read();
  } catch {
    return [];
  }
}

function processTree(root: number): number[] {
  const children = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => unlessEnded(() => [parentOf(pid)]).includes(root));
  return [root, ...children.flatMap((pid) => processTree(Number(pid)))];
}

/** The name of the program stands in parentheses, and may contain any character. */
function parentOf(pid: string): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
}

function socketsOf(pid: number): string[] {
  return unlessEnded(() => readdirSync(`/proc/${pid}/fd`))
    .flatMap((fd) => unlessEnded(() => [readlinkSync(`/proc/${pid}/fd/${fd}`)]))
    .filter((target) => target.startsWith("socket:"));
}

/** The address to connect to. The kernel prints each 32-bit word in the byte order of the machine, here little-endian. */
function reachable(address: string): string {
  const [host = "", port = ""] = address.split(":");
  const bytes = (host.match(/.{8}/g) ?? []).flatMap((word) => (word.match(/../g) ?? []).reverse());
  const isUnspecified = bytes.every((byte) => byte === "00");
  if (bytes.length === 4)
    return `${isUnspecified ? "127.0.0.1" : bytes.map((byte) => Number.parseInt(byte, 16)).join(".")}:${Number.parseInt(port, 16)}`;
  const groups = (bytes.join("").match(/.{4}/g) ?? []).join(":");
  return `[${isUnspecified ? "::1" : groups}]:${Number.parseInt(port, 16)}`;
}
