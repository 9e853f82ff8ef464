/** The wheel of the kit of Python, which has the same bytes for the same files, on each machine. */
import { createHash } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { hashesOf, type KitPart } from "./kit-file.ts";

type Entry = { path: string; content: Buffer };

/** 26 October 1985, as an archive writes it: the years since 1980, the month and the day. */
const DATE = ((1985 - 1980) << 9) | (10 << 5) | 26;
/** Version 2.0 of the format, names in UTF-8, and a file that is stored as it is: how it is compressed would depend on Node's zlib. */
const STORED = Buffer.from([20, 0, 0, 0x08, 0, 0]);

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

/** A ZIP archive (APPNOTE.TXT of PKWARE, sections 4.3.7, 4.3.12 and 4.3.16). */
function zipOf(entries: readonly Entry[]): Buffer {
  const files: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { path, content } of entries) {
    const name = Buffer.from(path);
    const facts = Buffer.concat([
      STORED,
      numbers(2, 0, DATE),
      numbers(4, crc32(content), content.length, content.length),
      numbers(2, name.length, 0),
    ]);
    files.push(Buffer.from("PK\u0003\u0004"), facts, name, content);
    const attributes = numbers(4, 0o100644 * 2 ** 16, offset);
    directory.push(Buffer.from("PK\u0001\u0002\u0014\u0003"), facts, numbers(2, 0, 0, 0), attributes, name);
    offset += 4 + facts.length + name.length + content.length;
  }
  const listed = Buffer.concat(directory);
  const end = [numbers(2, 0, 0, entries.length, entries.length), numbers(4, listed.length, offset), numbers(2, 0)];
  return Buffer.concat([...files, listed, Buffer.from("PK\u0005\u0006"), ...end]);
}

/** Little-endian numbers of so many bytes each. */
function numbers(bytes: 2 | 4, ...values: number[]): Buffer {
  const written = Buffer.alloc(bytes * values.length);
  values.forEach((value, index) => void written.writeUIntLE(value, index * bytes, bytes));
  return written;
}
