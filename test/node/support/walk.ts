/** A walk through the service: a call of each kind, and what was answered. Tests and the recorder of releases share it. */

/** A call, and its answer without what differs from run to run. */
export type Step = { call: string; status: number; answer: unknown };

/** The credentials of a walk that are valid at its end, and a token that was rotated away. */
export type WalkCredentials = { key: string; admin: string; token: string; supersededToken: string };

const OF_ACME = "?workspace=acme&environment=Testing";

/** Texts that differ from run to run: times, credentials, ids of requests and of sessions, cursors and hashes. */
const VOLATILE = /^(?:\d{4}-\d\d-\d\d.*|ug[kot]_.*|eyJ.*|[\da-f]{8}-[\da-f-]{27}|W[\w-]{20,})$/;

/** An answer in which every text that differs from run to run is `~`. */
export function stable(value: unknown): unknown {
  if (typeof value === "string") return VOLATILE.test(value) ? "~" : value;
  if (Array.isArray(value)) return value.map(stable);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, name === "version" ? "~" : stable(each)]),
  );
}

/** Each call with the status and the code of its answer. */
export const linesOf = (steps: readonly Step[]): string[] =>
  steps.map(({ call, status, answer }) => {
    const { error } = answer as { error?: { code: string } };
    return `${call}: ${status} ${error?.code ?? ""}`;
  });

/**
 * Makes a call of each kind in an empty service. Without `erase`, the environment acme/Testing and its credentials are there at the
 * end.
 */
export async function walk(
  { url, operatorToken }: { url: string; operatorToken: string },
  { erase = true } = {},
): Promise<{ steps: Step[]; credentials: WalkCredentials }> {
  const steps: Step[] = [];
  // biome-ignore lint/suspicious/noExplicitAny: the answers of forty calls, of which one field each is read.
  const call = async (line: string, credential: string, body?: object): Promise<any> => {
    const [method = "", path = ""] = line.split(" ");
    const response = await fetch(url + path, {
      method,
      headers: { Authorization: `Token ${credential}`, "Content-Type": "application/json" },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const answer = path.startsWith("/api/backup") ? {} : JSON.parse(text);
    steps.push({ call: line, status: response.status, answer: stable(answer) });
    return answer;
  };
  const named = { workspace: "acme", environment: "Testing", name: "x" };
  const { key } = await call("POST /api/keys", operatorToken, named);
  const admin = (await call("POST /api/operators", operatorToken, { name: "anna", role: "admin" })).key;
  const created = await call("POST /api/user_groups", key, { user_group_id: "acme", properties: { a: 1 } });
  await call("POST /api/user_groups", key, { user_group_id: "acme" });
  await call("PUT /api/user", key, { user_group_id: "acme", name: "localized" });
  const { token } = (await call("POST /api/user", key, { current_token: created.user_group.token })).user_group;
  await call("GET /api/viewer", created.user_group.token);
  await call("GET /api/viewer", token);
  const minted = await call("POST /api/viewer_sessions", key, { user_group_id: "acme", viewer_id: "ann" });
  await call("GET /api/viewer", minted.session.token);
  await call("POST /api/viewer/query", token, { sql: "SELECT {{user_group_id}}" });
  await call("POST /api/viewer_sessions/end", key, { session: minted.session.token });
  await call("GET /api/viewer", minted.session.token);
  await call("PUT /api/user_groups/1", key, { suspended: true, reason: "unpaid" });
  await call("GET /api/viewer", token);
  await call("GET /api/user_groups", key);
  await call("DELETE /api/user_groups/1", key);
  await call("GET /api/user_groups?state=deleted", key);
  await call(`POST /api/user_groups/1/restore${OF_ACME}`, admin, {});
  await call(`POST /api/user_groups/1/rotate${OF_ACME}`, admin, {});
  await call("GET /api/events?include=user_groups", key);
  await call(`GET /api/backup${OF_ACME}`, admin);
  await call("GET /api/backup", admin);
  const other = await call("POST /api/user_groups", key, { user_group_id: "other", mapping: { m: "d" } });
  const rolled = await call(`POST /api/keys/1/roll${OF_ACME}`, admin, {});
  await call("GET /api/user_groups", key);
  const rolledAdmin = await call("POST /api/operators/1/roll", operatorToken, {});
  await call("GET /api/operators", admin);
  await call("GET /ready", "");
  await call("GET /api/environments", operatorToken);
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
