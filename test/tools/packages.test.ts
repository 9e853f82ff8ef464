import { readFileSync } from "node:fs";
import { expect, it } from "vitest";

type Package = { version: string };
type Lock = { packages: Record<string, Package & { dependencies?: object; devDependencies?: object }> };
const lockOf = (folder: string): Lock => JSON.parse(readFileSync(`${folder}/package-lock.json`, "utf8"));

/** The generators of clients need an older compiler than the project, and bring older types of Node. */
const OTHER_VERSIONS = ["typescript", "@types/node"];

it("the examples find the project's version of each package that both locks have", () => {
  const [own, foreign] = [lockOf(".").packages, lockOf("examples").packages];
  const names = Object.keys({ ...own[""]?.dependencies, ...own[""]?.devDependencies });
  const shadowed = names.filter((name) => {
    const found = foreign[`node_modules/${name}`];
    return found && found.version !== own[`node_modules/${name}`]?.version;
  });
  expect(shadowed.filter((name) => !OTHER_VERSIONS.includes(name))).toEqual([]);
});
