/** What `npm run record` has kept of each release. */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import type { Bundle } from "../../../cli/src/serve/bundle.ts";
import project from "../../../package.json" with { type: "json" };
import type { Step, WalkCredentials } from "./walk.ts";

const FOLDER = "test/releases";

/** The recorded releases, the newest one last. */
export const RELEASES: readonly string[] = readdirSync(FOLDER).toSorted((one, other) =>
  one.localeCompare(other, "en", { numeric: true }),
);

const minorOf = (release: string): string => release.split(".").slice(0, 2).join(".");

/** The newest recorded release of an earlier minor version: the one that differs most from this one in what both must bear. */
export const PREVIOUS_RELEASE =
  RELEASES.filter((release) => minorOf(release) !== minorOf(project.version)).at(-1) ?? "";

/** The hash of each recorded release. A recording is never changed, because it is what that release was. */
export const HASHES: Readonly<Record<string, string>> = {
  "1.0.0": "d865c9c43381e1300b4533e59196ac691be6625a6a8f87278375eb3e5bb0871d",
  "1.1.0": "8588622000a7919ed516e6fb8e4b5be9d0b28271d503491b0025e426a2dcb965",
  "1.2.0": "d21013a05bccb49e0aa4c653dfd75380f40c2a0d5952ff8451f076c8faab8c3f",
};

/** The hash of all files in a folder: of their paths, in order, each with the hash of its bytes. */
export function hashOfFolder(folder: string): string {
  const sha256 = (data: string | Buffer) => createHash("sha256").update(data).digest("hex");
  const lines = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map(({ parentPath, name }) => join(parentPath, name))
    .map((path) => `${relative(folder, path)} ${sha256(readFileSync(path))}\n`);
  return sha256(lines.toSorted().join(""));
}

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
