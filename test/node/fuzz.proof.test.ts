import { readFileSync } from "node:fs";
import fc from "fast-check";
import { request } from "undici";
import { inject, it } from "vitest";
import { report, runs } from "../proof/effort.ts";
import { CREDENTIAL_PATTERN } from "../support/credential-pattern.ts";
import { type Credentials, type FuzzRequest, requestsWith, WORKSPACE } from "./proof/requests.ts";
import { call } from "./support/client.ts";

const { url, operatorToken } = inject("service");
const CODES = new Set(
  [...readFileSync("src/domain/failure.ts", "utf8").matchAll(/code: "(\w+)"/g)].map(([, code]) => code),
);
const TOGETHER = 20;
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

/** Credentials of an environment of this proof's own, so that what it revokes and deletes is nobody else's. */
async function newCredentials(): Promise<Credentials> {
  const as = (credential: string) => ({ Authorization: `Token ${credential}` });
  const issue = (path: string, body: object) => call("POST", path, body, as(operatorToken));
  const inFuzz = { workspace: WORKSPACE, environment: "Testing", name: "fuzz" };
  // The last two are for requests that revoke or roll a key.
  const keys = (await times(10, async () => (await issue("/api/keys", inFuzz)).body.key)).slice(0, 8);
  const [key = ""] = keys;
  const ids = Array.from({ length: 12 }, (_, index) => (index === 0 ? "fuzz" : `fuzz ${index}`));
  const get = (id: string) => call("GET", "/api/user", { user_group_id: id }, as(key));
  const mint = (id: string) =>
    call("POST", "/api/viewer_sessions", { user_group_id: id, expires_in_seconds: 3600 }, as(key));
  return {
    keys,
    tokens: await Promise.all(ids.map(async (id) => (await get(id)).body.user_group.token)),
    sessions: await Promise.all(ids.map(async (id) => (await mint(id)).body.session.token)),
    operators: await times(2, async () => (await issue("/api/operators", { name: "fuzz", role: "admin" })).body.key),
  };
}

it("answers every request with JSON and a documented code, and never with a 5xx", async ({ expect }) => {
  const requests = requestsWith(await newCredentials());
  const counts: Record<string, number> = {};
  let sent = 0;
  let asked = 0;
  const send = async ({ method, path, body, authorization, contentType, extra, address }: FuzzRequest) => {
    const response = await request(url + path, {
      method: method as "GET",
      headers: { ...extra, authorization, "content-type": contentType, "cf-connecting-ip": address },
      ...(body === undefined ? {} : { body }),
      headersTimeout: HANG_MS,
      bodyTimeout: HANG_MS,
    });
    const text = await response.body.text();
    sent += 1;
    counts[response.statusCode] = (counts[response.statusCode] ?? 0) + 1;
    expect(response.statusCode).toBeLessThan(500);
    if (method === "HEAD" || response.statusCode === 204) return;
    const isBackup = response.headers["content-type"] === "application/x-ndjson";
    if (isBackup) asked += 1;
    if (isBackup) return;
    const answer = JSON.parse(text);
    expect(answer.success).toBe(response.statusCode < 300 ? 1 : 0);
    if (path.startsWith("/api/") && !WORKERS_OWN.includes(answer.error?.code)) asked += 1;
    if (answer.success === 1) return;
    expect(CODES).toContain(answer.error.code);
    expect(answer.error.message).toMatch(/\w/);
    expect(answer.request_id).toBe(response.headers["x-request-id"]);
    expect(text).not.toMatch(CREDENTIAL_PATTERN);
  };
  const batches = fc.array(requests, { minLength: TOGETHER, maxLength: TOGETHER });
  await fc.assert(
    fc.asyncProperty(batches, (batch) => Promise.all(batch.map(send)).then(() => undefined)),
    { ...runs(100, 5000, 0.2), endOnFailure: true },
  );
  report("fuzz by status", { ...counts, "asked of a Durable Object": asked });
  for (const status of ["200", "201", "400", "401", "403", "404", "405", "409", "422"])
    expect(counts[status] ?? 0, status).toBeGreaterThan(0);
  expect(asked).toBeGreaterThan(sent / 2);
}, 86_400_000);
