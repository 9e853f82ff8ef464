import { readFileSync } from "node:fs";
import { describe, expect, it, onTestFinished } from "vitest";
import openapi from "../../public/openapi.json" with { type: "json" };
import { startPlainService } from "../support/node/plain-workerd.ts";
import { promises } from "../support/node/promises.ts";
import { HASHES, hashOfFolder, RELEASES, recorded } from "../support/node/releases.ts";
import { linesOf, stepsAsIn, walk } from "../support/node/walk.ts";

it("the walk makes every call of the document that has an answer in JSON", () => {
  const source = readFileSync("test/support/node/walk.ts", "utf8");
  const steps = [...source.matchAll(/["`]((?:GET|PUT|POST|DELETE) \/[^"`$?]*)/g)].map(([, call = ""]) =>
    call.replaceAll(/\/\d+/g, "/{}"),
  );
  const missing = Object.entries(openapi.paths).flatMap(([path, methods]) =>
    Object.keys(methods)
      .filter((method) => /^(?:get|put|post|delete)$/.test(method))
      .map((method) => `${method.toUpperCase()} ${path.replaceAll(/\{\w+\}/g, "{}")}`)
      .filter((call) => !steps.includes(call)),
  );
  expect(missing).toEqual(["GET /openapi.json", "GET /openapi-3.0.json", "GET /docs"]);
});

describe.for(RELEASES)("release %s", (release) => {
  it("has the files that were recorded of it, and no other", () => {
    expect(hashOfFolder(recorded(release).folder)).toBe(HASHES[release]);
  });

  it("has its calls answered as it answered them, except for what was added", async () => {
    const service = await startPlainService({ isBare: true });
    onTestFinished(service.stop);
    const { steps: before } = recorded(release);
    const steps = stepsAsIn(before, (await walk(service, { erase: false })).steps);
    expect(linesOf(steps)).toEqual(linesOf(before));
    for (const [index, step] of before.entries()) expect(steps[index], step.call).toMatchObject(step);
  });

  it("has each of its promises kept", async () => {
    const { promises: before } = recorded(release);
    const now = new Set(await promises());
    expect(before.filter((promise) => !now.has(promise) && !/ needs /.test(promise))).toEqual([]);
    // A call of that release still gets all that it needs.
    const calls = before.filter((line) => / answers 20\d$/.test(line)).map((line) => line.split(" answers ")[0]);
    const needs = [...now].filter((line) => / needs /.test(line) && calls.includes(line.split(" needs ")[0]));
    expect(needs.filter((line) => !before.includes(line))).toEqual([]);
    expect(before.length).toBeGreaterThan(1000);
  });
});
