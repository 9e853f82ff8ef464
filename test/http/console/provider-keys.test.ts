import { describe, expect, it, vi } from "vitest";
import { NOW } from "../../support/clock.ts";
import { ADA, CONTINUE, issueByEmail, newEmployee, SIGN_IN, signedInEmployee } from "../../support/company.ts";
import { signIn } from "../../support/console.ts";
import { logLines } from "../../support/each-test.ts";
import { claimsOf, newPair, newProvider, type Provider, SSO_HEADER, signed } from "../../support/identity-provider.ts";
import { issueOperator } from "../../support/states.ts";

const PAGE = "/console/sessions";
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

const stopClock = () => vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
const clockAt = (ms: number) => vi.setSystemTime(NOW.getTime() + ms);

/** Whether the proxy's assertion for Ada, made now with a key of the provider or another, is taken. */
async function isTaken(provider: Provider, pair = provider.pairs[0]): Promise<boolean> {
  const employee = await newEmployee(ADA, provider);
  if (pair) employee.assertion = { [SSO_HEADER]: await signed(pair, claimsOf(ADA)) };
  return (await employee.get(SIGN_IN)).body.includes("Continue as");
}

const problems = () => logLines.filter(({ level }) => level === "error").map(({ error }) => String(error));

describe("the provider's keys", () => {
  it("are fetched once in five minutes, from the URL of the settings", async () => {
    stopClock();
    await issueByEmail();
    const provider = await newProvider();
    for (const ms of [0, 1000, 5 * MINUTE_MS - 1]) {
      clockAt(ms);
      expect(await isTaken(provider)).toBe(true);
    }
    expect(provider.requests.map(({ url, method, redirect }) => [url, method, redirect])).toEqual([
      [provider.env.SSO_JWKS_URL, "GET", "manual"],
    ]);
    clockAt(5 * MINUTE_MS);
    expect(await isTaken(provider)).toBe(true);
    expect(provider.requests).toHaveLength(2);
  });

  it("are fetched for unknown kids once a minute, five times in five, however many come", async () => {
    stopClock();
    await issueByEmail();
    const provider = await newProvider();
    const stranger = await newPair("stranger");
    expect(await isTaken(provider)).toBe(true);
    for (let second = 0; second < 300; second += 10) {
      clockAt(second * 1000);
      const strangers = [1, 2].map((n) => isTaken(provider, { ...stranger, id: `stranger-${second}-${n}` }));
      expect(await Promise.all(strangers)).toEqual([false, false]);
      expect(provider.requests).toHaveLength(2 + Math.floor(second / 60));
    }
    expect(await isTaken(provider)).toBe(true);
    clockAt(5 * MINUTE_MS);
    for (let n = 0; n < 20; n += 1) expect(await isTaken(provider, { ...stranger, id: `stranger-${n}` })).toBe(false);
    expect(provider.requests).toHaveLength(8);
  });

  it("are not fetched for an assertion that is refused without them", async () => {
    const provider = await newProvider();
    const employee = await newEmployee(ADA, provider);
    for (const fields of [{ aud: "other" }, { iss: "other" }, { exp: 1 }, { email: "x" }, { email_verified: false }]) {
      employee.assertion = await provider.headersFor(ADA, fields);
      await employee.get(SIGN_IN);
      await employee.send(CONTINUE, { email: ADA });
    }
    expect(provider.requests).toHaveLength(0);
  });

  it("may be rotated: a new one is taken within a minute, an old one refused within five", async () => {
    stopClock();
    await issueByEmail();
    const provider = await newProvider();
    const [old = await newPair("old")] = provider.pairs;
    expect(await isTaken(provider, old)).toBe(true);
    const [second, third] = [await newPair("key-2", "RS256"), await newPair("key-3")];
    provider.pairs = [second, old];
    expect([await isTaken(provider, second), await isTaken(provider, old)]).toEqual([true, true]);
    provider.pairs = [old, third];
    clockAt(MINUTE_MS - 1);
    expect([await isTaken(provider, third), await isTaken(provider, second)]).toEqual([false, true]);
    clockAt(MINUTE_MS);
    expect([await isTaken(provider, third), await isTaken(provider, second)]).toEqual([true, false]);
    provider.pairs = [third];
    clockAt(5 * MINUTE_MS - 1);
    expect(await isTaken(provider, old)).toBe(true);
    clockAt(5 * MINUTE_MS);
    expect([await isTaken(provider, third), await isTaken(provider, old)]).toEqual([true, false]);
  });

  it("let a session go on over a rotation", async () => {
    const employee = await signedInEmployee();
    const { provider } = employee;
    provider.pairs = [await newPair("key-2"), ...provider.pairs];
    employee.assertion = await provider.headersFor(ADA);
    expect((await employee.get(PAGE)).status).toBe(200);
  });

  it("are fetched once for requests that come at the same time", async () => {
    await issueByEmail();
    const provider = await newProvider();
    provider.answer = async () => {
      await scheduler.wait(100);
      return Response.json({ keys: provider.pairs.map(({ jwk }) => jwk) });
    };
    const taken = await Promise.all(Array.from({ length: 20 }, () => isTaken(provider)));
    expect([new Set(taken), provider.requests.length]).toEqual([new Set([true]), 1]);
    const second = await newPair("key-2");
    provider.pairs = [second, ...provider.pairs];
    const rotated = await Promise.all(Array.from({ length: 20 }, () => isTaken(provider, second)));
    expect([new Set(rotated), provider.requests.length]).toEqual([new Set([true]), 2]);
  });

  it("are fetched by the Worker itself where no service reaches their host", async () => {
    await issueByEmail();
    const provider = await newProvider();
    const { SSO_JWKS: _, ...callEnv } = provider.env;
    const jwks = { keys: provider.pairs.map(({ jwk }) => jwk) };
    const fetched = vi.spyOn(globalThis, "fetch").mockImplementation(async () => Response.json(jwks));
    const employee = await newEmployee(ADA, provider);
    expect((await employee.get(SIGN_IN, { env: callEnv as Env })).body).toContain("Continue as");
    expect(fetched.mock.calls).toMatchObject([[callEnv.SSO_JWKS_URL, { redirect: "manual" }]]);
  });
});

/** A stream without an end. `pulled` counts its pieces. */
function endlessBody(pulled: { count: number }): ReadableStream<Uint8Array> {
  return new ReadableStream({
    pull: (controller) => {
      pulled.count += 1;
      controller.enqueue(new Uint8Array(16 * 1024).fill(32));
    },
  });
}

const NEVER = () => new Promise<Response>(() => undefined);

const DOWN: [what: string, answer: (provider: Provider) => Response | Promise<Response>, problem: RegExp][] = [
  ["answers with an error", () => new Response("no", { status: 503 }), /status 503/],
  ["is not there", () => Promise.reject(new Error("Network connection lost.")), /Network connection lost/],
  ["redirects", () => Response.redirect("https://evil.example/keys", 302), /status 302/],
  ["answers with a page", () => new Response("<!doctype html>"), /SyntaxError/],
  ["answers with no object", () => Response.json(null), /no key/],
  ["has no keys", () => Response.json({ keys: [] }), /no key/],
  [
    "has keys for other uses alone",
    ({ pairs }) => Response.json({ keys: pairs.map(({ jwk }) => ({ ...jwk, use: "enc" })) }),
    /no key/,
  ],
  ["answers without an end", () => new Response(endlessBody({ count: 0 })), /longer than 65536 bytes/],
  ["does not answer", NEVER, /No answer within 2 seconds/],
  [
    "stops in its answer",
    () => new Response(new ReadableStream({ start: (c) => c.enqueue(new Uint8Array([123])) })),
    /No answer within 2 seconds/,
  ],
];

describe.for(DOWN)("while the provider %s", ([, answer, problem]) => {
  it("keys still sign in, nobody signs in by an assertion, and the log says why", async () => {
    await issueByEmail();
    const provider = await newProvider();
    provider.answer = () => answer(provider);
    expect(await isTaken(provider)).toBe(false);
    expect(problems()).toEqual([expect.stringMatching(problem)]);
    const visitor = await signIn(await issueOperator("viewer"), provider.env);
    expect((await visitor.get(PAGE)).status).toBe(200);
  });

  it("its last keys are used for a day", async () => {
    stopClock();
    const employee = await signedInEmployee();
    const { provider } = employee;
    provider.answer = () => answer(provider);
    const goesOn = async () => {
      employee.assertion = await provider.headersFor(ADA);
      await employee.continueAs();
      return (await employee.get(PAGE)).status === 200;
    };
    for (const ms of [6 * MINUTE_MS, DAY_MS - 1]) {
      clockAt(ms);
      expect(await goesOn()).toBe(true);
    }
    clockAt(DAY_MS);
    expect(await goesOn()).toBe(false);
    const before = provider.requests.length;
    provider.answer = undefined;
    clockAt(DAY_MS + 5 * MINUTE_MS);
    expect(await goesOn()).toBe(true);
    expect(provider.requests).toHaveLength(before + 1);
  });
});

describe("a provider that is down", () => {
  it("is asked no more often, and holds up one request", async () => {
    stopClock();
    const employee = await signedInEmployee();
    const { provider } = employee;
    provider.answer = NEVER;
    clockAt(5 * MINUTE_MS);
    employee.assertion = await provider.headersFor(ADA);
    const first = employee.get(PAGE);
    // These are answered while the first one still waits for the provider.
    const others = await Promise.all(Array.from({ length: 5 }, () => employee.get(PAGE)));
    expect(others.map(({ status }) => status)).toEqual(Array(5).fill(200));
    expect(problems()).toEqual([]);
    expect((await first).status).toBe(200);
    expect(problems()).toHaveLength(1);
    for (let n = 0; n < 5; n += 1) await employee.get(PAGE);
    expect(provider.requests).toHaveLength(2);
  });

  it("sends no more than the bound of its answer is read", async () => {
    const provider = await newProvider();
    const pulled = { count: 0 };
    provider.answer = () => new Response(endlessBody(pulled));
    await isTaken(provider);
    expect(pulled.count).toBeLessThan(10);
  });
});
