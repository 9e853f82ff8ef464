import { describe, expect, it } from "vitest";
import { call, codeOf } from "../../../support/client.ts";
import { mint, sessionOf } from "../../../support/sessions.ts";
import { newIntegrator } from "../../../support/states.ts";

const check = (credential: string | undefined, search: string, options: { method?: string; headers?: object } = {}) =>
  call(options.method ?? "GET", `/api/viewer/check${search}`, { credential, headers: { ...options.headers } });

const AUDIENCE = "?audience=acme/Testing";

/** What the answer says of the viewer. */
const identityIn = ({ headers }: { headers: Headers }) =>
  ["Team-Id", "Id", "Audience"].map((name) => headers.get(`X-User-Group-${name}`)).concat(headers.get("X-Viewer-Id"));

describe("GET /api/viewer/check", () => {
  it("says in headers alone who a session is, and who a token is", async () => {
    const { key, tokenOf } = await newIntegrator();
    const token = await tokenOf("acme");
    const session = await sessionOf(key, { viewer_id: "ann" });
    for (const [credential, person] of [
      [session, "ann"],
      [token, ""],
    ] as const) {
      const answer = await check(credential, AUDIENCE);
      expect([answer.status, answer.body]).toEqual([204, undefined]);
      expect(identityIn(answer)).toEqual(["1", "acme", "acme/Testing", person]);
      expect(answer.headers.get("Cache-Control")).toBe("no-store");
      expect(answer.headers.get("X-Answered-By")).toBe("directory");
    }
  });

  it("is answered to HEAD, too, and to no other method", async () => {
    const { tokenOf } = await newIntegrator();
    const token = await tokenOf("acme");
    const answer = await check(token, AUDIENCE, { method: "HEAD" });
    expect([answer.status, ...identityIn(answer)]).toEqual([204, "1", "acme", "acme/Testing", ""]);
    expect((await check(token, "?audience=other/Customer", { method: "HEAD" })).status).toBe(403);
    expect((await check("ugt_testing_x", AUDIENCE, { method: "HEAD" })).status).toBe(401);
    const refused = await check(token, AUDIENCE, { method: "POST" });
    expect([codeOf(refused), refused.headers.get("Allow")]).toEqual([[405, "method_not_allowed"], "GET, HEAD"]);
  });

  it.for([
    ["a blank and separators", "a b/c;d,e=f&g?h#i", "a%20b%2Fc%3Bd%2Ce%3Df%26g%3Fh%23i"],
    ["marks that encodeURIComponent leaves", "!'()*", "%21%27%28%29%2A"],
    ["unreserved characters", "Az09-._~", "Az09-._~"],
    ["other scripts", "株式会社🚀", "%E6%A0%AA%E5%BC%8F%E4%BC%9A%E7%A4%BE%F0%9F%9A%80"],
    ["a line separator", "a\u2028b", "a%E2%80%A8b"],
    ["a percent sign", "%2e%0d%0a", "%252e%250d%250a"],
    ["a quote", '"\\', "%22%5C"],
  ])("percent-encodes %s in both ids", async ([, id, encoded]) => {
    const { key, tokenOf } = await newIntegrator();
    await tokenOf(id ?? "");
    const minted = await mint(key, { user_group_id: id, viewer_id: id });
    const answer = await check(minted.body.session.token, AUDIENCE);
    expect(identityIn(answer)).toEqual(["1", encoded, "acme/Testing", encoded]);
  });

  it("needs an audience, once and well formed", async () => {
    const { tokenOf } = await newIntegrator();
    const token = await tokenOf("acme");
    for (const search of ["", "?audience=", "?audience=acme", `${AUDIENCE}&audience=acme/Testing`, `${AUDIENCE}&a=1`]) {
      const answer = await check(token, search);
      expect(codeOf(answer)).toEqual([422, "invalid_body"]);
    }
    expect(codeOf(await check(undefined, ""))).toEqual([401, "unauthenticated"]);
  });

  it("refuses a viewer of another environment, and tells nothing of it in headers", async () => {
    const { tokenOf } = await newIntegrator();
    const answer = await check(await tokenOf("acme"), "?audience=acme/Customer");
    expect(codeOf(answer)).toEqual([403, "audience_mismatch"]);
    expect(identityIn(answer)).toEqual([null, null, null, null]);
  });

  it("may be answered by a session that was minted with max_stale_seconds, with its age", async () => {
    const { key, tokenOf } = await newIntegrator();
    await tokenOf("acme");
    const session = await sessionOf(key, { max_stale_seconds: 60, viewer_id: "ann" });
    const answer = await check(session, AUDIENCE);
    expect([answer.status, answer.headers.get("X-Answered-By"), answer.headers.get("Age")]).toEqual([
      204,
      "session",
      expect.stringMatching(/^\d$/),
    ]);
    const fresh = await check(session, AUDIENCE, { headers: { "Cache-Control": "no-cache" } });
    expect([fresh.headers.get("X-Answered-By"), fresh.headers.get("Age")]).toEqual(["directory", null]);
  });
});
