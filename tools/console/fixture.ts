/** What the console shows in pictures and tests: customers of a shop, keys in every state, and an environment of hostile names. */
import { HOSTILE_KEY_NAMES, HOSTILE_PROPERTIES, HOSTILE_TEXTS } from "./hostile.ts";

/** The service that gets the data. */
export type Target = { url: URL; operatorToken: string };

/** The credentials that the data comes with: the keys of one operator of each role, and an API key that is revoked. */
export type Fixture = { operators: Record<"admin" | "support" | "viewer", string>; revokedKey: string };

type Answer = { key: string; user_group: { team_id: number } };
type Call = (method: string, path: string, body: object, credential?: string) => Promise<Answer>;

const WEEK_SECONDS = 7 * 24 * 60 * 60;
const ACME = "?workspace=acme&environment=Customer";
const HOSTILE = "?workspace=hostile&environment=untagged";

/** Companies that novels and films made up. */
const CUSTOMERS = [
  ["globex", "Globex Corporation", "eu", "pro"],
  ["initech", "Initech", "us", "basic"],
  ["umbrella", "Umbrella", "eu", "pro"],
  ["soylent", "Soylent Foods", "us", "basic"],
  ["tyrell", "Tyrell Corporation", "us", "enterprise"],
  ["wonka", "Wonka Industries", "eu", "basic"],
  ["stark", "Stark Industries", "us", "enterprise"],
  ["wayne", "Wayne Enterprises", "us", "pro"],
  ["cyberdyne", "Cyberdyne Systems", "us", "pro"],
  ["hooli", "Hooli", "us", "enterprise"],
  ["vandelay", "Vandelay Industries", "eu", "basic"],
  ["dunder", "Dunder Mifflin", "us", "basic"],
  ["pied-piper", "Pied Piper", "us", "pro"],
  ["oscorp", "Oscorp", "eu", "pro"],
  ["aperture", "Aperture Science", "us", "enterprise"],
] as const;

/** Fills a service. */
export async function fill(target: Target): Promise<Fixture> {
  const call = callerOf(target);
  const operators = await addOperators(call);
  const revokedKey = await addShop(call, operators);
  for (const [workspace, environment] of [
    ["acme", "Testing"],
    ["globex", "Customer"],
    ["initech", null],
  ])
    await call("POST", "/api/keys", { workspace, environment, name: "backend" }, operators.admin);
  await addHostile(call, operators.admin);
  return { operators, revokedKey };
}

function callerOf({ url, operatorToken }: Target): Call {
  return async (method, path, body, credential = operatorToken) => {
    const response = await fetch(new URL(path, url), {
      method,
      headers: { Authorization: `Token ${credential}`, "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${text}`);
    return JSON.parse(text);
  };
}

async function addOperators(call: Call): Promise<Fixture["operators"]> {
  const issue = async (name: string, role: string, fields = {}) =>
    (await call("POST", "/api/operators", { name, role, ...fields })).key;
  const admin = await issue("Ada Moreno", "admin");
  const support = await issue("Grace Okafor", "support", { expires_in_seconds: WEEK_SECONDS });
  const viewer = await issue("Alan Bauer", "viewer");
  await issue("nightly backup", "admin");
  await call("POST", "/api/operators/4/roll", { grace_seconds: 3600, reason: "yearly" }, admin);
  await issue("Charles Lindqvist", "support");
  await call("DELETE", "/api/operators/6", { reason: "left the company" }, admin);
  return { admin, support, viewer };
}

/** Returns the API key that was revoked. */
async function addShop(call: Call, { admin, support }: Fixture["operators"]): Promise<string> {
  const shop = { workspace: "acme", environment: "Customer" };
  const issue = async (name: string, fields = {}) =>
    (await call("POST", "/api/keys", { ...shop, name, ...fields }, admin)).key;
  const backend = await issue("backend", { access: "write" });
  await issue("reports", { access: "read", expires_in_seconds: WEEK_SECONDS });
  const leaked = await issue("continuous integration", { scopes: ["groups:read", "groups:write"] });
  await issue("sync", { access: "write" });
  await call("DELETE", `/api/keys/3${ACME}`, { reason: "found in a public repository" }, admin);
  await call("POST", `/api/keys/4/roll${ACME}`, { grace_seconds: 3600, reason: "yearly" }, admin);

  for (const [id, name, region, plan] of CUSTOMERS) {
    const fields = { name, mapping: { sales: `warehouse-${region}` }, properties: { region: [region], plan } };
    await call("POST", "/api/user_groups", { user_group_id: id, ...fields }, backend);
  }
  const change = (method: string, place: string, body: object) =>
    call(method, `/api/user_groups/${place}${ACME}`, body, support);
  await change("PUT", "4", { suspended: true, reason: "invoice 4711 is unpaid" });
  await change("PUT", "1", { properties: { region: ["eu", "us"], plan: "pro", seats: 25 } });
  await change("POST", "6/rotate", { grace_seconds: 3600, reason: "asked for by the customer" });
  await call("POST", `/api/viewer_sessions/end${ACME}`, { user_group_id: "globex", viewer_id: "jane" }, support);
  await call("DELETE", `/api/user_groups/12${ACME}`, { reason: "contract ended" }, admin);
  await call("POST", "/api/viewer_sessions", { user_group_id: "globex", viewer_id: "jane" }, backend);
  return leaked;
}

async function addHostile(call: Call, admin: string): Promise<void> {
  const issue = async (name: string) =>
    (await call("POST", "/api/keys", { workspace: "hostile", environment: null, name }, admin)).key;
  const keys: string[] = [];
  for (const name of HOSTILE_KEY_NAMES) {
    keys.push(await issue(name));
    await call("POST", "/api/operators", { name, role: "viewer", reason: HOSTILE_TEXTS.markup });
  }
  const put = async (id: string, fields: object) =>
    (await call("POST", "/api/user_groups", { user_group_id: id, ...fields }, keys[0])).user_group.team_id;
  for (const [what, text] of Object.entries(HOSTILE_TEXTS)) {
    const teamId = await put(text, { name: text, mapping: { [text]: text } });
    await call("PUT", `/api/user_groups/${teamId}${HOSTILE}`, { suspended: true, reason: text }, admin);
    if (what !== "long")
      await call("PUT", `/api/user_groups/${teamId}${HOSTILE}`, { suspended: false, reason: text }, admin);
  }
  for (const [what, properties] of Object.entries(HOSTILE_PROPERTIES)) await put(what, { properties });
  await call("DELETE", `/api/keys/2${HOSTILE}`, { reason: HOSTILE_TEXTS.markup }, admin);
}
