/** The software bill of materials of a release, in CycloneDX 1.6 (ECMA-424). It has no random id and no time of its own. */
import type { Component } from "./components.ts";

const NAME = "user-group-service";

/** `committedAt` is in seconds since 1970. */
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
