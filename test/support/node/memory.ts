import { existsSync, readFileSync } from "node:fs";

/** Whether the system has the memory of processes in files, as Linux does. */
export const canMeasureMemory: boolean = existsSync("/proc/self/status");

const bytesIn = (pid: number, field: string): number =>
  Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) * 1024;

/** The resident memory of a process (proc(5): VmRSS of /proc/pid/status, which counts KiB). */
export const residentBytesOf = (pid: number): number => bytesIn(pid, "VmRSS");

/** The most that it has been so far (VmHWM). */
export const peakBytesOf = (pid: number): number => bytesIn(pid, "VmHWM");
