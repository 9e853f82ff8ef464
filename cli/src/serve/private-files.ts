/** Files and folders that only their owner may read. */
import { chmodSync, mkdirSync, statSync, writeFileSync } from "node:fs";

/** Makes the folder if it is missing, and sets its mode to 0700. */
export function makePrivateFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  chmodSync(folder, 0o700);
}

/** Writes a file with mode 0600. With the flag `wx` it must not exist yet. */
export function writePrivateFile(file: string, text: string, flag: "w" | "wx" = "w"): void {
  writeFileSync(file, text, { mode: 0o600, flag });
}

/**
 * Sets the mode of a file to 0600. Anything else, such as a named pipe, is left as it is, and so is a file of another user, whose mode
 * this process cannot change: systemd and podman pass secrets in files of root.
 */
export function makePrivateFile(file: string): void {
  const stats = statSync(file);
  const mayChange = [stats.uid, 0].includes(process.getuid?.() ?? stats.uid);
  if (mayChange && stats.isFile() && (stats.mode & 0o077) !== 0) chmodSync(file, 0o600);
}
