import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { type Answer, call, codeOf } from "../../support/client.ts";
import { forgedCredential } from "../../support/forged.ts";
import { limiter } from "../../support/limiter.ts";
import { inEnvironment, issueKey, issueOperator, newIntegrator, operator } from "../../support/states.ts";

const ORIGIN = { Origin: "https://app.example" };
const UNDOCUMENTED = "The document lists this refusal only where a credential is needed.";

/** A deployment that refuses the third wrong credential of an address, and a function that calls it from any address. */
function newDeployment() {
  const refused = limiter(2);
  const callEnv: Env = { ...env, REFUSED_CREDENTIAL_LIMIT: refused };
  const from = (address: string, credential: string, path: string, headers: Record<string, string> = {}) =>
    call("GET", path, {
      credential,
      env: callEnv,
      headers: { "CF-Connecting-IP": address, ...headers },
      undocumented: UNDOCUMENTED,
    });
  return { from, counts: refused.counts };
}

const ROUTES = [
  "/health",
  "/docs",
  "/openapi.json",
  "/docs/calls",
  "/nothing",
  "/api/user",
  "/api/user_groups",
  "/api/viewer",
  "/api/viewer/nothing",
  "/api/keys?workspace=acme&environment=Testing",
  "/api/user_groups/1",
  "/api/operators",
  "/api/environments",
  "/api/events",
  "/api/whoami",
];

/** An answer without its request id, which differs in each. */
const comparable = ({ status, headers, body }: Answer) => ({
  status,
  headers: [...headers].filter(([name]) => name !== "x-request-id"),
  body: { ...body, request_id: undefined },
});

describe.for([
  ["without an Origin", {}],
  ["with an Origin", ORIGIN],
] as const)("a wrong credential %s", ([, headers]) => {
  it.for(ROUTES)("is counted by address at %s", async (path) => {
    const { from } = newDeployment();
    for (const wrong of ["one", "two"]) expect((await from("203.0.113.1", wrong, path, headers)).status).not.toBe(429);

    const refused = await from("203.0.113.1", "three", path, headers);
    expect(codeOf(refused)).toEqual([429, "rate_limited"]);
    expect((await from("203.0.113.2", "three", path, headers)).status).not.toBe(429);
    // Without headers of other answers.
    const names = [...refused.headers.keys()].filter((name) => !name.startsWith("access-control-"));
    expect(names.toSorted()).toEqual(["cache-control", "content-type", "retry-after", "x-request-id"]);
    expect(refused.headers.get("Cache-Control")).toBe("no-store");
    expect(refused.headers.get("X-Request-Id")).toBe(refused.body.request_id);
  });
});

it("a missing credential is not counted where none is needed", async () => {
  const refused = limiter(0);
  const callEnv = { ...env, REFUSED_CREDENTIAL_LIMIT: refused };
  for (const headers of [{}, ORIGIN])
    for (const path of ["/health", "/openapi.json", "/nothing"])
      expect((await call("GET", path, { env: callEnv, headers })).status).not.toBe(429);
  expect(refused.counts.size).toBe(0);
});

describe("an address", () => {
  it.for([
    ["2001:db8:1:2::1", "2001:db8:1:2::2", 1],
    ["2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff", 1],
    ["2001:db8:1:2::1", "2001:0DB8:0001:0002::1", 1],
    ["2001:db8:1:2::1", "2001:db8:1:2::192.0.2.1", 1],
    ["2001:db8:1:2::1", "2001:db8:1:3::1", 2],
    ["2001:db8:1:2::1", "2001:db8::1:2:0:0:1", 2],
    ["2001:db8:1:2::1", "203.0.113.1", 2],
    ["203.0.113.1", "203.0.113.2", 2],
    ["203.0.113.1", "::1", 2],
  ] as const)("is counted by its /64 or by itself: %s and %s are %i", async ([one, other, clients]) => {
    const { from, counts } = newDeployment();
    for (const wrong of ["one", "two"]) await from(one, wrong, "/health");
    expect((await from(other, "three", "/health")).status).toBe(clients === 1 ? 429 : 200);
    expect(counts.size).toBe(clients);
  });
});

describe("a forwarding header", () => {
  const FORWARDING = ["CF-Connecting-IP", "X-Forwarded-For", "X-Real-IP", "True-Client-IP", "X-Client-IP", "Forwarded"];

  /** Makes three calls with wrong credentials, each with other headers and from another port of its peer. */
  async function lastOfThree(header: string, headersOf: (n: number) => Record<string, string>, peers: string[]) {
    const callEnv: Env = { ...env, REFUSED_CREDENTIAL_LIMIT: limiter(2), CLIENT_ADDRESS_HEADER: header };
    const statuses: number[] = [];
    for (const [n, clientIp] of peers.entries()) {
      const options = { credential: `wrong-${n}`, env: callEnv, headers: headersOf(n), cf: { clientIp } };
      statuses.push((await call("GET", "/health", options)).status);
    }
    return statuses.at(-1);
  }
  const SAME_PEER = ["203.0.113.9:4001", "203.0.113.9:4002", "203.0.113.9:4003"];

  it("counts for nothing where no proxy is configured", async () => {
    const forged = (n: number) => Object.fromEntries(FORWARDING.map((name) => [name, `198.51.100.${n}`]));
    expect(await lastOfThree("", forged, SAME_PEER)).toBe(429);
    expect(await lastOfThree("not a name", forged, SAME_PEER)).toBe(429);
  });

  it("counts as the client if the proxy sets it, and no other does", async () => {
    const headersOf = (n: number) => ({ "X-Real-IP": `198.51.100.${n}`, "X-Forwarded-For": "192.0.2.1" });
    expect(await lastOfThree("X-Real-IP", headersOf, SAME_PEER)).toBe(200);
    expect(await lastOfThree("X-Forwarded-For", headersOf, SAME_PEER)).toBe(429);
  });

  it.for(["198.51.100.1, 198.51.100.2", "for=198.51.100.1", "unknown", "198.51.100.1:80", "198.51.100.300", " "])(
    "without one valid address leaves the peer to be counted: %j",
    async ([value]) => {
      const headersOf = (n: number) => ({ "X-Real-IP": `${value}`.replace("198", String(190 + n)) });
      expect(await lastOfThree("X-Real-IP", headersOf, SAME_PEER)).toBe(429);
    },
  );

  it("leaves peers of IPv6 counted by their network, and IPv4 in IPv6 as IPv4", async () => {
    const none = () => ({ "CF-Connecting-IP": "" });
    expect(await lastOfThree("", none, ["[2001:db8::1]:1", "[2001:db8::2]:2", "[2001:db8::3]:3"])).toBe(429);
    expect(await lastOfThree("", none, ["[2001:db8::1]:1", "[2001:db8::2]:2", "[2001:db8:0:1::3]:3"])).toBe(200);
    expect(await lastOfThree("", none, ["[::ffff:192.0.2.1]:1", "192.0.2.1:2", "192.0.2.1:3"])).toBe(429);
    expect(await lastOfThree("", none, ["[::ffff:192.0.2.1]:1", "192.0.2.1:2", "[::ffff:192.0.2.2]:3"])).toBe(200);
  });
});

describe("guesses of the operator's token from a browser", () => {
  it.for(["/health", "/nothing", "/api/viewer"])(
    "get the same answer at %s, right or wrong, after too many",
    async (path) => {
      const { from } = newDeployment();
      for (const wrong of ["one", "two"]) await from("203.0.113.1", wrong, path, ORIGIN);
      const right = await from("203.0.113.1", operator, path, ORIGIN);
      const wrong = await from("203.0.113.1", "x".repeat(operator.length), path, ORIGIN);
      expect(right.status).toBe(429);
      expect(comparable(right)).toEqual(comparable(wrong));
    },
  );

  it("get the same answer in a form that the service does not take", async () => {
    const { from } = newDeployment();
    const guess = (text: string) =>
      from("203.0.113.1", "", "/api/viewer", { ...ORIGIN, Authorization: `Basic ${btoa(`operator:${text}`)}` });
    for (const wrong of ["one", "two"]) expect((await guess(wrong)).status).toBe(401);
    const right = await guess(operator);
    expect(right.status).toBe(429);
    expect(comparable(right)).toEqual(comparable(await guess("x".repeat(operator.length))));
  });

  it("count each once, right or wrong", async () => {
    const { from, counts } = newDeployment();
    await from("203.0.113.1", operator, "/health", ORIGIN);
    await from("203.0.113.1", "wrong", "/api/user", ORIGIN);
    expect([...counts.values()]).toEqual([2]);
  });
});

it("a valid token of a viewer is never counted, in a browser or not", async () => {
  const token = await (await newIntegrator()).tokenOf("acme");
  const { from, counts } = newDeployment();
  for (const headers of [ORIGIN, {}, ORIGIN, {}])
    expect((await from("203.0.113.1", token, "/api/viewer", headers)).status).toBe(200);
  expect(counts.size).toBe(0);
});

it.for([
  ["an API key", "api_key", "/api/user_groups", () => issueKey()],
  ["an operator's key", "operator_key", "/api/operators", () => issueOperator("admin")],
] as const)("%s that is forged with the signing key is counted too", async ([, kind, path, issue]) => {
  await issue();
  const { from } = newDeployment();
  for (const id of [1, 2]) {
    const answer = await from("203.0.113.1", await forgedCredential(kind, id), path);
    expect(codeOf(answer)).toEqual([401, "unauthenticated"]);
  }
  const refused = await from("203.0.113.1", await forgedCredential(kind), path);
  expect(codeOf(refused)).toEqual([429, "rate_limited"]);
  expect(refused.headers.get("WWW-Authenticate")).toBeNull();
});

it("a key that was valid once is not counted as a guess", async () => {
  const [key, operatorKey] = [await issueKey(), await issueOperator("admin")];
  await call("DELETE", `/api/keys/1${inEnvironment()}`, { credential: operator });
  await call("DELETE", "/api/operators/1", { credential: operator });
  const { from, counts } = newDeployment();
  for (const [credential, path] of [
    [key, "/api/user_groups"],
    [operatorKey, "/api/operators"],
  ] as const)
    expect(codeOf(await from("203.0.113.1", credential, path))).toEqual([401, "credential_revoked"]);
  expect(counts.size).toBe(0);
});

it("good credentials go on from an address that sent too many wrong ones", async () => {
  const { key, tokenOf } = await newIntegrator();
  const token = await tokenOf("acme");
  const operatorKey = await issueOperator("viewer");
  const { from } = newDeployment();
  for (const wrong of ["one", "two", "three", "four"]) await from("203.0.113.1", wrong, "/health");
  const statuses = [
    await from("203.0.113.1", key, "/api/user_groups"),
    await from("203.0.113.1", token, "/api/viewer", ORIGIN),
    await from("203.0.113.1", operator, "/api/keys?workspace=acme&environment=Testing"),
    await from("203.0.113.1", operatorKey, "/api/operators"),
    await from("203.0.113.1", key, "/health"),
  ].map(({ status }) => status);
  expect(statuses).toEqual([200, 200, 200, 200, 200]);
});
