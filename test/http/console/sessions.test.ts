import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { REGISTRY_NAME } from "../../../src/domain/placement.ts";
import { call } from "../../support/client.ts";
import { NOW } from "../../support/clock.ts";
import { formToken, signIn, type Visitor, visit, visitorOf } from "../../support/console.ts";
import { limiter } from "../../support/limiter.ts";
import { issueKey, issueOperator, operator } from "../../support/states.ts";
import { inRegistry } from "../../support/storage.ts";

const PAGE = "/console/sessions";
const MINUTE_MS = 60_000;

const isSignedIn = async (visitor: Visitor, path = PAGE): Promise<boolean> => (await visitor.get(path)).status === 200;

const operatorId = async (): Promise<number> =>
  (await call("GET", "/api/operators", { credential: operator })).body.operators.at(-1).id;

describe("signing in", () => {
  it("takes an operator's key, and leads to the page that was asked for", async () => {
    const key = await issueOperator("viewer", { name: "ada" });
    const refused = await visit("GET", "/console/sessions?done=ended");
    const location = refused.headers.get("Location") ?? "";
    const { status, headers } = await visit("POST", location, { fields: { operator_key: ` ${key}\r\n` } });
    expect([status, headers.get("Location")]).toEqual([303, "/console/sessions?done=ended"]);
    const page = await visitorOf(headers.get("Set-Cookie")?.split(";")[0] ?? "").get(PAGE);
    expect(page.body).toContain("<bdi>ada</bdi> <small>viewer</small>");
  });

  it("offers the page to those who follow a link from another site, where no cookie is sent", async () => {
    const headers = { "Sec-Fetch-Site": "cross-site" };
    const { body } = await visit("GET", "/console/sign-in?next=%2Fconsole%2Fsessions", { headers });
    expect(body).toContain('<a href="/console/sessions">');
  });

  it("leads to no other site", async () => {
    const key = await issueOperator("viewer");
    for (const next of [
      "https://evil.example",
      "//evil.example",
      "/\\evil.example",
      "/consoles",
      "/console/\\evil",
      "/docs",
      "https://localhost/console/sessions",
      "http://localhost:8788/console/sessions",
      "javascript:alert(1)//console",
      "/console/../docs",
      "/console/./../docs",
      "/console/sessions/../../docs",
      "/console/%2e%2e/docs",
      "/console/.%2E/docs",
      "/console/..%2fdocs",
      "/console/%2e%2e%2fdocs",
      "/console/%252e%252e/docs",
      "/console/..\\docs",
      "/console/..\\..\\\\evil.example",
      "/console/..//evil.example",
      "//console/sessions",
      "/console//evil.example",
      "/console/\t../docs",
      "/console/.\t./docs",
      "/\t/evil.example",
      "/\n/evil.example",
      "\u0000/console/../docs",
      "/console;/../docs",
      "/console@evil.example",
    ]) {
      const path = `/console/sign-in?next=${encodeURIComponent(next)}`;
      const { headers } = await visit("POST", path, { fields: { operator_key: key } });
      expect(headers.get("Location")).toBe("/console");
    }
  });

  it("leads to a page by the address that a browser would make of it", async () => {
    const key = await issueOperator("viewer");
    for (const [next, location] of [
      ["/console/sessions?done=ended", "/console/sessions?done=ended"],
      ["/console/x/../sessions", "/console/sessions"],
      ["/console/\tsessions", "/console/sessions"],
      ["/console/environments?search=a%2Fb c\r\nX-Evil: 1", "/console/environments?search=a%2Fb%20cX-Evil:%201"],
      ["/console/environments/acme/Testing/groups/1/view-as#x", "/console/environments/acme/Testing/groups/1/view-as"],
      ["/console", "/console"],
    ] as const) {
      const path = `/console/sign-in?next=${encodeURIComponent(next)}`;
      const { headers } = await visit("POST", path, { fields: { operator_key: key } });
      expect([next, headers.get("Location")]).toEqual([next, location]);
    }
  });

  it("gives a cookie that no script and no other site can use", async () => {
    const key = await issueOperator("viewer");
    const cookieAt = async (origin: string) =>
      (await visit("POST", "/console/sign-in", { fields: { operator_key: key }, origin })).headers.get("Set-Cookie");
    const attributes = "Path=/; HttpOnly; SameSite=Strict";
    expect(await cookieAt("http://localhost")).toMatch(new RegExp(`^console=[\\w.-]+; ${attributes}$`));
    expect(await cookieAt("http://127.0.0.1:8787")).toMatch(/^console-8787=/);
    expect(await cookieAt("http://[::1]:8787")).toMatch(/^console-8787=/);
    expect(await cookieAt("https://groups.example.com:8443")).toMatch(/^__Host-console-8443=.*; Secure$/);
    expect(await cookieAt("https://groups.example.com")).toMatch(
      new RegExp(`^__Host-console=[\\w.-]+; ${attributes}; Secure$`),
    );
  });

  it("replaces no session at another port of this machine, whose cookies a browser sends too", async () => {
    const jar = new Map<string, string>();
    const visitAt = async (port: number, method: string, path: string, fields: Record<string, string> = {}) => {
      const headers = { Cookie: [...jar].map((pair) => pair.join("=")).join("; ") };
      const answer = await visit(method, path, { fields, headers, origin: `http://localhost:${port}` });
      const [name = "", value = ""] = answer.headers.get("Set-Cookie")?.split(";")[0]?.split("=") ?? [];
      if (name !== "") jar.set(name, value);
      return answer;
    };
    for (const port of [8787, 8788]) {
      const operator_key = await issueOperator("viewer", { name: `operator of ${port}` });
      expect((await visitAt(port, "POST", "/console/sign-in", { operator_key })).status).toBe(303);
    }
    for (const port of [8787, 8788])
      expect((await visitAt(port, "GET", PAGE)).body).toContain(`<bdi>operator of ${port}</bdi> <small>viewer</small>`);
  });

  it("stores no cookie, and only a hash of it", async () => {
    const { cookie } = await signIn(await issueOperator("viewer"));
    const [, secret = ""] = cookie.split(".");
    const rows = await inRegistry(({ sql }) => sql.exec("SELECT * FROM console_sessions").toArray());
    expect(rows).toHaveLength(1);
    const stored = Object.values(rows[0] ?? {}).map((value) =>
      value instanceof ArrayBuffer ? new TextDecoder().decode(value) + new Uint8Array(value).toHex() : String(value),
    );
    expect(stored.join()).not.toContain(secret);
    expect(stored.join()).not.toContain(Uint8Array.fromBase64(secret, { alphabet: "base64url" }).toHex());
  });

  it("refuses every other credential, with a sentence at the field", async () => {
    for (const operator_key of ["", "ugo_forged", "x".repeat(40), await issueKey()]) {
      const { status, body, headers } = await visit("POST", "/console/sign-in", { fields: { operator_key } });
      expect(status).toBe(401);
      expect(body).toContain("<title>Error: Sign in");
      expect(body).toContain('href="#field-operator_key"');
      expect(headers.has("Set-Cookie")).toBe(false);
    }
  });

  it("names the methods that its pages take", async () => {
    const { status, headers } = await visit("PUT", "/console/sign-in");
    expect([status, headers.get("Allow")]).toEqual([405, "GET, HEAD, POST"]);
  });

  it("says so of a key that was revoked", async () => {
    const key = await issueOperator("viewer");
    await call("DELETE", `/api/operators/${await operatorId()}`, { credential: operator });
    const { status, body } = await visit("POST", "/console/sign-in", { fields: { operator_key: key } });
    expect([status, body.includes("This key was revoked.")]).toEqual([401, true]);
  });

  it("counts guesses by address, the right one too", async () => {
    const REFUSED_CREDENTIAL_LIMIT = limiter(2);
    const limited = { ...env, REFUSED_CREDENTIAL_LIMIT };
    const headers = { "CF-Connecting-IP": "192.0.2.1" };
    const guess = async (operator_key: string) =>
      (await visit("POST", "/console/sign-in", { fields: { operator_key }, env: limited, headers })).status;
    const statuses = [await guess("a"), await guess("b"), await guess("c"), await guess(operator)];
    expect(statuses).toEqual([401, 401, 429, 429]);
    expect(REFUSED_CREDENTIAL_LIMIT.counts.get("192.0.2.1")).toBe(4);
  });

  it("counts how often one key signs in, as the API counts its calls", async () => {
    const key = await issueOperator("viewer");
    await call("DELETE", `/api/operators/${await operatorId()}`, { credential: operator });
    const limited = { ...env, OPERATOR_LIMIT: limiter(2) };
    const signInOnce = async () =>
      (await visit("POST", "/console/sign-in", { fields: { operator_key: key }, env: limited })).status;
    expect([await signInOnce(), await signInOnce(), await signInOnce()]).toEqual([401, 401, 429]);
  });

  it("counts guessed cookies by address", async () => {
    const REFUSED_CREDENTIAL_LIMIT = limiter(1);
    const limited = { ...env, REFUSED_CREDENTIAL_LIMIT };
    const headers = { "CF-Connecting-IP": "192.0.2.1" };
    const guess = visitorOf(`console=test.${"B".repeat(43)}.${"B".repeat(22)}`, limited);
    expect((await guess.get(PAGE, { headers: { ...headers, Cookie: guess.cookie }, env: limited })).status).toBe(303);
    expect((await guess.get(PAGE, { headers: { ...headers, Cookie: guess.cookie }, env: limited })).status).toBe(429);
  });
});

describe("a session", () => {
  it("ends when it is signed out, and no other does", async () => {
    const key = await issueOperator("viewer");
    const [one, other] = [await signIn(key), await signIn(key)];
    const { headers } = await one.send(PAGE, {}, "/console/sign-out");
    expect(headers.get("Set-Cookie")).toMatch(/^console=; Max-Age=0/);
    expect([await isSignedIn(one), await isSignedIn(other)]).toEqual([false, true]);
  });

  it("ends after 30 minutes without use, and goes on with use", async () => {
    vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
    const session = await signIn(await issueOperator("viewer"));
    for (const minutes of [29, 58, 87]) {
      vi.setSystemTime(NOW.getTime() + minutes * MINUTE_MS);
      expect(await isSignedIn(session)).toBe(true);
    }
    vi.setSystemTime(NOW.getTime() + (87 + 30) * MINUTE_MS);
    expect(await isSignedIn(session)).toBe(false);
  });

  it("notes its use once a minute, and on a full disk never again", async () => {
    vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
    const session = await signIn(await issueOperator("viewer"));
    const lastUsedAfter = async (milliseconds: number) => {
      vi.setSystemTime(NOW.getTime() + milliseconds);
      expect(await isSignedIn(session)).toBe(true);
      return inRegistry(({ sql }) => Number(sql.exec("SELECT last_used_at FROM console_sessions").one().last_used_at));
    };
    expect(await lastUsedAfter(MINUTE_MS - 1)).toBe(NOW.getTime());
    expect(await lastUsedAfter(MINUTE_MS)).toBe(NOW.getTime() + MINUTE_MS);
    await env.REGISTRY.getByName(REGISTRY_NAME).stopNotingUse();
    expect(await lastUsedAfter(3 * MINUTE_MS)).toBe(NOW.getTime() + MINUTE_MS);
  });

  it("ends after 8 hours, however much it is used", async () => {
    vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
    const session = await signIn(await issueOperator("viewer"));
    for (let minutes = 20; minutes < 8 * 60; minutes += 20) {
      vi.setSystemTime(NOW.getTime() + minutes * MINUTE_MS);
      expect(await isSignedIn(session)).toBe(true);
    }
    vi.setSystemTime(NOW.getTime() + 8 * 60 * MINUTE_MS);
    expect(await isSignedIn(session)).toBe(false);
  });

  it("ends with the key of its operator: revoked, rolled or expired", async () => {
    vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
    const revoked = await signIn(await issueOperator("viewer"));
    await call("DELETE", `/api/operators/${await operatorId()}`, { credential: operator });
    const rolled = await signIn(await issueOperator("viewer"));
    await call("POST", `/api/operators/${await operatorId()}/roll`, { credential: operator });
    const expired = await signIn(await issueOperator("viewer", { expires_in_seconds: 60 }));
    expect([await isSignedIn(revoked), await isSignedIn(rolled), await isSignedIn(expired)]).toEqual([
      false,
      false,
      true,
    ]);
    vi.setSystemTime(NOW.getTime() + MINUTE_MS);
    expect(await isSignedIn(expired)).toBe(false);
  });

  it("of the bootstrap token ends when that is replaced", async () => {
    const session = await signIn(operator);
    expect((await session.get(PAGE)).body).toContain("<bdi>bootstrap</bdi> <small>admin</small>");
    const replaced = visitorOf(session.cookie, { ...env, OPERATOR_TOKEN: "another-operator-token-of-these-tests" });
    expect(await isSignedIn(replaced)).toBe(false);
    expect(await isSignedIn(visitorOf(session.cookie, { ...env, OPERATOR_TOKEN: "" }))).toBe(false);
    expect(await isSignedIn(session)).toBe(true);
  });

  it("ends when its signing key leaves the ring", async () => {
    const session = await signIn(await issueOperator("viewer"));
    const SIGNING_KEYS = `new:${new Uint8Array(32).fill(9).toBase64()}`;
    expect(
      await isSignedIn(visitorOf(session.cookie, { ...env, SIGNING_KEYS: `${SIGNING_KEYS},${env.SIGNING_KEYS}` })),
    ).toBe(true);
    expect(await isSignedIn(visitorOf(session.cookie, { ...env, SIGNING_KEYS }))).toBe(false);
  });

  it("gives way to the 20th after it", async () => {
    const key = await issueOperator("viewer");
    const sessions = [];
    for (let count = 0; count < 21; count += 1) sessions.push(await signIn(key));
    const signedIn = await Promise.all(sessions.map((session) => isSignedIn(session)));
    expect(signedIn).toEqual([false, ...Array.from({ length: 20 }, () => true)]);
  });
});

describe("a form", () => {
  /** Ends a session that does not exist, so it changes nothing but is taken like every form. */
  const sendForm = async (visitor: Visitor, form_token: string) => {
    const { status, body, headers } = await visitor.forge(PAGE, { form_token, session: "0" });
    const [, title = ""] = /<h1>(.*?)<\/h1>/.exec(body ?? "") ?? [];
    return status === 303 ? headers.get("Location") : `${status} ${title}`;
  };
  const TAKEN = `${PAGE}?done=ended`;
  const sendOthers = async (visitor: Visitor, count: number) => {
    for (let n = 0; n < count; n += 1)
      expect(await sendForm(visitor, await formToken(visitor.cookie, PAGE))).toBe(TAKEN);
  };
  const setFormIds = (ids: string[]) =>
    inRegistry(({ sql }) => void sql.exec("UPDATE console_sessions SET form_ids = ?", ids.join(" ")));
  const formIds = () =>
    inRegistry(({ sql }) => String(sql.exec("SELECT form_ids FROM console_sessions").one().form_ids));
  /** An id as release 1.0.0 makes it. */
  const randomId = () =>
    crypto.getRandomValues(new Uint8Array(16)).toBase64({ alphabet: "base64url", omitPadding: true });

  it("is taken once, whatever was sent in between", async () => {
    const visitor = await signIn(await issueOperator("viewer"));
    const form = await formToken(visitor.cookie, PAGE);
    expect(await sendForm(visitor, form)).toBe(TAKEN);
    expect(await sendForm(visitor, form)).toBe("409 This form was sent already");
    await sendOthers(visitor, 205);
    expect(await sendForm(visitor, form)).toBe("409 This form is too old");
  });

  it("that is older than 200 others asks to open it again, and is taken then", async () => {
    const visitor = await signIn(await issueOperator("viewer"));
    const form = await formToken(visitor.cookie, PAGE);
    await sendOthers(visitor, 199);
    const second = await formToken(visitor.cookie, PAGE);
    expect(await sendForm(visitor, form)).toBe(TAKEN);
    const other = await formToken(visitor.cookie, PAGE);
    // Those of the same millisecond have no order.
    await sendOthers(visitor, 205);
    expect(await sendForm(visitor, second)).toBe("409 This form is too old");
    expect(await sendForm(visitor, other)).toBe("409 This form is too old");
    expect(await sendForm(visitor, await formToken(visitor.cookie, PAGE))).toBe(TAKEN);
  });

  it("of release 1.0.0 is forgotten first", async () => {
    const visitor = await signIn(await issueOperator("viewer"));
    await setFormIds(Array.from({ length: 199 }, randomId));
    const form = await formToken(visitor.cookie, PAGE);
    expect(await sendForm(visitor, form)).toBe(TAKEN);
    await sendOthers(visitor, 199);
    expect(await sendForm(visitor, form)).toBe("409 This form was sent already");
  });

  it.for([
    ["an upgrade", () => Array.from({ length: 200 }, randomId)],
    ["a rollback and an upgrade", (sent: string[]) => [randomId(), ...sent.slice(0, 199)]],
  ] as const)("ends a session of which release 1.0.0 may have forgotten one, after %s", async ([, idsAfter]) => {
    const visitor = await signIn(await issueOperator("viewer"));
    await sendOthers(visitor, 200);
    await setFormIds(idsAfter((await formIds()).split(" ")));
    const led = await sendForm(visitor, await formToken(visitor.cookie, PAGE));
    expect(led).toBe(`/console/sign-in?next=${encodeURIComponent(PAGE)}`);
    expect(await isSignedIn(visitor)).toBe(false);
  });
});

describe("the list of an operator's sessions", () => {
  it("names the browser and the network from which each has signed in", async () => {
    const operator_key = await issueOperator("viewer");
    const headers = {
      "User-Agent": "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0",
      "CF-Connecting-IP": "203.0.113.7",
    };
    const signedIn = await visit("POST", "/console/sign-in", { fields: { operator_key }, headers });
    const visitor = visitorOf(signedIn.headers.get("Set-Cookie")?.split(";")[0] ?? "");
    expect((await visitor.get(PAGE)).body).toMatch(/Firefox on Linux<.*203\.0\.113\.7</);
  });

  it("ends one, or all, and none of another operator", async () => {
    const key = await issueOperator("support");
    const stranger = await signIn(await issueOperator("viewer", { name: "stranger" }));
    const [one, two, three] = [await signIn(key), await signIn(key), await signIn(key)];
    const page = await three.get(PAGE);
    const numbers = [...page.body.matchAll(/End session (\d+)/g)].map(([, number]) => Number(number));
    expect(numbers).toHaveLength(2);

    await three.send(PAGE, { session: String(Math.min(...numbers)) });
    await stranger.send(PAGE, { session: String(Math.max(...numbers)) });
    expect([await isSignedIn(one), await isSignedIn(two), await isSignedIn(three)]).toEqual([false, true, true]);

    await three.send(PAGE, { session: "all" });
    expect([await isSignedIn(two), await isSignedIn(three), await isSignedIn(stranger)]).toEqual([false, false, true]);
  });
});
