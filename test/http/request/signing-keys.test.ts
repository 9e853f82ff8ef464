import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { type Answer, call, codeOf, tokenIn } from "../../support/client.ts";
import { isolateAt, type Step } from "../../support/signing-ring.ts";
import { operator, withKey } from "../../support/states.ts";
import { view } from "../../support/viewers.ts";

/** Credentials that the isolates of one deployment have issued, each with the key that signs it. */
type Issued = { key: string; token: string; repeatable: { body: { current_token: string }; idempotencyKey: string } };

const ensure = (key: string, id: string, isolate: Env) =>
  call("GET", "/api/user", { credential: key, body: { user_group_id: id }, env: isolate });

const rotate = (key: string, { body, idempotencyKey }: Issued["repeatable"], isolate: Env) =>
  call("POST", "/api/user", { credential: key, body, env: isolate, ...withKey(idempotencyKey) });

/** One isolate issues a key, creates a group with it, and rotates the group's token. */
async function issueAll(name: string, isolate: Env): Promise<Issued> {
  const body = { workspace: "acme", environment: "Testing", name: "backend" };
  const { key } = (await call("POST", "/api/keys", { credential: operator, body, env: isolate })).body;
  const current_token = tokenIn(await ensure(key, name, isolate));
  const repeatable = { body: { current_token }, idempotencyKey: name.replace(" ", "-") };
  return { key, token: tokenIn(await rotate(key, repeatable, isolate)), repeatable };
}

/** The statuses of all calls with these credentials in one isolate, and the tokens in its answers. */
async function useAll({ key, token, repeatable }: Issued, isolate: Env) {
  const viewed = await view(token, {}, isolate);
  const found = await ensure(key, viewed.body.user_group?.provided_id ?? "unknown", isolate);
  const repeated = await rotate(key, repeatable, isolate);
  return { statuses: [viewed, found, repeated].map(({ status }) => status), tokens: [found, repeated].map(tokenIn) };
}

const FIRST_STEPS: [Step, Step][] = [
  ["k1", "k1"],
  ["k1", "k1,k2"],
  ["k1,k2", "k1,k2"],
  ["k1,k2", "k2,k1"],
];
/** From the first of these on, k2 signs everything. */
const LAST_STEPS: [Step, Step][] = [
  ["k2,k1", "k2,k1"],
  ["k2,k1", "k2"],
  ["k2", "k2"],
];

/**
 * Simulates moments at which two isolates may have different secrets. At each moment each isolate issues credentials, and
 * both isolates use all that were issued so far. Returns the refusals and the number of credentials.
 */
async function rotateThrough(moments: [Step, Step][]) {
  const issued: Issued[] = [];
  const refused: unknown[] = [];
  for (const [at, [one, other]] of moments.entries()) {
    const isolates = [isolateAt(one), isolateAt(other)];
    for (const [index, isolate] of isolates.entries()) issued.push(await issueAll(`moment ${at}-${index}`, isolate));
    for (const each of issued)
      for (const isolate of isolates) {
        const { statuses, tokens } = await useAll(each, isolate);
        for (const reader of isolates)
          for (const token of tokens) statuses.push((await view(token, {}, reader)).status);
        if (statuses.some((status) => status !== 200)) refused.push([one, other, statuses]);
      }
  }
  return { refused, count: issued.length };
}

const swapped = (moments: [Step, Step][]) => moments.map(([one, other]): [Step, Step] => [other, one]);

describe("signing keys that rotate in steps", () => {
  it.for([
    ["until the new key signs", [...FIRST_STEPS, ...LAST_STEPS.slice(0, 1)]],
    ["until the new key signs, the other isolate first", swapped([...FIRST_STEPS, ...LAST_STEPS.slice(0, 1)])],
    ["until the old key is removed", LAST_STEPS],
    ["until the old key is removed, the other isolate first", swapped(LAST_STEPS)],
  ] as const)("let no call fail in any isolate %s", async ([, moments]) => {
    const { refused, count } = await rotateThrough([...moments]);
    expect(refused).toEqual([]);
    expect(count).toBe(2 * moments.length);
  });

  it("end what the old key signed when it is removed", async () => {
    const [before, after] = [isolateAt("k1"), isolateAt("k2")];
    const old = await issueAll("old", before);
    const current = await issueAll("current", after);

    expect(codeOf(await view(old.token, {}, after))).toEqual([401, "unauthenticated"]);
    expect(codeOf(await ensure(old.key, "old", after))).toEqual([401, "unauthenticated"]);
    const rotation = { body: { current_token: old.token }, idempotencyKey: "rotation" };
    expect(codeOf(await rotate(current.key, rotation, after))).toEqual([404, "user_group_not_found"]);

    const renewed = tokenIn(await ensure(current.key, "old", after));
    expect((await view(renewed, {}, after)).body.user_group.provided_id).toBe("old");
  });

  it("answer an idempotent repeat with a valid token after the old key is removed", async () => {
    const old = await issueAll("old", isolateAt("k1"));
    const after = isolateAt("k2");
    const { key } = await issueAll("current", after);
    const repeated = await rotate(key, old.repeatable, after);
    expect(repeated.status).toBe(200);
    expect(tokenIn(repeated)).not.toBe(old.token);
    expect((await view(tokenIn(repeated), {}, after)).body.user_group.provided_id).toBe("old");
  });

  it("name the removal as one of the reasons for which a credential is refused", async () => {
    const [before, after] = [isolateAt("k1"), isolateAt("k2")];
    const { key, token } = await issueAll("old", before);
    const messageOf = ({ body }: Answer): string => body.error.message;
    const reasons =
      "No signing key of this service verifies what was sent: it may be cut off, of another deployment, or signed with a key that has been removed.";
    const taken =
      "This call takes an API key, ugk_…, or the key of an operator, ugo_…. Send it in the header Authorization: Token <credential>.";
    const list = (credential: string) => call("GET", "/api/user_groups", { credential, env: after });
    expect(messageOf(await view(token, {}, after))).toContain(reasons);
    // One text for all of them: it says nothing of the ids of the signing keys.
    const { key: current } = await issueAll("current", after);
    for (const refused of [key, key.slice(0, -3), `${current.slice(0, -2)}AA`, "nonsense"])
      expect(messageOf(await list(refused))).toBe(`${taken} ${reasons}`);
    expect(messageOf(await list(tokenIn(await ensure(current, "acme", after))))).toBe(
      `${taken} The credential that was sent is of another kind, or the service has deleted its key or its environment.`,
    );
    const none = await call("GET", "/api/user_groups", { env: after });
    expect(messageOf(none)).toBe(taken);
  });
});

it("an isolate whose first request finds no SIGNING_KEYS says so, and does not crash", async () => {
  vi.resetModules();
  const { ringOf } = await import("../../../src/http/request/authenticate.ts");
  const { SIGNING_KEYS: _, ...without } = env;
  for (let request = 0; request < 2; request += 1)
    expect(await ringOf(without as Env)).toEqual({ ok: false, failure: expect.stringContaining("SIGNING_KEYS") });
});
