import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Metafile } from "esbuild";
import { ROOT } from "../../cli/src/serve/bundle.ts";

/** `licence` is the SPDX identifier, `text` that of the licence, or where it is. */
export type Component = {
  name: string;
  version: string;
  licence: string;
  text: string;
  /** What Node itself contains, by name. */
  contains?: NodeJS.Dict<string>;
};

/** The components of a release: those of two bundles, and the programs beside them. */
export const componentsOf = (metafiles: readonly Metafile[]): Component[] =>
  sorted([...packagesIn(metafiles), packageIn("node_modules/workerd"), node()]);

/** The packages in bundles by esbuild's metafiles, in the order of their names. */
export function packagesIn(metafiles: readonly Metafile[]): Component[] {
  const folders = metafiles.flatMap(({ inputs }) => Object.keys(inputs).flatMap((path) => packageFolderIn(path) ?? []));
  return sorted([...new Set(folders)].map(packageIn));
}

/** A package may be installed twice. */
const sorted = (components: readonly Component[]): Component[] =>
  [...new Map(components.map((each) => [keyOf(each), each])).values()].toSorted((one, other) =>
    keyOf(one) < keyOf(other) ? -1 : 1,
  );

const keyOf = ({ name, version }: Component): string => `${name}@${version}`;

/** The folder of the npm package that has a file; `undefined` for a file of this project. */
const packageFolderIn = (path: string): string | undefined =>
  /^.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(path)?.[0].replace(/^.*?(?=node_modules\/)/, "");

function packageIn(folder: string): Component {
  const read = (file: string) => readFileSync(join(ROOT, folder, file), "utf8");
  const { name, version, license } = JSON.parse(read("package.json"));
  const file = readdirSync(join(ROOT, folder)).find((each) => /^licen[cs]e/i.test(each));
  return { name, version, licence: license, text: file ? read(file) : `https://spdx.org/licenses/${license}.html` };
}

/** Node's npm package has the program alone. */
function node(): Component {
  const { node: version = "", ...contains } = process.versions;
  return {
    name: "node",
    version,
    licence: "MIT",
    text: `https://github.com/nodejs/node/blob/v${version}/LICENSE`,
    contains,
  };
}

/** The text of the file `licences` of a release or a package. */
export function licencesOf(components: readonly Component[]): string {
  const entries = components.map((each) => `${keyOf(each)} (${each.licence})\n\n${each.text.trim()}\n`);
  return `This contains the following works of others.\n\n${entries.join(`\n${"-".repeat(80)}\n\n`)}`;
}

const NAME = "user-group-service";

/**
 * The software bill of materials of a release, in CycloneDX 1.6 (ECMA-424). It has no random id and no time of its own: `committedAt` is in seconds since
 * 1970.
 */
export function sbomOf({
  version,
  committedAt,
  components,
}: {
  version: string;
  committedAt: number;
  components: readonly Component[];
}): object {
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: {
      timestamp: new Date(committedAt * 1000).toISOString(),
      component: { type: "application", "bom-ref": NAME, name: NAME, version },
    },
    components: components.map(componentOf),
  };
}

const componentOf = ({ name, version, licence, contains = {} }: Component): object => {
  const inside = Object.entries(contains).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return {
    type: name === "node" || name === "workerd" ? "application" : "library",
    "bom-ref": `${name}@${version}`,
    name,
    version,
    // The "@" of a scope is "%40" in a package URL (https://github.com/package-url/purl-spec).
    purl: `pkg:npm/${name.replace("@", "%40")}@${version}`,
    licenses: [{ license: { id: licence } }],
    ...(inside.length > 0 && {
      components: inside.map(([part, its]) => ({
        type: "library",
        "bom-ref": `${name}/${part}@${its}`,
        name: part,
        version: its,
      })),
    }),
  };
};
