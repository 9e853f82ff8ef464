import { existsSync, readFileSync } from "node:fs";

/** Whether the system has the memory of processes in files, as Linux does. */
export const canMeasureMemory: boolean = existsSync("/proc/self/status");

/** The resident memory of a process (proc(5): VmRSS of /proc/pid/status, which counts KiB). */
export const residentBytesOf = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) * 1024;
