import { readFileSync } from "node:fs";
import fc from "fast-check";
import { request } from "undici";
import { inject, it } from "vitest";
import { report, runs } from "../proof/effort.ts";
import { CREDENTIAL_PATTERN } from "../support/credential-pattern.ts";
import { call } from "./support/client.ts";

const { url, key, operatorToken } = inject("service");
const CODES = new Set(
  [...readFileSync("src/domain/failure.ts", "utf8").matchAll(/code: "(\w+)"/g)].map(([, code]) => code),
);
const TOGETHER = 20;
const HANG_MS = 20_000;

const { token } = (await call("GET", "/api/user", { user_group_id: "fuzz" })).body.user_group;

const FIELDS = [
  "user_group_id",
  "new_user_group_id",
  "name",
  "mapping",
  "properties",
  "current_token",
  "grace_seconds",
  "data_source_provided_id",
  "workspace",
  "environment",
  "access",
  "expires_in_seconds",
  "sql",
  "placeholders",
  "__proto__",
  "constructor",
  "",
];
const strings = fc.oneof(
  fc.string({ unit: "binary", maxLength: 300 }),
  fc.constantFrom(
    "fuzz",
    "",
    "x".repeat(255),
    "x".repeat(256),
    "\u0000",
    "\ud800",
    "é",
    "e\u0301",
    "{{user_group_id}}",
    "[[ {{x}} ]]",
    "'{{x}}",
    "Testing",
    "acme",
  ),
);
const values = fc.oneof(
  strings,
  fc.jsonValue({ maxDepth: 5 }),
  fc.constantFrom(0, -1, 604800, 604801, 1.5, null, true, [], {}, [[]], { __proto__: null, a: "b" }),
  fc.dictionary(strings, strings, { maxKeys: 4 }),
);
/** JSON with fields of the schemas and similar ones, sometimes in a form that JSON.stringify does not produce. */
const jsons = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.dictionary(fc.constantFrom(...FIELDS), values, { maxKeys: 5 }).map((body) => JSON.stringify(body)),
  },
  fc.constantFrom(
    '{"user_group_id":"a","user_group_id":"b"}',
    '{"user_group_id":"fuzz","properties":{"n":1e999}}',
    '{"user_group_id":"fuzz","properties":{"n":12345678901234567890}}',
    '{"user_group_id":"\\ud800"}',
    `{"properties":${'{"a":'.repeat(5000)}1${"}".repeat(5000)}}`,
    `{"x":${"[".repeat(20_000)}${"]".repeat(20_000)}}`,
    `{"user_group_id":"${"x".repeat(65_600)}"}`,
    "[]",
    "null",
    "1",
    '""',
    "{",
    "}",
    "{}{}",
    "\ufeff{}",
    "NaN",
    "{'a':1}",
    '{"a":1,}',
    "\u0000",
  ),
  // In no other field: it would be stored, and at-rest.test.ts searches the state for credentials.
  fc
    .constantFrom(token, key)
    .map((credential) => JSON.stringify({ current_token: credential, user_group_id: "other" })),
  fc.jsonValue().map((value) => JSON.stringify(value)),
);
const bodies = fc.oneof(
  { weight: 5, arbitrary: jsons.map((json) => Buffer.from(json)) },
  fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
  // A valid body with one byte changed.
  fc.tuple(jsons, fc.nat(), fc.nat({ max: 255 })).map(([json, at, byte]) => {
    const bytes = Buffer.from(json);
    if (bytes.length > 0) bytes[at % bytes.length] = byte;
    return bytes;
  }),
  jsons.map((json) => Buffer.from(json, "utf16le")),
  fc.constant(undefined),
);
const headerText = fc.stringMatching(/^[ -~]{0,80}$/);
const credentials = fc.constantFrom(
  `Token ${key}`,
  `token ${key}`,
  `Token ${operatorToken}`,
  `Token ${token}`,
  `Bearer ${key}`,
  `Token ${key.slice(0, -1)}`,
  "Token",
  "",
);
const requests = fc.record({
  method: fc.constantFrom("GET", "PUT", "POST", "DELETE", "PATCH", "HEAD", "OPTIONS"),
  path: fc.oneof(
    {
      weight: 5,
      arbitrary: fc.constantFrom(
        "/api/user",
        "/api/user/",
        "/api/viewer",
        "/api/viewer/query",
        "/api/user_groups",
        "/api/keys",
        "/health",
        "/demo",
      ),
    },
    fc.constantFrom(
      "/api/keys?workspace=acme&environment=Testing",
      "/api/user_groups?limit=1&user_group_id_prefix=a",
      "/api/user_groups?cursor=WzEsMSwiIiwwXQ&user_group_id_prefix=%ff&limit=0&limit=1&__proto__=2",
      "/api/keys/1?workspace=x&workspace=y",
      "/api/keys/1/roll?environment=untagged",
      "/api/keys/%00",
      "/api/user/%2e%2e",
      "//api/user",
      "/%ff",
      "/api/user?x[]=1&__proto__=2",
    ),
    fc.webPath(),
  ),
  body: bodies,
  authorization: fc.oneof({ weight: 8, arbitrary: credentials }, headerText),
  contentType: fc.oneof({ weight: 8, arbitrary: fc.constant("application/json") }, headerText),
  extra: fc.dictionary(
    fc.constantFrom(
      "x-http-method-override",
      "if-match",
      "cache-control",
      "origin",
      "sec-fetch-site",
      "x-request-id",
      "accept",
      "content-encoding",
      "x-forwarded-for",
      "cookie",
      "expect-ct",
    ),
    fc.oneof(
      headerText,
      fc.constantFrom(
        "GET",
        "PUT",
        "DELETE",
        '"1.1"',
        "*",
        "max-age=60",
        "max-age=",
        "https://a.example",
        "x".repeat(4000),
      ),
    ),
    { maxKeys: 3 },
  ),
});

it("answers every request with JSON and a documented code, and never with a 5xx", async ({ expect }) => {
  const counts: Record<string, number> = {};
  const send = async ({
    method,
    path,
    body,
    authorization,
    contentType,
    extra,
  }: typeof requests extends fc.Arbitrary<infer Value> ? Value : never) => {
    const response = await request(url + path, {
      method: method as "GET",
      headers: { authorization, "content-type": contentType, ...extra },
      ...(body === undefined ? {} : { body }),
      headersTimeout: HANG_MS,
      bodyTimeout: HANG_MS,
    });
    const text = await response.body.text();
    counts[response.statusCode] = (counts[response.statusCode] ?? 0) + 1;
    expect(response.statusCode).toBeLessThan(500);
    if (method === "HEAD" || response.statusCode === 204 || path.startsWith("/demo")) return;
    const answer = JSON.parse(text);
    expect(answer.success).toBe(response.statusCode < 300 ? 1 : 0);
    if (answer.success === 1) return;
    expect(CODES).toContain(answer.error.code);
    expect(answer.error.message).toMatch(/\w/);
    expect(answer.request_id).toBe(response.headers["x-request-id"]);
    expect(text).not.toMatch(CREDENTIAL_PATTERN);
  };
  const batches = fc.array(requests, { minLength: TOGETHER, maxLength: TOGETHER });
  await fc.assert(
    fc.asyncProperty(batches, (batch) => Promise.all(batch.map(send)).then(() => undefined)),
    { ...runs(100, 5000, 0.2), endOnFailure: true },
  );
  report("fuzz by status", counts);
  for (const status of ["200", "400", "401", "404", "405", "422"])
    expect(counts[status] ?? 0, status).toBeGreaterThan(0);
}, 86_400_000);
