/** What `npm run record` has kept of each release. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Bundle } from "../../../scripts/serve/bundle.ts";
import type { Step, WalkCredentials } from "./walk.ts";

const FOLDER = "test/releases";

/** The recorded releases, the newest one last. */
export const RELEASES: readonly string[] = readdirSync(FOLDER).toSorted((one, other) =>
  one.localeCompare(other, "en", { numeric: true }),
);

/** What was recorded of a release: its files, secrets, credentials, Worker, calls and promises. */
export function recorded(release: string) {
  const folder = join(FOLDER, release);
  const json = (name: string) => JSON.parse(readFileSync(join(folder, name), "utf8"));
  const { secrets, credentials } = json("secrets.json") as {
    secrets: Record<string, string>;
    credentials: WalkCredentials;
  };
  const worker: Bundle = { folder: join(process.cwd(), folder, "worker"), settings: json("worker/settings.json") };
  const promises = readFileSync(join(folder, "promises.txt"), "utf8").trimEnd().split("\n");
  return { folder, secrets, credentials, worker, promises, steps: json("calls.json") as Step[] };
}
