import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { SQL_TEMPLATE_BYTES_MAX } from "../../../../common/limits.ts";
import { codeOf, invalid, tokenIn } from "../../../support/client.ts";
import { limiter } from "../../../support/limiter.ts";
import { issueKey, newIntegrator } from "../../../support/states.ts";
import { answeredBy, query, STALE, view } from "../../../support/viewers.ts";
import { watchedEnv } from "../../../support/watched-env.ts";

/** Credentials that never were tokens of a group. */
const NEVER_TOKENS: [string, () => Promise<string | undefined>][] = [
  ["nothing", async () => undefined],
  ["a text that is not a token", async () => "x".repeat(80)],
  ["an API key", async () => issueKey()],
  ["a forged token", async () => `${(await (await newIntegrator()).tokenOf("a")).slice(0, -4)}AAAA`],
];

describe("GET /api/viewer", () => {
  it("shows the group whose token it is, its variables, and never the token", async () => {
    const { tokenOf } = await newIntegrator();
    const properties = { region: "eu", plans: ["pro", 2], "a key": null, ["__proto__"]: 1 };
    const token = await tokenOf("acme", { name: "Acme Inc.", mapping: { sales: "warehouse-7" }, properties });

    const answer = await view(token);

    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      success: 1,
      audience: "acme/Testing",
      user_group: {
        team_id: 1,
        name: "Acme Inc.",
        provided_id: "acme",
        properties,
        mapping: { sales: "warehouse-7" },
        api_environment_tag: "Testing",
      },
      variables: {
        user_group_id: "acme",
        user_group_name: "Acme Inc.",
        "user_group.region": "eu",
        "user_group.plans": ["pro", 2],
        "user_group.a key": null,
        "user_group.__proto__": 1,
      },
    });
    expect(answer.headers.get("Cache-Control")).toBe("no-store");
    expect(answeredBy(answer)).toBe("directory");
  });

  it("shows null where a group has no properties, mapping or tag", async () => {
    const { tokenOf } = await newIntegrator({ environment: null });
    const { user_group: group, variables } = (await view(await tokenOf("acme"))).body;
    expect(group).toMatchObject({ properties: null, mapping: null, api_environment_tag: null });
    expect(variables).toEqual({ user_group_id: "acme", user_group_name: "acme" });
  });

  it.for(NEVER_TOKENS)("refuses %s with 401 unauthenticated", async ([, credentialOf]) => {
    const credential = await credentialOf();
    for (const answer of [await view(credential), await view(credential, STALE), await query(credential, "{")]) {
      expect(codeOf(answer)).toEqual([401, "unauthenticated"]);
      expect(answer.headers.get("WWW-Authenticate")).toBe("Token");
    }
  });

  it("answers 429 to a token that is presented too often, before any RPC, and counts each by itself", async () => {
    const { tokenOf, rotate } = await newIntegrator();
    const old = await tokenOf("acme");
    const current = tokenIn(await rotate(old));
    const { watched, costs } = watchedEnv();
    const callEnv = { ...watched, TOKEN_LIMIT: limiter(2) };
    // The old one does not use the current one's limit.
    const statuses = [old, old, old, current, current].map(async (token) => (await view(token, {}, callEnv)).status);
    expect(await Promise.all(statuses)).toEqual([401, 401, 429, 200, 200]);
    const refused = await view(current, {}, callEnv);
    expect([...codeOf(refused), refused.headers.get("Retry-After")]).toEqual([429, "rate_limited", "60"]);
    expect(costs.rpcs).toEqual(Array(4).fill("view"));
  });
});

describe("from a browser", () => {
  const ORIGIN = { Origin: "https://dashboards.example" };

  it("may be called from any origin, refusals included", async () => {
    const { tokenOf } = await newIntegrator();
    const token = await tokenOf("acme");
    for (const answer of [await view(token, ORIGIN), await view("x", ORIGIN), await query(token, { sql: 1 }, ORIGIN)]) {
      expect(answer.headers.get("Access-Control-Allow-Origin")).toBe("*");
      expect(answer.headers.get("Access-Control-Expose-Headers")).toContain("X-Request-Id");
    }
    const toServer = await view(token);
    expect(toServer.headers.get("Access-Control-Expose-Headers")).toBeNull();
    const limited = { ...env, REFUSED_CREDENTIAL_LIMIT: limiter(0) };
    const answer = await view("x", ORIGIN, limited);
    expect(answer.status).toBe(429);
    expect(answer.headers.get("Access-Control-Allow-Origin")).toBe("*");
  });
});

describe("POST /api/viewer/query", () => {
  const withGroup = async () => {
    const { tokenOf } = await newIntegrator();
    return tokenOf("acme", { properties: { regions: ["eu", "us"], tier: 2, none: [], object: {} } });
  };

  it.for([
    [
      { sql: "g = {{user_group_id}} AND r IN ({{user_group.regions}})" },
      { sql: "g = ? AND r IN (?, ?)", params: ["acme", "eu", "us"], dropped: [] },
    ],
    [
      { sql: "x = {{user_group.tier}} [[AND y = {{user_group.gone}}]]", placeholders: "$1" },
      { sql: "x = $1 ", params: [2], dropped: ["user_group.gone"] },
    ],
    [{ sql: "" }, { sql: "", params: [], dropped: [] }],
  ] as const)("binds %o", async ([body, expected]) => {
    const answer = await query(await withGroup(), body);
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({ success: 1, audience: "acme/Testing", ...expected });
  });

  it.for([
    [{ sql: "x = {{user_group.gone}}" }, { code: "unknown_variable", variable: "user_group.gone" }],
    [{ sql: "LIMIT {{user_group.regions}}" }, { code: "unusable_variable", variable: "user_group.regions" }],
    [{ sql: "x = {{user_group_id" }, { code: "invalid_template", position: 4 }],
    [{}, { code: "invalid_body", issues: [{ path: ["sql"] }] }],
    [{ sql: "", placeholders: ":1" }, invalid("placeholders").body.error],
    [{ sql: "", params: [] }, invalid("params").body.error],
  ] as const)("refuses %o with 422", async ([body, error]) => {
    expect(await query(await withGroup(), body)).toMatchObject({ status: 422, body: { success: 0, error } });
  });

  it("accepts a template of 16 KiB in UTF-8, and refuses one byte more", async () => {
    const token = await withGroup();
    const sql = "é".repeat(SQL_TEMPLATE_BYTES_MAX / 2);
    expect((await query(token, { sql })).body).toMatchObject({ sql, params: [], dropped: [] });

    const { status, body } = await query(token, { sql: `${sql} ` });
    expect(status).toBe(422);
    expect(body.error).toMatchObject({
      code: "invalid_body",
      issues: [{ path: ["sql"], message: expect.stringMatching(/at most 16384 bytes\. Shorten/) }],
    });
  });
});
