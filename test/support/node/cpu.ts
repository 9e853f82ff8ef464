import { existsSync, readFileSync } from "node:fs";

/** Whether the system has the CPU time of processes in files, as Linux does. */
export const canMeasureCpu: boolean = existsSync("/proc/self/stat");

/** The CPU time that these processes have used so far, in clock ticks (proc(5): utime and stime of /proc/pid/stat). */
export const cpuTicksOf = (pids: number[]): number =>
  pids
    .map((pid) => readFileSync(`/proc/${pid}/stat`, "utf8"))
    // The name of the program stands in parentheses, and may contain any character.
    .map((stat) => stat.slice(stat.lastIndexOf(")") + 2).split(" "))
    .reduce((sum, fields) => sum + Number(fields[11]) + Number(fields[12]), 0);
