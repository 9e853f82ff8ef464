/** A walk through the service: a call of each kind, and what was answered. Tests and the recorder of releases share it. */
import { request } from "undici";

/** A call, and its answer without what differs from run to run. */
export type Step = { call: string; status: number; answer: unknown };

/** The credentials of a walk that are valid at its end, and a token that was rotated away. */
export type WalkCredentials = { key: string; admin: string; token: string; supersededToken: string };

const OF_ACME = "?workspace=acme&environment=Testing";

/** Texts that differ from run to run: times, credentials, ids of requests and of sessions, cursors, hashes and public keys. */
const VOLATILE = /^(?:\d{4}-\d\d-\d\d.*|ug[kot]_.*|eyJ.*|[\da-f]{8}-[\da-f-]{27}|W[\w-]{20,}|[\w-]{43})$/;

/** Fields whose texts may differ from release to release. */
const UNPROMISED = ["version", "message"];

/** An answer in which every text is `~` that differs from run to run, or may differ from release to release. */
export function stable(value: unknown): unknown {
  if (typeof value === "string") return VOLATILE.test(value) ? "~" : value;
  if (Array.isArray(value)) return value.map(stable);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, UNPROMISED.includes(name) ? "~" : stable(each)]),
  );
}

/** Each call with the status and the code of its answer. */
export const linesOf = (steps: readonly Step[]): string[] =>
  steps.map(({ call, status, answer }) => {
    const { error } = answer as { error?: { code: string } };
    return `${call}: ${status} ${error?.code ?? ""}`;
  });

/**
 * The steps that the walk of an earlier release has too. A later walk makes more calls in between, each under a name that the
 * earlier one lacks.
 */
export function stepsAsIn(before: readonly Step[], steps: readonly Step[]): Step[] {
  const calls = new Set(before.map(({ call }) => call));
  return steps.filter(({ call }) => calls.has(call));
}

/** Whether a step is a view with a session that answers for itself. Each of them is a call that every release has. */
export const isStaleView = ({ call }: Step): boolean => call.startsWith("a stale view");

/** Calls whose answers are no JSON, too long to record, or name the address of the service: of these only the status counts. */
const WITHOUT_BODY = /^(?:GET \/api\/(?:backup|viewer\/check)|POST \/api\/restore|GET \/.well-known\/openid)/;

/** The names and types of the claims of a session. */
function claimsOf(session: string): Record<string, string> {
  const [, payload = ""] = session.split(".");
  const claims: Record<string, unknown> = JSON.parse(Buffer.from(payload, "base64url").toString());
  return Object.fromEntries(Object.entries(claims).map(([name, value]) => [name, typeof value]));
}

/**
 * Makes a call of each kind in an empty service. Without `erase`, the environment acme/Testing and its credentials are there at the
 * end.
 */
export async function walk(
  { url, operatorToken }: { url: string; operatorToken: string },
  { erase = true } = {},
): Promise<{ steps: Step[]; credentials: WalkCredentials }> {
  const steps: Step[] = [];
  const send = async (line: string, credential: string, type: string, body?: string) => {
    const [method = "", path = ""] = line.split(" ");
    const response = await request(url + path, {
      method: method as "GET",
      headers: { authorization: `Token ${credential}`, "content-type": type },
      ...(body !== undefined && { body }),
    });
    const text = await response.body.text();
    const isRecorded = !WITHOUT_BODY.test(line) || response.statusCode >= 400;
    steps.push({ call: line, status: response.statusCode, answer: isRecorded ? stable(JSON.parse(text)) : {} });
    return text;
  };
  // biome-ignore lint/suspicious/noExplicitAny: the answers of sixty calls, of which one field each is read.
  const call = async (line: string, credential: string, body?: object, type = "application/json"): Promise<any> =>
    JSON.parse(await send(line, credential, type, body && JSON.stringify(body)));
  /** Views with a session that answers for itself. The name of the step says who has answered. */
  const viewStale = async (session: string) => {
    const response = await request(`${url}/api/viewer`, { headers: { authorization: `Token ${session}` } });
    const answer = stable(await response.body.json());
    const by = response.headers["x-answered-by"] ?? "nobody";
    steps.push({ call: `a stale view, answered by the ${by}`, status: response.statusCode, answer });
  };
  const named = { workspace: "acme", environment: "Testing", name: "x" };
  const { key } = await call("POST /api/keys", operatorToken, named);
  const admin = (await call("POST /api/operators", operatorToken, { name: "anna", role: "admin" })).key;
  await call("GET /api/whoami", key);
  await call("GET /api/whoami", admin);

  const created = await call("POST /api/user_groups", key, { user_group_id: "acme", properties: { a: 1 } });
  await call("POST /api/user_groups", key, { user_group_id: "acme" });
  await call("GET /api/user", key, { user_group_id: "acme" });
  await call("PUT /api/user", key, { user_group_id: "acme", name: "localized" });
  await call("PUT /api/user", key, { user_group_id: "nobody" });
  const { token } = (await call("POST /api/user", key, { current_token: created.user_group.token })).user_group;
  await call("POST /api/user", key, { current_token: created.user_group.token });

  await call("GET /api/viewer", created.user_group.token);
  await call("GET /api/viewer", token);
  await call("GET /api/whoami", token);
  await call("POST /api/viewer/query", token, { sql: "SELECT {{user_group_id}}" });
  await call("POST /api/viewer/query", token, { sql: "SELECT {{nobody}}" });

  const minted = await call("POST /api/viewer_sessions", key, {
    user_group_id: "acme",
    origins: ["https://shop.example"],
    viewer_id: "ann",
    viewer_properties: { store: 1 },
    max_stale_seconds: 60,
    include_variables: true,
  });
  const { session } = minted;
  steps.push({ call: "the claims of the session", status: 201, answer: claimsOf(session.token) });
  // Twice: of two Workers, each answers one.
  for (let view = 0; view < 2; view += 1) await viewStale(session.token);
  const person = await call("POST /api/viewer_sessions", key, { user_group_id: "acme", viewer_id: "ben" });
  await call("GET /api/viewer", person.session.token);
  await call("GET /api/whoami", person.session.token);
  await call("POST /api/viewer_sessions/end", key, { session: person.session.token });
  await call("GET /api/viewer", person.session.token);
  await call("POST /api/viewer_sessions/end", key, { user_group_id: "acme", viewer_id: "ann" });
  await call("POST /api/viewer_sessions/end", key, { user_group_id: "acme" });
  await call("GET /.well-known/jwks.json", "");
  await send("GET /.well-known/openid-configuration", "", "application/json");
  await send("GET /api/viewer/check?audience=acme/Testing", token, "application/json");

  await call("PUT /api/user_groups/1", key, { suspended: true, reason: "unpaid" });
  await call("GET /api/viewer", token);
  await call("POST /api/credentials/explain", admin, { credential: person.session.token, audience: "acme/Customer" });
  await call("GET /api/user_groups", key);
  await call("PUT /api/user_groups/1", key, { properties: { b: 2 } }, "application/merge-patch+json");
  await call("GET /api/user_groups/1", key);
  await call("DELETE /api/user_groups/1", key);
  await call("GET /api/user_groups/1", key);
  await call("GET /api/user_groups?state=deleted", key);
  await call("GET /api/user_groups/1/events", key);
  await call("GET /api/user_groups/1/events", key);
  await call(`POST /api/user_groups/1/restore${OF_ACME}`, admin, {});
  await call(`POST /api/user_groups/1/rotate${OF_ACME}`, admin, {});
  const gone = await call("POST /api/user_groups", key, { user_group_id: "gone" });
  await call("POST /api/user_groups/2/purge", key, {});
  await call("DELETE /api/user", key, { current_token: gone.user_group.token, user_group_id: "acme" });
  await call("DELETE /api/user", key, { current_token: gone.user_group.token });
  await call("POST /api/user_groups/2/purge", key, {});

  await call("GET /api/events?include=user_groups", key);
  await call("GET /api/events", admin);
  const [page = ""] = (await send(`GET /api/backup${OF_ACME}`, admin, "application/json")).split(
    /(?<="kind":"page".*\n)/,
  );
  await send("GET /api/backup", admin, "application/json");
  await send(`POST /api/restore${OF_ACME}`, admin, "application/x-ndjson", page);
  await call(`DELETE /api/environments${OF_ACME}&confirm=acme`, admin);

  const other = await call("POST /api/user_groups", key, { user_group_id: "other", mapping: { m: "d" } });
  await call("PUT /api/user", key, { user_group_id: "other", new_user_group_id: "acme" });
  const rolled = await call(`POST /api/keys/1/roll${OF_ACME}`, admin, {});
  await call("GET /api/user_groups", key);
  await call("POST /api/keys", admin, { ...named, access: "read", expires_in_seconds: 3600 });
  await call(`DELETE /api/keys/3${OF_ACME}`, admin, { reason: "unused" });
  await call(`GET /api/keys${OF_ACME}`, admin);
  const rolledAdmin = await call("POST /api/operators/1/roll", operatorToken, {});
  await call("GET /api/operators", admin);
  await call("POST /api/operators", operatorToken, { name: "ben", role: "viewer" });
  await call("DELETE /api/operators/3", operatorToken);
  await call("GET /api/operators", operatorToken);
  await call("GET /", "");
  await call("GET /health", "");
  await call("GET /ready", "");
  await call("GET /api/environments", operatorToken);
  await call("POST /api/environments", operatorToken, {});
  if (erase) {
    await call(`DELETE /api/environments${OF_ACME}&confirm=acme/Testing`, operatorToken);
    await call("GET /api/user_groups", rolled.key);
  }
  const credentials = {
    key: rolled.key,
    admin: rolledAdmin.key,
    token: other.user_group.token,
    supersededToken: created.user_group.token,
  };
  return { steps, credentials };
}
