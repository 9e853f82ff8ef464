import { describe, expect, it } from "vitest";
import { ENVIRONMENT_BYTES_MAX } from "../../../../common/limits.ts";
import { byNumber, IN_ACME, rowsOf } from "../../../support/by-number.ts";
import { type Answer, call, codeOf, tagOf } from "../../../support/client.ts";
import { CREDENTIAL_PATTERN } from "../../../support/credential-pattern.ts";
import { issueKey, issueOperator, newIntegrator, withKey } from "../../../support/states.ts";
import { setDatabaseSize } from "../../../support/storage.ts";

const DIRECTORY = "acme/Testing";
const REUSED = [422, "idempotency_key_reused"];

const comparable = (answer: Answer) => [answer.status, tagOf(answer), JSON.stringify(answer.body)];
const replayed = ({ headers }: Answer) => headers.get("Idempotent-Replayed");

/** An integrator with the groups 1 and 2, and an operator of its environment, who calls by number as it does. */
async function newCallers() {
  const integrator = await newIntegrator();
  const token = await integrator.tokenOf("acme", { properties: { plan: "pro" }, mapping: { m: "d" } });
  await integrator.tokenOf("beta");
  const admin = await issueOperator("admin");
  return { ...integrator, token, admin, numbered: byNumber(integrator.key), asAdmin: byNumber(admin, IN_ACME) };
}

describe.for(["numbered", "asAdmin"] as const)("a call by number repeated with its Idempotency-Key, %s,", (caller) => {
  it.for(["rotate", "remove"] as const)(
    "%s, gets the same answer, and changes nothing, whatever happened to the group",
    async (name) => {
      const { [caller]: calls, numbered, put } = await newCallers();
      const send = () => calls[name](1, undefined, withKey("k"));
      const first = await send();
      expect([first.status, replayed(first)]).toEqual([200, null]);
      await numbered.restore(1);
      await put({ user_group_id: "acme", name: "Renamed", properties: { plan: "free" }, suspended: true });
      const before = await rowsOf(DIRECTORY);
      const again = await send();
      expect(comparable(again)).toEqual(comparable(first));
      expect(replayed(again)).toBe("true");
      expect(JSON.stringify(again.body)).not.toMatch(CREDENTIAL_PATTERN);
      expect(await rowsOf(DIRECTORY)).toEqual(before);
    },
  );

  it("restore, does not restore the group again after a later deletion", async () => {
    const { [caller]: calls, numbered } = await newCallers();
    await numbered.remove(1);
    const first = await calls.restore(1, { rotate_token: true }, withKey("k"));
    await numbered.remove(1);
    const again = await calls.restore(1, { rotate_token: true }, withKey("k"));
    expect(comparable(again)).toEqual(comparable(first));
    expect([replayed(first), replayed(again)]).toEqual([null, "true"]);
    expect((await numbered.show(1)).status).toBe(404);
  });

  it("purge, is 404, because nothing of the group is left", async () => {
    const { [caller]: calls } = await newCallers();
    await calls.remove(1, undefined, withKey("deleted"));
    expect((await calls.purge(1, undefined, withKey("k"))).status).toBe(200);
    expect(codeOf(await calls.purge(1, undefined, withKey("k")))).toEqual([404, "user_group_not_found"]);
    expect(codeOf(await calls.remove(1, undefined, withKey("deleted")))).toEqual([404, "user_group_not_found"]);
    expect((await calls.rotate(2, undefined, withKey("k"))).status).toBe(200);
  });
});

describe("an Idempotency-Key of a call by number", () => {
  it("is refused for another group, path, method or body", async () => {
    const { numbered, token, key } = await newCallers();
    await numbered.remove(2);
    expect((await numbered.rotate(1, { grace_seconds: 60 }, withKey("k"))).status).toBe(200);
    const before = await rowsOf(DIRECTORY);
    for (const answer of [
      await numbered.rotate(2, { grace_seconds: 60 }, withKey("k")),
      await numbered.rotate(1, { grace_seconds: 61 }, withKey("k")),
      await numbered.rotate(1, undefined, withKey("k")),
      await numbered.remove(1, undefined, withKey("k")),
      await numbered.restore(1, undefined, withKey("k")),
      await numbered.purge(2, undefined, withKey("k")),
      await call("POST", "/api/user", { credential: key, body: { current_token: token }, ...withKey("k") }),
    ])
      expect(codeOf(answer)).toEqual(REUSED);
    expect(await rowsOf(DIRECTORY)).toEqual(before);
    expect(replayed(await numbered.rotate(1, { grace_seconds: 60 }, withKey("k")))).toBe("true");
  });

  it("belongs to the operator who sends it, or to the environment of an API key", async () => {
    const { numbered, asAdmin } = await newCallers();
    const other = byNumber(await issueOperator("admin"), IN_ACME);
    const otherKey = byNumber(await issueKey());
    const answers = [
      await asAdmin.rotate(1, undefined, withKey("k")),
      await other.rotate(1, undefined, withKey("k")),
      await numbered.rotate(1, undefined, withKey("k")),
      await otherKey.rotate(1, undefined, withKey("k")),
    ];
    expect(answers.map(replayed)).toEqual([null, null, null, "true"]);
  });

  it("is answered before If-Match is judged", async () => {
    const { numbered } = await newCallers();
    const options = { headers: { "Idempotency-Key": "k", "If-Match": '"1.1"' } };
    const first = await numbered.rotate(1, undefined, options);
    expect(comparable(await numbered.rotate(1, undefined, options))).toEqual(comparable(first));
    const other = { headers: { "Idempotency-Key": "other", "If-Match": '"1.1"' } };
    expect(codeOf(await numbered.rotate(1, undefined, other))).toEqual([412, "revision_mismatch"]);
  });

  it("is 507 in a full environment, and the calls without one go on", async () => {
    const { numbered } = await newCallers();
    const stored = await numbered.rotate(1, undefined, withKey("before"));
    await setDatabaseSize(ENVIRONMENT_BYTES_MAX + 1);
    for (const name of ["rotate", "remove"] as const)
      expect(codeOf(await numbered[name](1, undefined, withKey("k")))).toEqual([507, "environment_full"]);
    expect(comparable(await numbered.rotate(1, undefined, withKey("before")))).toEqual(comparable(stored));
    for (const name of ["rotate", "remove", "restore", "remove", "purge"] as const)
      expect((await numbered[name](1)).status).toBe(200);
    expect((await numbered.remove(2)).status).toBe(200);
    expect((await numbered.purge(2, undefined, withKey("k"))).status).toBe(200);
  });
});
