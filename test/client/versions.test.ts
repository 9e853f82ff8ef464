import { describe, expect, it } from "vitest";
import { OperatorClient, UserGroupClient, ViewerClient } from "../../client/src/index.ts";
import { standIn } from "../support/node/stand-in.ts";

const groups = (url: string) => new UserGroupClient({ url, apiKey: "ugk_x" });
const viewer = (url: string) => new ViewerClient({ url, token: "ugt_x" });
const operator = (url: string) => new OperatorClient({ url, operatorKey: "ugo_x" });

/** The API keys and the operators, read to their end. */
const keysOf = async (url: string) =>
  Array.fromAsync(await operator(url).listKeys({ workspace: "acme", environment: null }));
const operatorsOf = async (url: string) => Array.fromAsync(await operator(url).listOperators());

describe("a service of another version", () => {
  const LISTED = {
    ...{ team_id: 1, provided_id: "a", name: "a", mapping: null, properties: null, api_environment_tag: null },
    ...{ state: "active", created_at: "2026-01-01T00:00:00.000Z", updated_at: "2026-01-01T00:00:00.000Z" },
  };
  const API_KEY_BODY = {
    ...{ id: 1, workspace: "acme", environment: null, name: "backend", access: "read", scopes: [] },
    ...{ created_at: LISTED.created_at, expires_at: null, last_used_at: null, revoked_at: null },
  };
  const OPERATOR_BODY = { ...API_KEY_BODY, role: "admin" };
  const EVENT_BODY = {
    ...{ id: 1, at: LISTED.created_at, type: "user_group.updated", request_id: "r" },
    ...{ actor: { kind: "operator", id: null, name: "bootstrap" }, user_group: LISTED, api_key: API_KEY_BODY },
  };
  const CALLER_BODY = { ...API_KEY_BODY, kind: "api_key" };
  const REASON = { code: "unauthenticated", message: "", since: null, by: null };
  const EXPLAINED = { kind: "unknown", number: null, audience: null, valid: false, reasons: [REASON] };
  const GROUP = { ...LISTED, token: "ugt_testing_x" };
  const READS: [string, object, (url: string) => Promise<unknown>][] = [
    ["ensure", { new_user_group: true, user_group: GROUP }, (url) => groups(url).ensure({ userGroupId: "a" })],
    ["update", { user_group: GROUP }, (url) => groups(url).update({ userGroupId: "a" })],
    ["list", { user_groups: [LISTED], next_cursor: null }, (url) => groups(url).listPage()],
    ["get", { user_group: LISTED }, (url) => groups(url).get({ teamId: 1 })],
    ["events", { events: [EVENT_BODY], next_cursor: "x", has_more: false }, (url) => groups(url).eventPage()],
    ["view", { user_group: LISTED, variables: {} }, (url) => viewer(url).view()],
    ["bindQuery", { sql: "", params: [null], dropped: [] }, (url) => viewer(url).bindQuery({ sql: "" })],
    ["whoami", { caller: CALLER_BODY }, (url) => groups(url).whoami()],
    ["explainCredential", { credential: EXPLAINED }, (url) => operator(url).explainCredential({ credential: "x" })],
    ["listKeys", { api_keys: [API_KEY_BODY], next_cursor: null }, keysOf],
    ["listOperators", { operators: [OPERATOR_BODY], next_cursor: null }, operatorsOf],
    [
      "environments",
      { environments: [{ workspace: "acme", environment: null, location: null, created_at: "" }], next_cursor: null },
      (url) => operator(url).environmentPage(),
    ],
  ];
  /** Fields whose `null` says something that a client must not guess: the end of a list, and which environment it is. */
  const ESSENTIAL = ["next_cursor", "environment", "api_environment_tag"];

  /** The body with its objects changed, from the inside out. */
  const mapObjects = (value: unknown, change: (object: object) => object): unknown => {
    if (Array.isArray(value)) return value.map((item) => mapObjects(item, change));
    if (typeof value !== "object" || value === null) return value;
    return change(Object.fromEntries(Object.entries(value).map(([name, item]) => [name, mapObjects(item, change)])));
  };
  const answering = (body: unknown) =>
    standIn(() => ({ status: 200, headers: { ETag: '"1.1"' }, body: { success: 1, ...Object(body) } }));

  it.for(READS)("may have more fields in its answers: %s", async ([, body, read]) => {
    const { url } = await answering(body);
    const { url: newer } = await answering(mapObjects(body, (object) => ({ ...object, is_new: { a: [1] } })));
    const withoutVariables = (result: unknown) => ({ ...Object(result), variables: undefined });
    expect(withoutVariables(await read(newer))).toEqual(withoutVariables(await read(url)));
  });

  it.for(READS)("may lack fields that can be null: %s", async ([, body, read]) => {
    const { url } = await answering(body);
    const { url: older } = await answering(
      mapObjects(body, (object) =>
        Object.fromEntries(
          Object.entries(object).filter(([name, value]) => value !== null || ESSENTIAL.includes(name)),
        ),
      ),
    );
    expect(await read(older)).toEqual(await read(url));
  });

  it.for(ESSENTIAL)("must not lack %s", async (name) => {
    const without = (object: object) => Object.fromEntries(Object.entries(object).filter(([key]) => key !== name));
    const { url } = await answering(
      mapObjects({ user_groups: [LISTED], api_keys: [API_KEY_BODY], next_cursor: null }, without),
    );
    const read = name === "environment" ? keysOf(url) : groups(url).listPage();
    expect(await read.catch((error) => error.code)).toBe("unexpected_answer");
  });
});
