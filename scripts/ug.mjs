#!/usr/bin/env node
/**
 * `npx ug`: runs the command line on the project's own Node, which may be newer than the user's. It installs missing packages
 * first. It uses nothing newer than Node 14 itself.
 */
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { requirePackages } from "./install.mjs";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

requirePackages();
// The channel closes when this process ends, however it ends, so the child never outlives it.
const child = spawn(here("../node_modules/.bin/node"), ["--", here("ug/main.ts"), ...process.argv.slice(2)], {
  stdio: ["inherit", "inherit", "inherit", "ipc"],
});
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("exit", (status, signal) => {
  if (signal) process.removeAllListeners(signal);
  if (signal) process.kill(process.pid, signal);
  else process.exitCode = status;
});
