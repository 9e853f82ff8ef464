import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { request } from "undici";
import { describe, expect, inject, it } from "vitest";
import { newFolder } from "../support/node/new-folder.ts";

const { url } = inject("service");
const FILE = "public/openapi.json";
const committed = readFileSync(FILE, "utf8");
const document = JSON.parse(committed);

type ObjectSchema = { type: "object"; properties: Record<string, object>; additionalProperties?: unknown };

/** Every schema in `value` of an object with fields, with its path. */
function objectSchemas(value: unknown, place = ""): { place: string; schema: ObjectSchema }[] {
  if (typeof value !== "object" || value === null) return [];
  const inner = Object.entries(value).flatMap(([key, member]) => objectSchemas(member, `${place}/${key}`));
  return "type" in value && value.type === "object" && "properties" in value
    ? [{ place, schema: value as ObjectSchema }, ...inner]
    : inner;
}

/** The description and length of every text in `value` whose length is limited. A parameter describes its schema. */
function limitedTexts(value: unknown, described = ""): { description: string; maxLength: number }[] {
  if (typeof value !== "object" || value === null) return [];
  const description = "description" in value ? String(value.description) : described;
  const inner = Object.entries(value).flatMap(([key, each]) => limitedTexts(each, key === "schema" ? description : ""));
  return "maxLength" in value ? [{ description, maxLength: Number(value.maxLength) }, ...inner] : inner;
}

describe("the OpenAPI document", () => {
  it("is what `npm run openapi` makes of the schemas", () => {
    const file = join(newFolder(), "openapi.json");
    const { stderr } = spawnSync(process.execPath, ["tools/openapi.ts", file], { encoding: "utf8" });
    expect(stderr).toBe("");
    expect(readFileSync(file, "utf8") === committed, "public/openapi.json is current; if not: npm run openapi").toBe(
      true,
    );
  });

  it("has the version of package.json", () => {
    expect(document.info.version).toBe(JSON.parse(readFileSync("package.json", "utf8")).version);
  });

  it("has a sentence for every field, parameter and header", () => {
    const { parameters, headers, securitySchemes } = document.components;
    const parts = [
      ...objectSchemas(document).map(({ place, schema }) => ({ place, members: schema.properties })),
      { place: "", members: { ...parameters, ...headers, ...securitySchemes } },
    ].flatMap(({ place, members }) => Object.entries<object>(members).map(([name, part]) => ({ place, name, part })));
    // The error of a refusal is a reference, or a choice of several, each with a sentence of its own.
    const silent = parts.filter(({ part }) => !("description" in part || "$ref" in part || "oneOf" in part));
    expect(parts.length).toBeGreaterThan(100);
    expect(silent.map(({ place, name }) => `${place}/${name}`)).toEqual([]);
  });

  it("names the unit of each length: UTF-16 code units, ASCII or bytes", () => {
    const limited = limitedTexts(document);
    expect(limited.length).toBeGreaterThan(20);
    for (const { description, maxLength } of limited)
      expect(description).toMatch(new RegExp(`1 to ${maxLength} UTF-16 code units|${maxLength} bytes in UTF-8|ASCII`));
  });

  it("has examples of this version, with credentials of the form that the service issues", () => {
    const credentials = committed.match(/ug[kt]_(?:customer|testing|untagged)_[\w-]*/g) ?? [];
    expect(credentials.length).toBeGreaterThan(3);
    // Version 1 and a key id of two characters, as `npm start` makes it, workspace acme, number, nonce and MAC.
    expect(credentials.filter((credential) => !/_AQJrMQRhY21l[\w-]{54}$/.test(credential))).toEqual([]);
    expect(document.components.schemas.Health.properties.version.examples).toEqual([document.info.version]);
  });

  it("has no object that may have other fields than it names, but the error of any failure", () => {
    const open = objectSchemas(document).filter(({ schema }) => schema.additionalProperties !== false);
    expect(open.map(({ place }) => place)).toEqual(["/components/schemas/Failure/properties/error"]);
  });
});

describe("over the network", () => {
  const ask = (method: "GET" | "HEAD" | "POST" | "PUT" | "DELETE", path: string, headers = {}) =>
    request(url + path, { method, headers });

  it("GET /openapi.json is the committed file, with a request id", async () => {
    const { statusCode, headers, body } = await ask("GET", "/openapi.json");
    expect(statusCode).toBe(200);
    expect(headers["content-type"]).toBe("application/json");
    expect(headers["x-request-id"]).toMatch(/^[\da-f-]{36}$/);
    // Without the blanks, which make a third of it.
    expect(await body.text()).toBe(JSON.stringify(JSON.parse(committed)));
  });

  it.for(["/", "/openapi.json", "/docs", "/docs/calls", "/docs/errors.md", "/llms.txt"])(
    "%s answers GET and HEAD, and refuses other methods",
    async (path) => {
      const head = await ask("HEAD", path);
      expect(head.statusCode).toBe(200);
      await head.body.dump();
      for (const method of ["POST", "PUT", "DELETE"] as const) {
        const { statusCode, headers, body } = await ask(method, path);
        expect(statusCode).toBe(405);
        expect(headers.allow).toBe("GET, HEAD");
        expect(await body.json()).toMatchObject({ error: { code: "method_not_allowed" } });
      }
    },
  );
});
