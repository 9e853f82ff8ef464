import { env } from "cloudflare:workers";
import { UnsecuredJWT } from "jose";
import { describe, expect, it, vi } from "vitest";
import { call } from "../../support/client.ts";
import { NOW } from "../../support/clock.ts";
import {
  ADA,
  CONTINUE,
  type Employee,
  issueByEmail,
  newEmployee,
  SIGN_IN,
  signedInEmployee,
} from "../../support/company.ts";
import { CONSOLE_ROUTES, formToken, signIn, visit } from "../../support/console.ts";
import { CREDENTIAL_PATTERN } from "../../support/credential-pattern.ts";
import { logLines } from "../../support/each-test.ts";
import { claimsOf, newPair, type ProviderPair, SSO_HEADER, signed } from "../../support/identity-provider.ts";
import { limiter } from "../../support/limiter.ts";
import { issueKey, issueOperator, operator } from "../../support/states.ts";
import { inRegistry } from "../../support/storage.ts";

const PAGE = "/console/sessions";
const MINUTE_MS = 60_000;

const isSignedIn = async (employee: Employee) => (await employee.get(PAGE)).status === 200;
const isLedToSignIn = ({ status, headers }: { status: number; headers: Headers }) =>
  status === 303 && headers.get("Location")?.startsWith(SIGN_IN) === true;
const lastLine = () => logLines.findLast(({ path }) => path !== undefined) ?? {};

describe("the page on which to sign in", () => {
  it("offers to continue as the operator whom the company names", async () => {
    await issueByEmail();
    const { get } = await newEmployee("ADA@example.com");
    const { status, body } = await get(`${SIGN_IN}?next=%2Fconsole%2Fsessions`);
    expect(status).toBe(200);
    expect(body).toContain(`action="${CONTINUE}?next=%2Fconsole%2Fsessions"`);
    expect(body).toContain("Continue as <bdi>ada</bdi>");
    expect(body).toContain(`<bdi>${ADA}</bdi>`);
    expect(body).toContain('name="operator_key"');
  });

  it("says so of a person who is no operator, or no longer", async () => {
    const employee = await newEmployee();
    const saysNobody = async () => {
      const { body } = await employee.get(SIGN_IN);
      return [body.includes("no operator has this email"), body.includes("Continue as")];
    };
    expect(await saysNobody()).toEqual([true, false]);
    const id = await issueByEmail();
    expect(await saysNobody()).toEqual([false, true]);
    await call("DELETE", `/api/operators/${id}`, { credential: operator });
    expect(await saysNobody()).toEqual([true, false]);
  });

  it("asks for a key alone without an assertion, and where no company is set up", async () => {
    await issueByEmail();
    const employee = await newEmployee();
    const elsewhere = await employee.get(SIGN_IN, { env });
    expect(elsewhere.body).not.toContain("company");
    expect(elsewhere.body).toContain('name="operator_key"');
    employee.assertion = {};
    const { body } = await employee.get(SIGN_IN);
    expect(body).toContain("has sent no valid assertion");
    expect(body).not.toContain("Continue as");
  });

  it("shows hostile names and addresses as text", async () => {
    const email = "a'&lt;b`{|}~@example.com";
    await issueByEmail(email.replaceAll(";", ""), { name: '<script>alert("1")</script>' });
    const { get } = await newEmployee(email.replaceAll(";", ""));
    const { body } = await get(SIGN_IN);
    expect(body).toContain("Continue as <bdi>&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;</bdi>");
    expect(body).toContain("a&#39;&amp;ltb`{|}~@example.com");
    expect(body).not.toContain("<script");
  });
});

describe("continuing", () => {
  it("starts a session of the operator, with its name and role in pages, events and the log", async () => {
    const id = await issueByEmail();
    const employee = await newEmployee();
    const { status, headers } = await employee.continueAs(ADA, "?next=%2Fconsole%2Fsessions%3Fdone%3Dended");
    expect([status, headers.get("Location")]).toEqual([303, "/console/sessions?done=ended"]);
    expect(headers.get("Set-Cookie")).toMatch(/^console=[\w.-]+; Path=\/; HttpOnly; SameSite=Strict$/);
    expect((await employee.get(PAGE)).body).toContain("<bdi>ada</bdi> <small>admin</small>");
    await issueKey();
    await employee.send("/console/environments/create", {
      workspace: "beta",
      environment: "Testing",
      name: "k",
      preset: "read",
    });
    expect(lastLine()).toMatchObject({ operator: "ada", operator_id: id });
    const { body } = await call("GET", "/api/events", { credential: operator });
    expect(body.events.at(-1)).toMatchObject({
      type: "environment.created",
      actor: { kind: "operator", id, name: "ada" },
    });
    const [ada] = (await call("GET", "/api/operators", { credential: operator })).body.operators;
    expect(ada.last_used_at).not.toBeNull();
  });

  it("needs the person whom the page has named", async () => {
    await issueByEmail();
    await issueByEmail("eve@example.com", { name: "eve" });
    const employee = await newEmployee("eve@example.com");
    for (const email of [ADA, "", "Eve@example.com"]) {
      const { status, body, headers } = await employee.continueAs(email);
      expect([status, headers.has("Set-Cookie")]).toEqual([401, false]);
      expect(body).toContain("not name the person as whom you wanted to continue");
      expect(body).toContain("Continue as <bdi>eve</bdi>");
    }
  });

  it("needs a valid operator, and works again for one that is issued again", async () => {
    const id = await issueByEmail();
    const employee = await newEmployee();
    await call("DELETE", `/api/operators/${id}`, { credential: operator });
    const refused = await employee.continueAs();
    expect([refused.status, refused.headers.has("Set-Cookie")]).toEqual([401, false]);
    expect(refused.body).toContain("No operator has your email");
    await issueByEmail();
    expect((await employee.continueAs()).status).toBe(303);
  });

  it("is for those with a key too, and their key works as before", async () => {
    const body = { name: "ada", role: "viewer", email: ADA };
    const { key } = (await call("POST", "/api/operators", { credential: operator, body })).body;
    const employee = await newEmployee();
    await employee.continueAs();
    expect(await isSignedIn(employee)).toBe(true);
    // A session that began with the key needs no assertion, and a wrong one does nothing to it.
    const { cookie } = await signIn(key, employee.provider.env);
    for (const assertion of [{}, employee.assertion, { [SSO_HEADER]: "x" }]) {
      const { status } = await employee.get(PAGE, { headers: { Cookie: cookie, [SSO_HEADER]: "", ...assertion } });
      expect(status).toBe(200);
    }
  });

  it("is limited by the person, as the calls of a key are", async () => {
    await issueByEmail();
    const employee = await newEmployee();
    employee.provider.env.OPERATOR_LIMIT = limiter(2);
    const statuses = [];
    for (const _ of [1, 2, 3]) statuses.push((await employee.send(CONTINUE, { email: ADA })).status);
    expect(statuses).toEqual([303, 303, 429]);
    expect((await employee.get(SIGN_IN)).body).not.toContain("Continue as");
  });

  it("gives each of ten requests at the same time a session", async () => {
    await issueByEmail();
    const { provider } = await newEmployee();
    const employees = await Promise.all(Array.from({ length: 10 }, () => newEmployee(ADA, provider)));
    await Promise.all(employees.map((each) => each.continueAs()));
    expect(await Promise.all(employees.map(isSignedIn))).toEqual(Array(10).fill(true));
    expect(new Set(employees.map(({ cookie }) => cookie)).size).toBe(10);
    expect(provider.requests).toHaveLength(1);
  });
});

/** Assertions that somebody could send, with what the log says of them. test/domain/assertion.test.ts has all of them. */
const FORGED: [what: string, make: (pair: ProviderPair) => Promise<string>, reason: RegExp][] = [
  ["for another audience", (pair) => signed(pair, claimsOf(ADA, { aud: "wiki" })), /aud/],
  ["that has expired", (pair) => signed(pair, claimsOf(ADA, { exp: Date.now() / 1000 - 60 })), /expired/],
  ["without a signature", async () => new UnsecuredJWT(claimsOf(ADA)).encode(), /compact form/],
  ["signed by another key of the same name", async ({ id }) => signed(await newPair(id), claimsOf(ADA)), /signature/],
  ["with the kid of no key", (pair) => signed(pair, claimsOf(ADA), { kid: "other" }), /has its kid/],
  ["that is none", async () => "ada@example.com", /compact form/],
];

describe.for(FORGED)("an assertion %s", ([, make, reason]) => {
  it("is offered nothing, starts no session, and goes on with none", async () => {
    const employee = await signedInEmployee();
    const forged = { [SSO_HEADER]: await make(employee.provider.pairs[0] as ProviderPair) };
    const valid = employee.assertion;
    employee.assertion = forged;
    expect((await employee.get(SIGN_IN)).body).not.toContain("Continue as");
    const { status, headers } = await employee.send(CONTINUE, { email: ADA });
    expect([status, headers.has("Set-Cookie")]).toEqual([401, false]);
    expect(await employee.get(PAGE)).toSatisfy(isLedToSignIn);
    expect(lastLine()).toMatchObject({ failure: "credential_expired", problem: expect.stringMatching(reason) });
    expect(JSON.stringify(logLines)).not.toContain(forged[SSO_HEADER]?.slice(0, 40));
    employee.assertion = valid;
    expect(await isSignedIn(employee)).toBe(true);
  });
});

it("two assertions in one request are none: the proxy has to replace what a client sends", async () => {
  const employee = await signedInEmployee();
  const [own, other] = [employee.assertion[SSO_HEADER] ?? "", await signed(await newPair("x"), claimsOf(ADA))];
  for (const [first, second] of [
    [own, other],
    [other, own],
    [own, own],
  ]) {
    employee.assertion = { [SSO_HEADER]: `${first}, ${second}` };
    expect((await employee.get(SIGN_IN)).body).not.toContain("Continue as");
    expect(await isSignedIn(employee)).toBe(false);
  }
});

describe("a session that began with an assertion", () => {
  it("needs a valid one in each request", async () => {
    vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
    const employee = await signedInEmployee();
    vi.setSystemTime(NOW.getTime() + 10 * MINUTE_MS);
    expect(await isSignedIn(employee)).toBe(true);
    vi.setSystemTime(NOW.getTime() + 11 * MINUTE_MS);
    expect(await isSignedIn(employee)).toBe(false);
    employee.assertion = await employee.provider.headersFor(ADA);
    expect(await isSignedIn(employee)).toBe(true);
    employee.assertion = {};
    expect(await isSignedIn(employee)).toBe(false);
    expect(lastLine().problem).toBe("The assertion of this request is missing, or no company sign-in is set up.");
  });

  it("is refused on every page, and takes no form", async () => {
    await issueKey();
    const employee = await signedInEmployee();
    employee.assertion = {};
    for (const { method, path, access } of CONSOLE_ROUTES) {
      if (access.role === undefined) continue;
      const answer = method === "POST" ? await employee.send(path) : await employee.get(path);
      expect([path, isLedToSignIn(answer)]).toEqual([path, true]);
    }
  });

  it("is refused when the deployment has the company's sign-in no more", async () => {
    const employee = await signedInEmployee();
    expect(await employee.get(PAGE, { env })).toSatisfy(isLedToSignIn);
    const { SSO_AUDIENCE: _, ...without } = employee.provider.env;
    expect(await employee.get(PAGE, { env: without as Env })).toSatisfy(isLedToSignIn);
  });

  it("is refused with an assertion for another person, or another address of the same one", async () => {
    const employee = await signedInEmployee();
    await issueByEmail("eve@example.com", { name: "eve" });
    for (const email of ["eve@example.com", "ada.lovelace@example.com"]) {
      employee.assertion = await employee.provider.headersFor(email);
      expect(await isSignedIn(employee)).toBe(false);
      expect(lastLine().problem).toBe("The assertion of this request is for another person than its session.");
    }
    employee.assertion = await employee.provider.headersFor("ADA@EXAMPLE.COM");
    expect(await isSignedIn(employee)).toBe(true);
  });

  it("ends at once with its operator", async () => {
    const employee = await signedInEmployee();
    await call("DELETE", `/api/operators/${employee.id}`, { credential: operator });
    expect(await isSignedIn(employee)).toBe(false);
    // Another operator with the same address is another one: the session does not become theirs.
    await issueByEmail();
    expect(await isSignedIn(employee)).toBe(false);
    await employee.continueAs();
    expect(await isSignedIn(employee)).toBe(true);
  });

  it("ends with the grace of an operator whose key was rolled, who continues as the successor", async () => {
    vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
    const employee = await signedInEmployee({ key: true });
    await call("POST", `/api/operators/${employee.id}/roll`, { credential: operator, body: { grace_seconds: 60 } });
    expect(await isSignedIn(employee)).toBe(true);
    vi.setSystemTime(NOW.getTime() + 60_000);
    expect(await isSignedIn(employee)).toBe(false);
    await employee.continueAs();
    await employee.get(PAGE);
    expect(lastLine()).toMatchObject({ operator_id: employee.id + 1 });
  });

  it("shows what was typed when the assertion has ended, and nobody's frame", async () => {
    await issueKey();
    const employee = await signedInEmployee();
    employee.assertion = {};
    const { status, body } = await employee.send("/console/environments/create", { workspace: "beta" });
    expect([status, body.includes("beta"), body.includes("<bdi>ada</bdi>")]).toEqual([401, true, false]);
  });

  it("signs out, and is listed as others are", async () => {
    const employee = await signedInEmployee();
    expect((await employee.get(PAGE)).body).toContain("this one");
    const { headers } = await employee.send("/console/sign-out");
    expect(headers.get("Set-Cookie")).toMatch(/^console=; Max-Age=0/);
    expect(await isSignedIn(employee)).toBe(false);
  });
});

describe("its sign-out", () => {
  it.for(["nobody", "eve@example.com"])("ends it, too, when the company names %s by then", async (email) => {
    const employee = await signedInEmployee();
    const own = employee.assertion;
    employee.assertion = email === "nobody" ? {} : await employee.provider.headersFor(email);
    const { headers } = await employee.send("/console/sign-out");
    expect(headers.get("Set-Cookie")).toMatch(/^console=; Max-Age=0/);
    employee.assertion = own;
    expect(await isSignedIn(employee)).toBe(false);
  });

  it("takes no form of another session or page then", async () => {
    const employee = await signedInEmployee();
    const own = employee.assertion;
    employee.assertion = {};
    const elsewhere = await formToken(employee.cookie, PAGE);
    for (const form_token of ["", "forged", elsewhere]) {
      const answer = await employee.send("/console/sign-out", { form_token });
      expect([isLedToSignIn(answer), answer.headers.get("Set-Cookie")]).toEqual([true, null]);
    }
    employee.assertion = own;
    expect(await isSignedIn(employee)).toBe(true);
  });
});

describe("its cookie", () => {
  it("is that of no session that needs no assertion, and of no other person", async () => {
    const employee = await signedInEmployee();
    const [id, secret, , mac] = employee.cookie.split(".");
    const eve = btoa("eve@example.com").replaceAll("=", "");
    const key = (await signIn(await issueOperator("admin"))).cookie.split(".");
    for (const cookie of [
      [id, secret, mac],
      [id, secret, eve, mac],
      [id, secret, "", mac],
      [key[0], key[1], btoa(ADA).replaceAll("=", ""), key[2]],
      [id, `${secret}A`, mac],
    ])
      for (const assertion of [{}, employee.assertion, await employee.provider.headersFor("eve@example.com")]) {
        const headers = { ...assertion, Cookie: cookie.join(".") };
        const answer = await visit("GET", PAGE, { headers, env: employee.provider.env });
        expect([answer.status, answer.headers.get("Location")?.startsWith(SIGN_IN)]).toEqual([303, true]);
      }
  });

  it("is stored as a hash, without the address", async () => {
    const employee = await signedInEmployee();
    const rows = await inRegistry(({ sql }) => sql.exec("SELECT * FROM console_sessions").toArray());
    expect(rows).toHaveLength(1);
    expect(JSON.stringify(rows)).not.toContain(ADA);
    expect(JSON.stringify(rows)).not.toContain(employee.cookie.split(".")[1]);
  });
});

const KEY_FORMS = CONSOLE_ROUTES.filter(({ method, access }) => method === "POST" && access.form?.asksForKey);

/** Fields with which each form that asks for the operator's key succeeds. */
const FIELDS = {
  name: "thief",
  role: "viewer",
  preset: "read",
  workspace: "beta",
  environment: "Testing",
  grace_seconds: "0",
  leaked: "no",
  confirmation: "acme/Testing",
};

/** An admin who has signed in with the company, in a deployment with an environment and an operator 1 with a key. */
async function newAdmin(): Promise<Employee & { key: string }> {
  vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
  await issueKey();
  await issueOperator("viewer");
  const key = await issueOperator("admin", { name: "ada", email: ADA });
  const employee = await newEmployee();
  await employee.continueAs();
  return Object.assign(employee, { key });
}

/** What the forms would change. */
const everything = async () => {
  const paths = ["/api/operators", "/api/environments", "/api/keys?workspace=acme&environment=Testing"];
  const answers = await Promise.all(paths.map((path) => call("GET", path, { credential: operator })));
  return answers.map(({ body }) => JSON.stringify(body, (key, value) => (key === "last_used_at" ? null : value)));
};

describe.for(KEY_FORMS)("where a page asks for the operator's key, $name", (route) => {
  it("takes an assertion of the last 15 minutes in its place", async () => {
    const employee = await newAdmin();
    vi.setSystemTime(NOW.getTime() + 15 * MINUTE_MS);
    employee.assertion = await employee.provider.headersFor(ADA, { iat: NOW.getTime() / 1000 });
    const page = await employee.get(route.path);
    if (page.status === 200 && page.body.includes(`action="${route.path}"`)) {
      expect(page.body).not.toContain('name="operator_key"');
      expect(page.body).toContain("you need no key here");
    }
    const { status, body = "" } = await employee.send(route.path, FIELDS);
    expect(body).not.toContain("Sign out there");
    if (route.access.form?.asksForKey === "credential")
      expect([status, CREDENTIAL_PATTERN.test(body)]).toEqual([200, true]);
  });

  it("refuses an older one, whatever key comes with it", async () => {
    const employee = await newAdmin();
    const key = await issueOperator("admin", { name: "ben" });
    const before = await everything();
    vi.setSystemTime(NOW.getTime() + 15 * MINUTE_MS + 1000);
    employee.assertion = await employee.provider.headersFor(ADA, { iat: NOW.getTime() / 1000 });
    const page = await employee.get(route.path);
    if (page.status === 200 && page.body.includes(`action="${route.path}"`)) {
      expect(page.body).not.toContain('name="operator_key"');
      // Before the form, so that nobody fills in one that will be refused.
      expect(page.body).toMatch(
        new RegExp(`Sign out there, sign in again.*<form method="post" action="${route.path}"`, "s"),
      );
    }
    for (const operator_key of ["", key, operator, employee.key]) {
      const { status, body } = await employee.send(route.path, { ...FIELDS, operator_key });
      expect(body).not.toMatch(CREDENTIAL_PATTERN);
      if (status === 422) expect(body).toContain("at most 15 minutes old");
      else expect([404, 409]).toContain(status);
    }
    expect(await everything()).toEqual(before);
  });
});

describe("the pages of operators", () => {
  it("show emails, and who has no key", async () => {
    await issueByEmail();
    await issueByEmail("ben@example.com", { name: "ben", key: true });
    const visitor = await signIn(await issueOperator("admin", { name: "carol" }));
    const { body } = await visitor.get("/console/operators");
    expect(body).toContain(`<small><bdi>${ADA}</bdi>, no key</small>`);
    expect(body).toContain("<small><bdi>ben@example.com</bdi></small>");
    const about = (await visitor.get("/console/operators/1/about")).body;
    expect(about).toContain(`<bdi>${ADA}</bdi>`);
    expect(about).toContain("no key: signs in with the company");
    const canReplace = async (id: number) =>
      (await visitor.get(`/console/operators/${id}/end`)).body.includes("Replace the key</button>");
    expect([await canReplace(1), await canReplace(2)]).toEqual([false, true]);
    expect((await visitor.send("/console/operators/1/end", { leaked: "no" })).status).toBe(422);
    expect((await visitor.get("/console/operators/issue")).body).not.toContain('name="email"');
  });

  it("issue an operator without a key, and name what is wrong with an address", async () => {
    const employee = await signedInEmployee();
    expect((await employee.get("/console/operators/issue")).body).toContain('name="email"');
    const fields = { name: "ben", role: "support", no_key: "yes" };
    for (const email of ["ben", "", ADA]) {
      const refused = await employee.send("/console/operators/issue", { ...fields, email });
      expect([email, refused.status]).toEqual([email, 422]);
    }
    const { status, headers } = await employee.send("/console/operators/issue", {
      ...fields,
      email: "Ben@example.com",
    });
    expect([status, headers.get("Location")]).toEqual([303, "/console/operators?done=issued"]);
    const { operators } = (await call("GET", "/api/operators", { credential: operator })).body;
    expect(operators.at(-1)).toMatchObject({ name: "ben", email: "ben@example.com", has_key: false });
    const withKey = await employee.send("/console/operators/issue", {
      name: "dan",
      role: "viewer",
      email: "dan@example.com",
    });
    expect(withKey.body).toMatch(CREDENTIAL_PATTERN);
  });
});
