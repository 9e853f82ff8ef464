import { filesAt } from "./folder.ts";

/** The files of the backup at a path, as `filesAt` finds them. Says on standard error which folder was taken, and which was not. */
export function backupAt(path: string): Pick<ReturnType<typeof filesAt>, "files" | "folder"> {
  const { files, folder, later } = filesAt(path, new Date());
  if (folder !== undefined && folder !== path) console.error(`The newest backup is ${folder}.`);
  if (later.length > 0)
    console.error(`Later than now, so left out: ${later.join(", ")}. The clock is wrong now, or was wrong then.`);
  return { files, ...(folder !== undefined && { folder }) };
}
