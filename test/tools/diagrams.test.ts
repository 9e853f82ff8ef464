import { globSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { diagrams } from "../../tools/diagrams.ts";

it("each diagram of the pages is drawn as its text says, in the colours of both schemes, and loads nothing", () => {
  const drawn = diagrams();
  expect(drawn.size).toBeGreaterThan(2);
  expect(globSync("docs/pictures/*.svg").toSorted()).toEqual([...drawn.keys()].toSorted());
  for (const [file, content] of drawn) {
    expect(readFileSync(file, "utf8"), `${file}: npm run diagrams draws it`).toBe(content);
    expect(content).toContain("prefers-color-scheme: dark");
    expect(content.replace("http://www.w3.org/2000/svg", "")).not.toMatch(/https?:|@import|url\((?!#)/);
  }
});
