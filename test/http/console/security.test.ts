import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { call } from "../../support/client.ts";
import { NOW } from "../../support/clock.ts";
import {
  CONSOLE_ROUTES,
  type ConsoleRoute,
  formToken,
  signIn,
  type VisitOptions,
  visit,
} from "../../support/console.ts";
import { PAGE_NAMES } from "../../support/console-pages.ts";
import { CREDENTIAL_PATTERN } from "../../support/credential-pattern.ts";
import { limiter } from "../../support/limiter.ts";
import { inEnvironment, issueKey, issueOperator, operator } from "../../support/states.ts";

const SIGNED_IN = CONSOLE_ROUTES.filter(({ access }) => access.role !== undefined);
const FORMS = SIGNED_IN.filter(({ method }) => method === "POST");
const CHANGES = FORMS.filter(({ access }) => !access.form?.changesNothing);

const ACME = "/console/environments/acme/Testing";

/** Where a request without a valid session is led to. */
const isLedToSignIn = ({ status, headers }: { status: number; headers: Headers }) =>
  status === 303 && headers.get("Location")?.startsWith("/console/sign-in") === true;

/** The request that a browser would make, with a valid form, of an admin unless a cookie is given. */
const request = async ({ method, path }: ConsoleRoute, cookie: string, options: VisitOptions = {}) =>
  visit(method, path, {
    ...options,
    headers: { Cookie: cookie, ...options.headers },
    fields: { form_token: await formToken(cookie, path), ...options.fields },
  });

const adminCookie = async () => {
  await issueKey();
  return (await signIn(await issueOperator("admin"))).cookie;
};

it("has an entry for each route of the router, and no other", () => {
  expect(CONSOLE_ROUTES.map(({ name }) => name).toSorted()).toEqual(PAGE_NAMES.toSorted());
});

it("asks on each page for the role of the design", () => {
  const pathsOf = (role: string) =>
    new Set(SIGNED_IN.filter(({ access }) => access.role === role).map(({ path }) => path.replace(ACME, "")));
  const ofKeys = ["/keys/issue", "/keys/1/end", "/erase", "/groups/1/delete", "/groups/1/purge"];
  const ofOperators = ["issue", "1/end"].map((path) => `/console/operators/${path}`);
  expect(pathsOf("admin")).toEqual(new Set(["/console/environments/create", ...ofOperators, ...ofKeys]));
  const ofSupport = ["edit", "rotate", "suspend", "resume", "end-sessions", "restore"];
  expect(pathsOf("support")).toEqual(new Set(ofSupport.map((path) => `/groups/1/${path}`)));
});

describe.for(CONSOLE_ROUTES)("$name", (route) => {
  it("has the headers that protect pages", async () => {
    const { status, headers } = await request(route, await adminCookie());
    expect(status).toBeLessThan(500);
    expect(headers.get("Cache-Control")).toBe("no-store");
    expect(headers.get("Content-Security-Policy")).toMatch(/^default-src 'none';/);
    expect(headers.get("Cross-Origin-Opener-Policy")).toBe("same-origin");
    expect(headers.get("Referrer-Policy")).toBe("same-origin");
  });

  it("refuses scripts, frames and the pages of other origins", async () => {
    const cookie = await adminCookie();
    const foreign: Record<string, string>[] = [
      { "Sec-Fetch-Mode": "cors" },
      { "Sec-Fetch-Mode": "no-cors" },
      { "Sec-Fetch-Dest": "iframe" },
      { Origin: "https://evil.example" },
      { Origin: "null" },
      { Origin: "http://localhost:8788" },
    ];
    for (const headers of foreign)
      expect([headers, (await request(route, cookie, { headers })).status]).toEqual([headers, 403]);
  });

  it("is not there when the console is off, or the setting is misspelt", async () => {
    const cookie = await adminCookie();
    for (const CONSOLE of ["off", "On"])
      expect((await request(route, cookie, { env: { ...env, CONSOLE } })).status).toBe(404);
  });

  it("needs https, but for this machine", async () => {
    const { status, body } = await visit(route.method, route.path, { origin: "http://groups.example.com" });
    expect(status).toBe(403);
    expect(body).toContain("The console needs https");
  });
});

it.for(CONSOLE_ROUTES.filter(({ method }) => method === "POST"))(
  "$name refuses what is no form of its own page",
  async (route) => {
    const cookie = await adminCookie();
    const statuses = [
      await request(route, cookie, { headers: { Origin: "" } }),
      await request(route, cookie, { headers: { "Content-Type": "application/json" } }),
      await request(route, cookie, { headers: { "Content-Type": "text/plain" } }),
      await request(route, cookie, { headers: { "Content-Type": "" } }),
    ].map(({ status }) => status);
    expect(statuses).toEqual([403, 403, 403, 403]);
  },
);

describe.for(SIGNED_IN)("$name", (route) => {
  it("leads those without a session to the page on which to sign in", async () => {
    await issueKey();
    expect(await visit(route.method, route.path)).toSatisfy(isLedToSignIn);
    const forged = `console=test.${"A".repeat(43)}.${"A".repeat(22)}`;
    expect(await visit(route.method, route.path, { headers: { Cookie: forged } })).toSatisfy(isLedToSignIn);
  });

  it("refuses a role below the one that it needs", async () => {
    await issueKey();
    const needed = route.access.role ?? "viewer";
    for (const role of ["viewer", "support"] as const) {
      if (needed === "viewer" || needed === role) break;
      const { cookie } = await signIn(await issueOperator(role));
      expect((await request(route, cookie)).status).toBe(403);
    }
  });
});

it("only the pages that read much at once count as lists", async () => {
  const cookie = await adminCookie();
  const withoutLists = { ...env, LIST_LIMIT: limiter(0) };
  const listed: string[] = [];
  for (const route of SIGNED_IN.filter(({ method }) => method === "GET"))
    if ((await request(route, cookie, { env: withoutLists })).status === 429) listed.push(route.path);
  const inAcme = ["", "/groups", "/keys", "/keys/1/about"];
  expect(listed.toSorted()).toEqual([
    "/console/attention",
    "/console/environments",
    ...inAcme.map((path) => ACME + path),
    "/console/events",
    "/console/operators",
    "/console/operators/1/about",
  ]);
});

it("no page takes a session that was ended, is idle, or is eight hours old", async () => {
  const takenBy = async (cookie: string) => {
    const taken: string[] = [];
    for (const route of SIGNED_IN) if (!isLedToSignIn(await request(route, cookie))) taken.push(route.name);
    return taken;
  };
  vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
  await issueKey();
  const key = await issueOperator("admin");
  const ended = await signIn(key);
  await ended.forge("/console/sign-out");
  expect(await takenBy(ended.cookie)).toEqual([]);

  const idle = await signIn(key);
  vi.setSystemTime(NOW.getTime() + 30 * 60_000);
  expect(await takenBy(idle.cookie)).toEqual([]);

  const old = await signIn(key);
  for (let minutes = 30; minutes <= 8 * 60; minutes += 25) {
    vi.setSystemTime(NOW.getTime() + minutes * 60_000);
    expect((await old.get(`${ACME}/groups`)).status).toBe(200);
  }
  vi.setSystemTime(NOW.getTime() + 8.5 * 60 * 60_000);
  expect(await takenBy(old.cookie)).toEqual([]);
});

describe.for(CHANGES)("the form $name", (route) => {
  it("is taken once", async () => {
    const cookie = await adminCookie();
    const form_token = await formToken(cookie, route.path);
    expect((await request(route, cookie, { fields: { form_token } })).status).toBeLessThan(500);
    const again = await request(route, cookie, { fields: { form_token } });
    // Or it has ended its own session.
    expect(again.status === 409 || isLedToSignIn(again)).toBe(true);
  });
});

describe.for(FORMS)("the form $name", (route) => {
  it("refuses a form of another page, of another environment, or of another session", async () => {
    const cookie = await adminCookie();
    const other = await signIn(await issueOperator("admin", { name: "other" }));
    const tokens = [
      await formToken(cookie, route.path.replace("/Testing", "/Customer").replace("/console", "/console/")),
      await formToken(other.cookie, route.path),
      "",
    ];
    for (const form_token of tokens)
      expect((await request(route, cookie, { fields: { form_token } })).status).toBe(403);
  });
});

/** Fields with which each form that shows a credential succeeds, but for the operator's own key. */
const FIELDS = {
  name: "thief",
  role: "admin",
  preset: "write",
  workspace: "thief",
  environment: "Testing",
  grace_seconds: "0",
  leaked: "no",
};
const SHOWS_CREDENTIAL = FORMS.filter(({ access }) => access.form?.asksForKey === "credential");

/** An admin who has signed in, whose cookie a thief has. */
async function newAdmin() {
  await issueKey();
  const key = await issueOperator("admin", { name: "ada" });
  const { cookie } = await signIn(key);
  return { key, cookie };
}

/** How many API keys, operators and environments there are. */
const issued = async () => {
  const lists = [
    [`/api/keys${inEnvironment()}`, "api_keys"],
    ["/api/operators", "operators"],
    ["/api/environments", "environments"],
  ] as const;
  const answers = lists.map(([path]) => call("GET", path, { credential: operator }));
  return (await Promise.all(answers)).map(({ body }, index) => body[lists[index]?.[1] ?? ""].length);
};

it.for(CONSOLE_ROUTES)("$name shows a credential only if it asks for the operator's own key", async (route) => {
  const { key, cookie } = await newAdmin();
  const asks = route.method === "POST" && route.access.form?.asksForKey === "credential";
  const without = await request(route, cookie, { fields: FIELDS });
  expect(without.body ?? "").not.toMatch(CREDENTIAL_PATTERN);
  const { body = "" } = await request(route, cookie, { fields: { ...FIELDS, operator_key: key } });
  expect(CREDENTIAL_PATTERN.test(body)).toBe(asks);
});

it.for(SIGNED_IN.filter(({ method }) => method === "GET"))(
  "$name has a field for the key if its form asks for it",
  async (route) => {
    const { cookie } = await newAdmin();
    const { body } = await request(route, cookie);
    const form = FORMS.find(({ path }) => path === route.path);
    const isOffered = body.includes(`action="${route.path}"`);
    expect(body.includes('name="operator_key"')).toBe(isOffered && form?.access.form?.asksForKey !== undefined);
  },
);

describe.for(SHOWS_CREDENTIAL)("with a stolen cookie of an admin, $name", (route) => {
  it("issues nothing for any other key than the admin's own", async () => {
    const { key, cookie } = await newAdmin();
    const other = await issueOperator("admin", { name: "eve" });
    const apiKey = await issueKey();
    const before = await issued();
    for (const operator_key of ["", "x", other, apiKey, operator, `${key.slice(0, -4)}AAAA`]) {
      const { status, body } = await request(route, cookie, { fields: { ...FIELDS, operator_key } });
      expect([status, body.includes('href="#field-operator_key"')]).toEqual([422, true]);
      expect(body).not.toMatch(CREDENTIAL_PATTERN);
    }
    expect(before).toEqual([2, 2, 1]);
    expect(await issued()).toEqual(before);
  });

  it("takes the bootstrap token alone from a session that began with it", async () => {
    const { key } = await newAdmin();
    const { cookie } = await signIn(operator);
    const refused = await request(route, cookie, { fields: { ...FIELDS, operator_key: key } });
    expect(refused.status).toBe(422);
    const taken = await request(route, cookie, { fields: { ...FIELDS, operator_key: operator } });
    expect(taken.body).toMatch(CREDENTIAL_PATTERN);
  });

  it("counts wrong keys by address, so that the bootstrap token cannot be guessed", async () => {
    await newAdmin();
    const { cookie } = await signIn(operator);
    const options = {
      env: { ...env, REFUSED_CREDENTIAL_LIMIT: limiter(2) },
      headers: { "CF-Connecting-IP": "192.0.2.1" },
    };
    for (const operator_key of ["a", "b", operator]) {
      const { status, body } = await request(route, cookie, { ...options, fields: { ...FIELDS, operator_key } });
      expect(status).toBe(422);
      expect(body).not.toMatch(CREDENTIAL_PATTERN);
    }
  });
});
