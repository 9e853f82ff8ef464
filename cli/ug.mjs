#!/usr/bin/env -S node --
/**
 * `npx ug`: runs the command line on the project's own Node, which may be newer than the user's. It installs missing packages
 * first. It uses nothing newer than Node 14 itself. Without the `--`, Node would read `--env-file` as an option of its own.
 */
import { spawn } from "node:child_process";
import { fstatSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { requirePackages, requireSite } from "../common/install.mjs";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

/** The descriptors from 3 up to the one that `--socket-fd` names, if that is a socket. The command refuses it otherwise. */
function passedSockets() {
  const [, fd] = / --socket-fd[ =](\d{1,3})\b/.exec(` ${process.argv.slice(2).join(" ")}`) || [];
  const last = isSocket(Number(fd)) ? "inherit" : "ignore";
  return Array.from({ length: Math.max(0, Number(fd || 0) - 2) }, (_, index) => (index + 3 < fd ? "ignore" : last));
}

function isSocket(fd) {
  try {
    return fstatSync(fd).isSocket();
  } catch {
    return false;
  }
}

const node = await requirePackages(["serving"]);
if (process.argv[2] === "serve") requireSite(node);
// The channel closes when this process ends, however it ends, so the child never outlives it.
const child = spawn(node, ["--", here("src/main.ts"), ...process.argv.slice(2)], {
  stdio: ["inherit", "inherit", "inherit", ...passedSockets(), "ipc"],
});
// npm passes a signal on to its shell, which does not pass it on: when they have ended, this process has another parent.
const { ppid } = process;
if (process.env.npm_lifecycle_event) setInterval(() => process.ppid === ppid || process.exit(1), 500).unref();
// A terminal sends Ctrl-C to the child too. The child reports each signal that it handles, and gets no second copy: one that came
// while it exits would end it by the signal instead of its exit code.
const REPORT_MS = 100;
let received = 0;
let handled = 0;
child.on("message", () => {
  handled += 1;
});
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"])
  process.on(signal, () => {
    received += 1;
    const due = received;
    setTimeout(() => handled < due && child.kill(signal), REPORT_MS);
  });
child.on("exit", (status, signal) => {
  if (signal) process.removeAllListeners(signal);
  if (signal) process.kill(process.pid, signal);
  else process.exitCode = status;
});
