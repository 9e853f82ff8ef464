import { readFileSync } from "node:fs";
import fc from "fast-check";
import { request } from "undici";
import { afterAll, expect, inject, it } from "vitest";
import type { FuzzRequest } from "../proof/call-inputs.ts";
import { type ConsoleAdmin, hiddenFieldsOf } from "../proof/console-requests.ts";
import { report, runs } from "../proof/effort.ts";
import { type Fixture, GROUPS_CHANGED, requestsWith, WORKSPACE } from "../proof/requests.ts";
import { CREDENTIAL_PATTERN } from "../support/credential-pattern.ts";
import { startPlainService } from "../support/node/plain-workerd.ts";

// A service of its own: some requests begin restores that no other ends.
const { url, operatorToken, stop } = await startPlainService();
afterAll(stop);
const CODES = new Set(
  [...readFileSync("src/domain/failure.ts", "utf8").matchAll(/code: "(\w+)"/g)].map(([, code]) => code),
);
const TOGETHER = 20;
/** What a refusal says to a person: an element of the page with a sentence, or the message of one that has no page. */
const SENTENCE = /<(?:p|li|dd|strong|span|a)\b[^>]*>[^<]*\w[^<]*[.?!]\s*<|"message":"[^"]*[.?]"/;
const HANG_MS = 20_000;
/** Codes of answers that the Worker gives without asking a Durable Object. */
const WORKERS_OWN = [
  "route_not_found",
  "method_not_allowed",
  "unauthenticated",
  "rate_limited",
  "secret_key_in_browser",
  "token_in_browser",
  "unsupported_media_type",
  "body_too_large",
  "body_timeout",
  "overloaded",
];

const times = <Value>(count: number, make: (index: number) => Promise<Value>): Promise<Value[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => make(index)));

/** Credentials of an environment of this proof's own, so that what it revokes and deletes is nobody else's; and its backup. */
async function newFixture(): Promise<Fixture> {
  const call = async (method: string, path: string, body: object, credential: string) => {
    const headers = { authorization: `Token ${credential}`, "content-type": "application/json" };
    return JSON.parse((await send({ method, path, headers, body: Buffer.from(JSON.stringify(body)) })).text);
  };
  const issue = (path: string, body: object) => call("POST", path, body, operatorToken);
  const inFuzz = { workspace: WORKSPACE, environment: "Testing", name: "fuzz" };
  // The last two are for requests that revoke or roll a key.
  const keys = (await times(10, async () => (await issue("/api/keys", inFuzz)).key)).slice(0, 8);
  const [key = ""] = keys;
  const ids = Array.from({ length: GROUPS_CHANGED }, (_, index) => (index === 0 ? "fuzz" : `fuzz ${index}`));
  const get = (id: string) => call("GET", "/api/user", { user_group_id: id }, key);
  const mint = (id: string) =>
    call("POST", "/api/viewer_sessions", { user_group_id: id, expires_in_seconds: 3600 }, key);
  // No request changes these, whose numbers are higher: their viewers are answered to the end.
  const untouched = Array.from({ length: 6 }, (_, index) => `untouched ${index}`);
  const tokensOf = (some: string[]) => Promise.all(some.map(async (id) => (await get(id)).user_group.token));
  const newOperator = async () => (await issue("/api/operators", { name: "fuzz", role: "admin" })).key as string;
  const operators = await times(2, newOperator);
  const [operatorKey = ""] = operators;
  const credentials = {
    keys,
    tokens: [...(await tokensOf(ids)), ...(await tokensOf(untouched))],
    sessions: await Promise.all([...ids, ...untouched].map(async (id) => (await mint(id)).session.token)),
    operators,
    console: { own: await adminOf(operatorKey), spare: await adminOf(await newOperator()) },
  };
  const path = `${url}/api/backup?workspace=${WORKSPACE}&environment=Testing`;
  const backup = await request(path, { headers: { authorization: `Token ${operatorKey}` } });
  return { credentials, origin: url, backup: await backup.body.text() };
}

const adminOf = async (key: string): Promise<ConsoleAdmin> => ({ key, cookies: await times(8, () => signIn(key)) });

/** The cookie of a session of the console. */
async function signIn(operatorKey: string): Promise<string> {
  const answer = await request(`${url}/console/sign-in`, {
    method: "POST",
    headers: { origin: url, "content-type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams({ operator_key: operatorKey }).toString(),
  });
  await answer.body.dump();
  return String(answer.headers["set-cookie"]).split(";")[0] ?? "";
}

const send = async ({ method, path, headers, body }: FuzzRequest) => {
  const response = await request(url + path, {
    method: method as "GET",
    headers,
    ...(body === undefined ? {} : { body }),
    headersTimeout: HANG_MS,
    bodyTimeout: HANG_MS,
  });
  return { status: response.statusCode, headers: response.headers, text: await response.body.text() };
};
type Sent = Awaited<ReturnType<typeof send>>;

/** Fills in the form of the page that a request opens first. */
async function withOpenForm(asked: FuzzRequest, count: (sent: Sent) => void): Promise<FuzzRequest> {
  const { opensFirst: path, headers, body } = asked;
  if (path === undefined) return asked;
  const page = await send({ method: "GET", path, headers: { cookie: headers.cookie ?? "" }, body: undefined });
  count(page);
  // The first of two fields with one name counts.
  return { ...asked, body: Buffer.from(`${hiddenFieldsOf(page.text, path)}&${body}`) };
}

/** Whether an answer of the console is one that a Durable Object has given. */
const isAskedPage = ({ status, headers, text }: Sent): boolean =>
  status === 303
    ? !String(headers.location).startsWith("/console/sign-in")
    : [200, 409, 422].includes(status) || (status === 404 && !text.includes("There is no such page"));

/** Calls that 1.0 does not have, or not with all of these outcomes, each of which the proof must have met. */
const MET = [
  "GET /api/user_groups?search 200",
  "GET /api/user_groups?search 422",
  "GET /api/user_groups/:team_id/events 200",
  "GET /api/viewer/check 204",
  "GET /api/viewer/check 422",
  "POST /api/credentials/explain 200",
  "POST /api/viewer_sessions 201",
  "POST /api/viewer_sessions 422",
];
/** Those that the few requests of a short form may miss. */
const MET_IN_TIME = ["GET /api/viewer 403", "POST /api/viewer/query 200", "POST /api/viewer_sessions/end 200"];

const MINUTES_TO_MEET_ALL = 20;

it("answers every request as documented, and never with a 5xx", async () => {
  const fixture = await newFixture();
  const counts: Record<string, number> = {};
  const met = new Set<string>();
  const { keys, tokens, sessions, operators, console: admins } = fixture.credentials;
  const secrets = [...keys, ...tokens, ...sessions, ...operators, admins.own.key, admins.spare.key];
  const asked = { calls: 0, pages: 0, forms: 0, restores: 0 };
  let sent = 0;
  const expectPage = (method: string, answer: Sent) => {
    counts[`console ${answer.status}`] = (counts[`console ${answer.status}`] ?? 0) + 1;
    sent += 1;
    expect(answer.status, answer.text).toBeLessThan(500);
    expect(answer.text).not.toContain("<script>alert");
    if (method !== "POST" || answer.status >= 400) expect(answer.text).not.toMatch(CREDENTIAL_PATTERN);
    expect(secrets.filter((secret) => answer.text.includes(secret))).toEqual([]);
    if (answer.status >= 400 && method !== "HEAD") expect(SENTENCE.test(answer.text) ? "" : answer.text).toBe("");
    if (isAskedPage(answer)) asked[method === "POST" ? "forms" : "pages"] += 1;
  };
  const expectAnswer = ({ name, method, path }: FuzzRequest, { status, headers, text }: Sent) => {
    counts[status] = (counts[status] ?? 0) + 1;
    sent += 1;
    expect(status, text).toBeLessThan(500);
    if (name !== undefined) met.add(`${name}${path.includes("?search=") ? "?search" : ""} ${status}`);
    if (status === 204) asked.calls += 1;
    if (method === "HEAD" || status === 204) return;
    if (path.startsWith("/.well-known/") && status === 200) return;
    const isBackup = headers["content-type"] === "application/x-ndjson";
    if (isBackup) asked.calls += 1;
    if (isBackup) return;
    const answer = JSON.parse(text);
    expect(answer.success).toBe(status < 300 ? 1 : 0);
    if (path.startsWith("/api/") && !WORKERS_OWN.includes(answer.error?.code))
      asked[path.startsWith("/api/restore") ? "restores" : "calls"] += 1;
    if (name === "POST /api/credentials/explain") expect(secrets.filter((secret) => text.includes(secret))).toEqual([]);
    if (answer.success === 1) return;
    expect(CODES).toContain(answer.error.code);
    expect(answer.error.message).toMatch(/^\S.*[.?]$/s);
    expect(answer.request_id).toBe(headers["x-request-id"]);
    expect(text).not.toMatch(CREDENTIAL_PATTERN);
  };
  const ask = async (each: FuzzRequest) => {
    const filled = await withOpenForm(each, (page) => expectPage("GET", page));
    const answer = await send(filled);
    if (each.path.startsWith("/console")) expectPage(each.method, answer);
    else expectAnswer(each, answer);
  };
  const batches = fc.array(requestsWith(fixture), { minLength: TOGETHER, maxLength: TOGETHER });
  await fc.assert(
    fc.asyncProperty(batches, (batch) => Promise.all(batch.map(ask)).then(() => undefined)),
    { ...runs(100, 5000, 0.2), endOnFailure: true },
  );
  const asksDirectory = asked.calls + asked.pages + asked.forms + asked.restores;
  report("fuzz by status", { ...counts, sent, "asked of a Durable Object": asksDirectory, ...asked });
  for (const status of ["200", "201", "400", "401", "403", "404", "405", "409", "422", "console 200", "console 303"])
    expect(counts[status] ?? 0, status).toBeGreaterThan(0);
  const expected = inject("effort").minutes >= MINUTES_TO_MEET_ALL ? [...MET, ...MET_IN_TIME] : MET;
  expect(expected.filter((outcome) => !met.has(outcome))).toEqual([]);
  expect(Math.min(asked.pages, asked.forms, asked.restores)).toBeGreaterThan(0);
  expect(asksDirectory).toBeGreaterThan(sent / 2);
});
