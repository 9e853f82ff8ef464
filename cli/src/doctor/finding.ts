type Level = "ok" | "warning" | "failed" | "skipped";

/** What one check of `ug doctor` has found. The sentence of a failure says how to fix it. */
export type Finding = { check: string; level: Level; message: string };

export const ok = (check: string, message: string): Finding => ({ check, level: "ok", message });
export const warning = (check: string, message: string): Finding => ({ check, level: "warning", message });
export const failed = (check: string, message: string): Finding => ({ check, level: "failed", message });
export const skipped = (check: string, message: string): Finding => ({ check, level: "skipped", message });
