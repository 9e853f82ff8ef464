/** The wheel of the kit of Python, which has the same bytes for the same files, on each machine. */
import { createHash } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { zipSync } from "fflate";
import { hashesOf, type KitPart } from "./kit-file.ts";

type Entry = { path: string; content: Buffer };

/** Stored as they are, because fflate could change how it compresses. It writes the local time, which is therefore the same everywhere. */
const STORED = { level: 0, os: 3, attrs: 0o100644 * 2 ** 16, mtime: new Date(1985, 9, 26, 12) } as const;

/** The file that pip installs: the wheel of the project in the folder `root` (PEP 427). */
export const wheelOf =
  (root: string): KitPart =>
  ({ python: version }) => {
    const folder = join(root, "python");
    const modules = globSync("user_group_service/*.{py,typed}", { cwd: folder })
      .toSorted()
      .map((path) => ({ path, content: readFileSync(join(folder, path)) }));
    const info = `user_group_service-${version}.dist-info`;
    const entries = [
      ...modules,
      { path: `${info}/METADATA`, content: Buffer.from(metadataOf(version)) },
      { path: `${info}/WHEEL`, content: Buffer.from("Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n") },
    ];
    const record = [...entries.map(recordOf), `${info}/RECORD,,`, ""].join("\n");
    const content = zipOf([...entries, { path: `${info}/RECORD`, content: Buffer.from(record) }]);
    const name = `user_group_service-${version}-py3-none-any.whl`;
    // By its address: an index may have a stranger's package of the same name.
    const url = `http://localhost:8787/kit/${name.replace("+", "%2B")}`;
    const lines = `pip install ${url}#sha256=${hashesOf(content).sha256}`;
    return { name, content, title: "For servers in Python", lines };
  };

const metadataOf = (version: string): string => `Metadata-Version: 2.1
Name: user-group-service
Version: ${version}
Summary: Kit of the user group service: viewer sessions of embedded dashboards, and row-level security
Requires-Python: >=3.9
Requires-Dist: PyJWT[crypto]>=2.6
`;

const recordOf = ({ path, content }: Entry): string =>
  `${path},sha256=${createHash("sha256").update(content).digest("base64url")},${content.length}`;

const zipOf = (entries: readonly Entry[]): Buffer =>
  Buffer.from(zipSync(Object.fromEntries(entries.map(({ path, content }) => [path, content])), STORED));
