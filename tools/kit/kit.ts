/** `/kit/`: what integrators install. A name with a version never changes its bytes. */
import { createHash } from "node:crypto";
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { hashesOf, type KitFile, type KitVersion } from "./kit-file.ts";
import { compileClient, packageOf, viewerOf } from "./package.ts";
import { wheelOf } from "./wheel.ts";

/** The kit of a version, without the viewers of older releases, and its hash, in which the version does not count. */
type Kit = { version: string; hash: string; viewer: KitFile; files: KitFile[] };

/** What is recorded of a release: the hash of its kit, and of its viewer as an import map has it. */
type Release = { kit: string; viewer: string };

/** Beside the records is the viewer of each release. They stay for good, because pages name them. */
const RECORDS = "client/releases/kit.json";
const HASH_DIGITS = 12;
/** Any version: the hash must not depend on the version that is made of it. */
const NO_VERSION: KitVersion = { npm: "0.0.0", python: "0.0.0" };

/** Makes the kit of the project in the folder `root`, and the client in its `client/dist/`. A further file joins here. */
async function kitOf(root: string): Promise<Kit> {
  const client = compileClient(root);
  for (const { path, content } of client) write(join(root, "client", path), content);
  const viewer = viewerOf(client);
  const parts = [await packageOf(root, client), viewer, wheelOf(root)];
  const content = createHash("sha256");
  for (const part of parts) content.update(part(NO_VERSION).content);
  const hash = content.digest("hex");
  const next = nextVersion(root);
  const isReleased = recordsIn(root)[next]?.kit === hash;
  // Digits alone would be a number in a version, which loses its zeros.
  const [short = ""] = new RegExp(`[a-f]\\w{${HASH_DIGITS - 1}}`).exec(hash) ?? [];
  const version = isReleased
    ? { npm: next, python: next }
    : { npm: `${next}-dev.${short}`, python: `${next}.dev0+${short}` };
  return { version: version.npm, hash, viewer: viewer(version), files: parts.map((part) => part(version)) };
}

/**
 * Writes the kit into the folder `kit` of `output`, and removes files of an older build.
 *
 * @throws if the viewer of a release is not the one that was recorded.
 */
export async function writeKit(root: string, output: string): Promise<KitFile[]> {
  const { version, viewer, files } = await kitOf(root);
  const all = [...files, ...olderViewers(root, files)];
  const listed = {
    version,
    files: all.map(({ name, content }) => ({ name, bytes: content.length, ...hashesOf(content) })),
  };
  const written = new Map(all.map(({ name, content }) => [name, content]));
  written.set("viewer.js", viewer.content);
  written.set("files.json", Buffer.from(`${JSON.stringify(listed, undefined, 2)}\n`));
  for (const [name, content] of written) write(join(output, "kit", name), content);
  for (const name of globSync("*.{js,tgz,whl}", { cwd: join(output, "kit") }))
    if (!written.has(name)) rmSync(join(output, "kit", name), { force: true });
  return all;
}

/** Records the kit of the version in CHANGELOG.md: its names then have no hash. Returns that version. */
export async function recordKit(root: string): Promise<string> {
  const { hash, viewer } = await kitOf(root);
  const version = nextVersion(root);
  const records = { ...recordsIn(root), [version]: { kit: hash, viewer: hashesOf(viewer.content).integrity } };
  write(join(root, dirname(RECORDS), `viewer-${version}.js`), viewer.content);
  write(join(root, RECORDS), `${JSON.stringify(records, undefined, 2)}\n`);
  return version;
}

function recordsIn(root: string): Record<string, Release> {
  const file = join(root, RECORDS);
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {};
}

/** The version on top of the changelog: that of the next release, or of the present one. */
function nextVersion(root: string): string {
  const [, version] = /^## (\d+\.\d+\.\d+)/m.exec(readFileSync(join(root, "CHANGELOG.md"), "utf8")) ?? [];
  if (version === undefined) throw new Error("CHANGELOG.md does not begin with a version.");
  return version;
}

/** The viewers of the releases that are not among the files. */
function olderViewers(root: string, files: readonly KitFile[]): KitFile[] {
  const viewers = Object.entries(recordsIn(root)).map(([version, { viewer }]) => {
    const name = `viewer-${version}.js`;
    const content = readFileSync(join(root, dirname(RECORDS), name));
    if (hashesOf(content).integrity !== viewer)
      throw new Error(
        `${name} in ${dirname(RECORDS)} is not the one that was released. Pages name its hash: restore it.`,
      );
    return {
      ...viewerOf([{ path: "dist/viewer.js", content }])({ npm: version, python: version }),
      title: `For pages of ${version}`,
    };
  });
  return viewers.filter(({ name }) => files.every((file) => file.name !== name));
}

function write(file: string, content: Buffer | string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
}
