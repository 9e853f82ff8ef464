import { describe, expect, it } from "vitest";
import { call, codeOf } from "../../../support/client.ts";
import { sessionOf } from "../../../support/sessions.ts";
import { newIntegrator } from "../../../support/states.ts";
import { query } from "../../../support/viewers.ts";

const SQL = { sql: "SELECT 1 WHERE customer = {{user_group_id}}" };

const view = (credential: string, search: string, method = "GET") =>
  call(method, `/api/viewer${search}`, { credential });

/** A session and the token of group acme in an environment of its own, whose name is `audience`. */
async function newViewer(environment: "Customer" | "Testing" | null = "Customer") {
  const workspace = `audience-${crypto.randomUUID().slice(0, 8)}`;
  const { key, tokenOf } = await newIntegrator({ workspace, environment });
  const token = await tokenOf("acme");
  return {
    audience: `${workspace}/${environment ?? "untagged"}`,
    workspace,
    key,
    credentials: { session: await sessionOf(key), token },
  };
}

describe("audience", () => {
  it.for(["Customer", "Testing", null] as const)("is in each answer to a viewer of %s", async (tag) => {
    const { audience, credentials } = await newViewer(tag);
    for (const credential of Object.values(credentials)) {
      for (const answer of [
        await view(credential, ""),
        await view(credential, `?audience=${encodeURIComponent(audience)}`),
        await query(credential, SQL),
        await query(credential, { ...SQL, audience }),
      ])
        expect(answer).toMatchObject({ status: 200, body: { success: 1, audience } });
      expect((await call("GET", "/api/whoami", { credential })).body.caller.audience).toBe(audience);
    }
  });

  it("refuses the same id of another tag and of another workspace, and names both", async () => {
    const { audience, workspace, credentials } = await newViewer("Customer");
    for (const expected of [`${workspace}/Testing`, `${workspace}/untagged`, "other/Customer"])
      for (const credential of Object.values(credentials))
        for (const answer of [
          await view(credential, `?audience=${expected}`),
          await query(credential, { ...SQL, audience: expected }),
        ]) {
          expect(codeOf(answer)).toEqual([403, "audience_mismatch"]);
          expect(answer.body.error).toMatchObject({ audience, expected_audience: expected });
          expect(answer.body.error.message).toContain(audience);
          expect(answer.body.error.message).toContain(expected);
        }
  });

  it("refuses a stale session of another environment, too", async () => {
    const { key, audience } = await newViewer("Customer");
    const session = await sessionOf(key, { max_stale_seconds: 300 });
    const answer = await view(session, `?audience=${audience}`);
    expect(answer.headers.get("X-Answered-By")).toBe("session");
    expect(codeOf(await view(session, "?audience=other/Customer"))).toEqual([403, "audience_mismatch"]);
  });

  it.for([
    "",
    "acme",
    "acme/",
    "/Customer",
    "acme/customer",
    "acme/Customer/",
    "acme/Customer ",
    " acme/Customer",
    "Acme/Customer",
    "acme/Customer\u0000",
    "acme/null",
    "*",
    `${"a".repeat(41)}/Customer`,
  ])("is 422 if it is %j", async (audience) => {
    const { credentials } = await newViewer();
    for (const answer of [
      await view(credentials.token, `?audience=${encodeURIComponent(audience)}`),
      await query(credentials.token, { ...SQL, audience }),
    ]) {
      expect(codeOf(answer)).toEqual([422, "invalid_body"]);
      expect(answer.body.error.issues).toMatchObject([
        { path: ["audience"], message: expect.stringMatching(/acme\/Customer|U\+0000/) },
      ]);
    }
  });

  it.for([
    ["given twice", (audience: string) => `?audience=${audience}&audience=${audience}`],
    ["given twice, once encoded", (audience: string) => `?audience=${audience}&%61udience=${audience}`],
    ["beside an unknown field", (audience: string) => `?audience=${audience}&aud=${audience}`],
    ["in the wrong case", (audience: string) => `?Audience=${audience}`],
    ["no UTF-8", () => "?audience=%ff"],
  ] as const)("is 422 if it is %s", async ([, searchOf]) => {
    const { audience, credentials } = await newViewer();
    expect(codeOf(await view(credentials.session, searchOf(audience)))).toEqual([422, "invalid_body"]);
  });

  it.for([null, 1, ["acme/Customer"], {}])("is 422 in a body if it is %j", async (audience) => {
    const { credentials } = await newViewer();
    expect(codeOf(await query(credentials.session, { ...SQL, audience }))).toEqual([422, "invalid_body"]);
  });

  it("tells a caller without a valid credential nothing but that", async () => {
    const { credentials } = await newViewer();
    const forged = `${credentials.token.slice(0, -4)}AAAA`;
    for (const search of ["?audience=other/Customer", "?audience=", "?audience=a/b&audience=a/b"])
      expect(codeOf(await view(forged, search))).toEqual([401, "unauthenticated"]);
  });
});
