import { describe, expect, it } from "vitest";
import { type CallOptions, call, invalid } from "../../support/client.ts";
import { logLines } from "../../support/each-test.ts";
import { issueKey, newIntegrator, operator } from "../../support/states.ts";

const nested = (levels: number): object => (levels === 1 ? {} : { inner: nested(levels - 1) });
const entries = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, "v"]));
/** Properties of exactly so many bytes of JSON. */
const ofBytes = (bytes: number) => ({ k: "x".repeat(bytes - '{"k":""}'.length) });
const utf8 = (text: string) => new TextEncoder().encode(text);

const typed = (type: string) => ({ body: "{}", headers: { "Content-Type": type } });
const encoded = (encoding: string) => ({ body: "{}", headers: { "Content-Encoding": encoding } });

const ROUTES = [
  ["GET", "/api/user"],
  ["PUT", "/api/user"],
  ["POST", "/api/user"],
  ["DELETE", "/api/user"],
  ["POST", "/api/keys"],
] as const;

describe.for(ROUTES)("the body of %s %s", ([method, path]) => {
  const send = async (options: CallOptions) =>
    call(method, path, { credential: path === "/api/keys" ? operator : await issueKey(), ...options });

  it("refuses a body that breaks off, and logs no crash", async () => {
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(utf8('{"user_group_id":"acme"'));
        controller.error(new Error("The client hung up."));
      },
    });
    expect(await send({ body })).toMatchObject({ status: 400, body: { error: { code: "malformed_json" } } });
    expect(logLines.filter(({ failure }) => failure === "internal_error")).toEqual([]);
  });

  it.for([
    ["no body", {}, 400, "body_required"],
    ["an empty body", { body: "" }, 400, "body_required"],
    ["broken JSON", { body: '{ "current_token": "a" "b" }' }, 400, "malformed_json"],
    ["a list", { body: "[]" }, 400, "malformed_json"],
    ["null", { body: "null" }, 400, "malformed_json"],
    ["a string", { body: '"acme"' }, 400, "malformed_json"],
    ["a byte order mark", { body: utf8("\ufeff{}") }, 400, "malformed_json"],
    ["invalid UTF-8", { body: new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]) }, 400, "malformed_json"],
    ["a body over 64 KiB", { body: `${" ".repeat(64 * 1024 - 1)}{}` }, 413, "body_too_large"],
    ["no media type", typed(""), 415, "unsupported_media_type"],
    ["a form", typed("application/x-www-form-urlencoded"), 415, "unsupported_media_type"],
    ["a longer media type that begins the same", typed("application/jsonp"), 415, "unsupported_media_type"],
    ["a compressed body", encoded("gzip"), 415, "unsupported_media_type"],
    ["a body encoded twice", encoded("gzip, br"), 415, "unsupported_media_type"],
    ["one encoding of two", encoded("identity, x"), 415, "unsupported_media_type"],
    ["an object without the fields that it needs", { body: {} }, 422, "invalid_body"],
  ] as const)("is refused: %s", async ([, options, status, code]) => {
    expect(await send(options)).toMatchObject({ status, body: { success: 0, error: { code } } });
  });

  it.for(["{}", "{", "[]", "\ufeff{}", ""])(
    "is refused with the name of the byte order mark before %j",
    async (text) => {
      const message = "The body begins with a byte order mark (BOM, U+FEFF). Send it without one.";
      expect(await send({ body: utf8(`\ufeff${text}`) })).toMatchObject({
        status: 400,
        body: { error: { code: "malformed_json", message } },
      });
    },
  );

  it.for(["application/json", "Application/JSON; charset=utf-8", "application/json ;x=y"])(
    "is read as %s",
    async (type) => {
      expect(await send(typed(type))).toMatchObject({ status: 422 });
    },
  );

  it("is read up to 64 KiB, whatever its Content-Length is", async () => {
    const exactly = `{${" ".repeat(64 * 1024 - 2)}}`;
    for (const headers of [{}, { "Content-Length": "-2" }, { "Content-Length": "two" }])
      expect(await send({ body: exactly, headers })).toMatchObject({ status: 422 });
    expect(await send({ body: `${exactly} `, headers: { "Content-Length": "2" } })).toMatchObject({ status: 413 });
  });

  it("is checked in the order media type, size, JSON, schema", async () => {
    const text = { "Content-Type": "text/plain" };
    expect(await send({ body: "x".repeat(70_000), headers: text })).toMatchObject({ status: 415 });
    expect(await send({ body: "x".repeat(70_000) })).toMatchObject({ status: 413 });
  });

  it.for([
    ["however deep they are", `{"x":${"[".repeat(5000)}${"1e999,".repeat(199)}1${"]".repeat(5000)}}`, 2000],
    ["however long its keys are", `{"${"x".repeat(30_000)}":[${"1e999,".repeat(100)}${"[".repeat(100)}`, 70_000],
  ] as const)("is not echoed in the places of its issues, %s", async ([, sent, lengthMax]) => {
    const { body } = await send({ body: sent });
    expect(body.error.code).toBe("invalid_body");
    expect(JSON.stringify(body).length).toBeLessThan(lengthMax);
  });

  it("survives 30,000 levels of nesting", async () => {
    const deep = `{"properties":${'{"a":'.repeat(10_000)}1${"}".repeat(10_000)}}`;
    expect(await send({ body: deep })).toMatchObject({ status: 422 });
    expect(await send({ body: `{"x":${"[".repeat(30_000)}${"]".repeat(30_000)}}` })).toMatchObject({ status: 422 });
  });
});

it.for([
  ["GET", "/api/user", {}, ["user_group_id"]],
  ["POST", "/api/user", { grace_seconds: 5 }, ["current_token"]],
  ["PUT", "/api/user", { user_group_id: null, name: "x" }, []],
  ["POST", "/api/user_groups", { name: undefined, properties: {} }, ["user_group_id"]],
  ["POST", "/api/keys", { environment: null }, ["workspace", "name"]],
  ["POST", "/api/operators", { name: "ada" }, ["role"]],
  ["GET", "/api/keys?workspace=acme", undefined, ["environment"]],
  ["POST", "/api/viewer_sessions", {}, ["user_group_id"]],
] as const)("%s %s calls a field missing only where it is missing", async ([method, path, body, missing]) => {
  const isOperators = /keys|operators/.test(path);
  const { error } = (await call(method, path, { credential: isOperators ? operator : await issueKey(), body })).body;
  const issues: { path: string[]; message: string }[] = error.issues;
  const called = issues.filter(({ message }) => message.startsWith("This field is missing. Give "));
  expect(called.map(({ path: [name] }) => name)).toEqual(missing);
});

describe("the schema", () => {
  const token = "ugt_testing_not-a-token-but-a-string";

  it.for([
    ["GET", {}, "user_group_id"],
    ["GET", { user_group_id: 7 }, "user_group_id"],
    ["GET", { user_group_id: null }, "user_group_id"],
    ["GET", { user_group_id: "" }, "user_group_id"],
    ["GET", { user_group_id: "x".repeat(256) }, "user_group_id"],
    ["GET", { user_group_id: "😀".repeat(128) }, "user_group_id"],
    ["GET", { user_group_id: "a\nb" }, "user_group_id"],
    ["GET", { user_group_id: "a\u0000" }, "user_group_id"],
    ["GET", { user_group_id: "a\u0085b" }, "user_group_id"],
    ["GET", { user_group_id: "a", name: "" }, "name"],
    ["GET", { user_group_id: "a", name: null }, "name"],
    ["GET", { user_group_id: "a", name: "x".repeat(256) }, "name"],
    ["GET", { user_group_id: "a", name: "tab\there" }, "name"],
    ["GET", { user_group_id: "a", mapping: [] }, "mapping"],
    ["GET", { user_group_id: "a", mapping: "x" }, "mapping"],
    ["GET", { user_group_id: "a", mapping: entries(101) }, "mapping"],
    ["GET", { user_group_id: "a", mapping: { main: 7 } }, "mapping.main"],
    ["GET", { user_group_id: "a", mapping: { main: "" } }, "mapping.main"],
    ["GET", { user_group_id: "a", mapping: { main: "x".repeat(256) } }, "mapping.main"],
    ["GET", { user_group_id: "a", mapping: { "": "x" } }, "mapping."],
    ["GET", { user_group_id: "a", properties: [] }, "properties"],
    ["GET", { user_group_id: "a", properties: "x" }, "properties"],
    ["GET", { user_group_id: "a", properties: nested(33) }, "properties"],
    ["GET", { user_group_id: "a", properties: ofBytes(16 * 1024 + 1) }, "properties"],
    ["GET", { user_group_id: "a", propertes: {} }, "propertes"],
    ["GET", { user_group_id: "a", new_user_group_id: "b" }, "new_user_group_id"],
    ["PUT", { name: "x" }, "user_group_id"],
    ["PUT", { user_group_id: "a", name: null }, "name"],
    ["PUT", { user_group_id: "a", new_user_group_id: "" }, "new_user_group_id"],
    ["PUT", { user_group_id: "a", new_user_group_id: null }, "new_user_group_id"],
    ["PUT", { user_group_id: "a", current_token: token }, "current_token"],
    ["POST", {}, "current_token"],
    ["POST", { current_token: 7 }, "current_token"],
    ["POST", { current_token: "" }, "current_token"],
    ["POST", { current_token: token, grace_seconds: -1 }, "grace_seconds"],
    ["POST", { current_token: token, grace_seconds: 604801 }, "grace_seconds"],
    ["POST", { current_token: token, grace_seconds: 1.5 }, "grace_seconds"],
    ["POST", { current_token: token, grace_seconds: "60" }, "grace_seconds"],
    ["POST", { current_token: token, user_group_id: "a" }, "user_group_id"],
    ["DELETE", { user_group_id: "a" }, "current_token"],
    ["DELETE", { current_token: token, user_group_id: "" }, "user_group_id"],
    ["DELETE", { current_token: token, data_source_provided_id: 7 }, "data_source_provided_id"],
    ["DELETE", { current_token: token, name: "x" }, "name"],
  ] as const)("of %s refuses %o", async ([method, body, path]) => {
    const answer = await call(method, "/api/user", { credential: await issueKey(), body });
    expect(answer).toMatchObject({ status: 422, body: { error: { code: "invalid_body" } } });
    expect(answer.body.error.issues).toHaveLength(1);
    expect(answer.body.error.issues[0].path.join(".")).toBe(path);
    expect(answer.body.error.issues[0].message).not.toBe("");
  });

  it.for([
    [{ name: "x" }, "workspace"],
    [{ workspace: "Acme" }, "workspace"],
    [{ workspace: "-acme" }, "workspace"],
    [{ workspace: "a".repeat(41) }, "workspace"],
    [{ workspace: "a/b" }, "workspace"],
    [{ workspace: "a_b" }, "workspace"],
    [{ workspace: "a\n" }, "workspace"],
    [{ environment: "testing" }, "environment"],
    [{ environment: undefined }, "environment"],
    [{ name: "" }, "name"],
    [{ access: "admin" }, "access"],
    [{ expires_in_seconds: 0 }, "expires_in_seconds"],
    [{ expires_in_seconds: 315_360_001 }, "expires_in_seconds"],
    [{ expires_in_seconds: "90d" }, "expires_in_seconds"],
    [{ scope: "all" }, "scope"],
  ] as const)("of POST /api/keys refuses %o", async ([fields, path]) => {
    const complete = "workspace" in fields || path !== "workspace" ? { workspace: "acme" } : {};
    const body = { ...complete, environment: "Testing", name: "backend", ...fields };
    expect(await call("POST", "/api/keys", { credential: operator, body })).toMatchObject(invalid(path));
  });

  it("reports all issues at once", async () => {
    const { put } = await newIntegrator();
    const body = '{"user_group_id":"","propertes":{},"properties":{"n":1e999,"s":"\\ud800"},"mapping":{"a":1,"b":""}}';
    const { status, body: answer } = await put(body);
    expect(status).toBe(422);
    expect(answer.error.issues.map(({ path }: { path: string[] }) => path.join(".")).toSorted()).toEqual(
      ["mapping.a", "mapping.b", "properties.n", "properties.s", "propertes", "user_group_id"].toSorted(),
    );
  });

  it("names the unit of a length, in which most emoji count as two", async () => {
    const { get } = await newIntegrator();
    expect((await get({ user_group_id: "😀".repeat(127) })).status).toBe(200);
    const message = "Give a string of 1 to 255 UTF-16 code units (most emoji count as 2).";
    const refused = await get({ user_group_id: "😀".repeat(128), mapping: { a: "😀".repeat(128) } });
    expect(refused.body.error.issues).toEqual([
      { path: ["user_group_id"], message },
      { path: ["mapping", "a"], message },
    ]);
  });

  it("reports a hundred issues at most", async () => {
    const { get } = await newIntegrator();
    const { body } = await get({ user_group_id: "a", ...entries(500) });
    expect(body.error.issues).toHaveLength(100);
  });
});

describe("accepted input is stored exactly", () => {
  it.for([
    ["the longest id", "x".repeat(255)],
    ["white space around it", "  acme  "],
    ["letters of another case", "ACME"],
    ["a composed letter", "\u00e9"],
    ["the same letter, decomposed", "e\u0301"],
    ["an emoji of several code points", "👩‍👩‍👧"],
    ["quotes and semicolons", `'; DROP TABLE user_groups; --"`],
    ["a noncharacter", "\uffff"],
    ["__proto__", "__proto__"],
  ] as const)("as an id and a name: %s", async ([, id]) => {
    const { get } = await newIntegrator();
    const created = await get({ user_group_id: id, name: id });
    expect(created.body.user_group).toMatchObject({ provided_id: id, name: id });
    expect((await get({ user_group_id: id })).body).toMatchObject({ new_user_group: false, user_group: { name: id } });
  });

  it.for([
    ["an empty object", "{}"],
    ["16 KiB", JSON.stringify(ofBytes(16 * 1024))],
    ["32 levels", JSON.stringify(nested(32))],
    ["a key named __proto__, and one named constructor", '{"__proto__":{"x":1},"constructor":2,"a":{"__proto__":3}}'],
    ["numbers that a double holds", '{"n":[0,1,-1,0.1,1e21,1e-7,9007199254740991,1.7976931348623157e+308,5e-324]}'],
    ["all of JSON's other values", '{"a":null,"b":true,"c":false,"d":"\\u2028 \\" \\\\ é 😀","e":[],"f":{}}'],
  ] as const)("as properties: %s", async ([, json]) => {
    const { get, put } = await newIntegrator();
    await get(`{"user_group_id":"acme","properties":${json}}`);
    const same = JSON.stringify(JSON.parse(json));
    expect(JSON.stringify((await get({ user_group_id: "acme" })).body.user_group.properties)).toBe(same);
    await put({ user_group_id: "acme", properties: null });
    const updated = await put(`{"user_group_id":"acme","properties":${json}}`);
    expect(JSON.stringify(updated.body.user_group.properties)).toBe(same);
  });

  it("as a mapping: a hundred entries, and a key named __proto__", async () => {
    const { get, remove, tokenOf } = await newIntegrator();
    const largest = await get({ user_group_id: "largest", mapping: entries(100) });
    expect(largest.status).toBe(200);
    const created = await get('{"user_group_id":"acme","mapping":{"__proto__":"warehouse-7"}}');
    expect(created.status).toBe(200);
    expect((await remove(await tokenOf("acme"), { data_source_provided_id: "warehouse-7" })).status).toBe(200);
  });

  it.for([
    ["an integer past 2^53", "12345678901234567890"],
    ["9007199254740993", "9007199254740993"],
    ["too many decimals", "0.12345678901234567890"],
    ["infinity", "1e999"],
    ["sixty thousand zeros, quickly", `1${"0".repeat(60_000)}1`],
    ["what underflows to zero", "1e-999"],
  ] as const)("else refused: %s", async ([, number]) => {
    const { get } = await newIntegrator();
    const answer = await get(`{"user_group_id":"acme","properties":{"list":[1,${number}]}}`);
    expect(answer).toMatchObject({ status: 422, body: { error: { issues: [{ path: ["properties", "list", 1] }] } } });
    expect((await get({ user_group_id: "acme" })).body.new_user_group).toBe(true);
  });

  it.for([
    ["half a surrogate pair in an id", '{"user_group_id":"\\ud83d"}', "user_group_id"],
    ["half a surrogate pair in a key", '{"user_group_id":"a","properties":{"\\ude00":1}}', "properties.\ude00"],
    ["a key given twice", '{"user_group_id":"a","properties":{"x":1,"x":2}}', "properties.x"],
    ["a field given twice", '{"user_group_id":"a","user_group_id":"b"}', "user_group_id"],
    ["a key given twice in two spellings", '{"user_group_id":"a","properties":{"x":1,"\\u0078":2}}', "properties.x"],
  ] as const)("else refused: %s", async ([, body, path]) => {
    const { get } = await newIntegrator();
    const answer = await get(body);
    expect(answer.status).toBe(422);
    expect(answer.body.error.issues).toHaveLength(1);
    expect(answer.body.error.issues[0].path.join(".")).toBe(path);
  });
});
