/** The requests of the fuzz proof: most of them are calls that the service has, with a credential that may make them. */
import fc from "fast-check";
import { ACCESS, type Access } from "../../src/http/access.ts";
import { words } from "../support/words.ts";
import { bodiesOf, type FuzzRequest, queriesOf } from "./call-inputs.ts";
import { type ConsoleCredentials, consoleRequests } from "./console-requests.ts";
import { restorePages } from "./restore-pages.ts";

/** The credentials with which the proof calls. Those of an environment are all of the same one. Each has limits of its own. */
type Credentials = {
  keys: readonly string[];
  tokens: readonly string[];
  sessions: readonly string[];
  operators: readonly string[];
  console: ConsoleCredentials;
};

/** Where the credentials act. */
export const WORKSPACE = "fuzz";
/** How many groups there are for requests to change. Those with higher numbers are viewed alone. */
export const GROUPS_CHANGED = 12;
const IN_ENVIRONMENT = `?workspace=${WORKSPACE}&environment=Testing`;

const FIELDS = [
  "",
  ...words(`
  user_group_id new_user_group_id name mapping properties current_token grace_seconds reason suspended viewer_id
  viewer_properties max_stale_seconds data_source_provided_id workspace environment access audience team_id claims
  expires_in_seconds sql placeholders values __proto__ constructor
`),
];
const strings = fc.oneof(
  fc.string({ unit: "binary", maxLength: 300 }),
  fc.constantFrom(
    "fuzz",
    "",
    "x".repeat(255),
    "x".repeat(256),
    "\u0000",
    "\ud800",
    "é",
    "e\u0301",
    "{{user_group_id}}",
    "1 [[AND {{value.a}}]]",
    "[[ {{x}} ]]",
    "'{{x}}",
    "Testing",
  ),
);
const values = fc.oneof(
  strings,
  fc.jsonValue({ maxDepth: 5 }),
  fc.constantFrom(0, -1, 604800, 604801, 1.5, null, true, [], {}, [[]], { __proto__: null, a: "b" }, "{p1:String}"),
  fc.dictionary(strings, strings, { maxKeys: 4 }),
);
/** JSON with fields of the schemas and similar ones, sometimes in a form that JSON.stringify does not produce. */
const jsons = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.dictionary(fc.constantFrom(...FIELDS), values, { maxKeys: 5 }).map((body) => JSON.stringify(body)),
  },
  fc.constantFrom(
    '{"user_group_id":"a","user_group_id":"b"}',
    '{"user_group_id":"fuzz","properties":{"n":1e999}}',
    '{"user_group_id":"fuzz","properties":{"n":12345678901234567890}}',
    '{"user_group_id":"\\ud800"}',
    `{"properties":${'{"a":'.repeat(5000)}1${"}".repeat(5000)}}`,
    `{"x":${"[".repeat(20_000)}${"]".repeat(20_000)}}`,
    `{"user_group_id":"${"x".repeat(65_600)}"}`,
    "[]",
    "null",
    "1",
    '""',
    "{",
    "}",
    "{}{}",
    "\ufeff{}",
    "NaN",
    "{'a':1}",
    '{"a":1,}',
    "\u0000",
  ),
  fc.jsonValue().map((value) => JSON.stringify(value)),
);
const bodies = fc.oneof(
  { weight: 5, arbitrary: jsons.map((json) => Buffer.from(json)) },
  fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
  // A valid body with one byte changed.
  fc.tuple(jsons, fc.nat(), fc.nat({ max: 255 })).map(([json, at, byte]) => {
    const bytes = Buffer.from(json);
    if (bytes.length > 0) bytes[at % bytes.length] = byte;
    return bytes;
  }),
  jsons.map((json) => Buffer.from(json, "utf16le")),
  fc.constant(undefined),
);
const headerText = fc.stringMatching(/^[ -~]{0,80}$/);
const WILD_PATHS = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.constantFrom(
      "/api/user",
      "/api/user/",
      "/api/viewer",
      "/api/viewer/query",
      "/api/user_groups",
      "/api/keys",
      "/health",
      "/ready",
      "/.well-known/openid-configuration",
      "/.well-known/jwks.json",
      "/console/environments",
      "/",
    ),
  },
  fc.constantFrom(
    "/api/keys?workspace=acme&environment=Testing",
    "/api/user_groups?limit=1&user_group_id_prefix=a",
    "/api/user_groups?cursor=WzEsMSwiIiwwXQ&user_group_id_prefix=%ff&limit=0&limit=1&__proto__=2",
    "/api/keys/1?workspace=x&workspace=y",
    "/api/keys/1/roll?environment=untagged",
    "/api/keys/%00",
    "/api/user/%2e%2e",
    "//api/user",
    "/%ff",
    "/api/user?x[]=1&__proto__=2",
    "/api/viewer?audience=fuzz/Testing&audience=fuzz/Testing",
    "/api/viewer/check?audience=%ff",
    "/.well-known/openid-configuration?x=1",
    "/.well-known/other",
  ),
  fc.webPath(),
);

const extras = fc.dictionary(
  fc.constantFrom(
    ...words(`
  x-http-method-override if-match cache-control origin sec-fetch-site x-request-id accept content-encoding
  x-forwarded-for cookie expect-ct
`),
  ),
  fc.oneof(
    headerText,
    fc.constantFrom(
      "GET",
      "PUT",
      "DELETE",
      '"1.1"',
      "*",
      "max-age=60",
      "max-age=",
      "https://a.example",
      "x".repeat(4000),
    ),
  ),
  { maxKeys: 3 },
);
/** Of the network for benchmarks (RFC 2544): so many that none of them uses up its limit. */
const addresses = fc.nat({ max: 2 ** 17 - 1 }).map((n) => `198.${18 + (n >> 16)}.${(n >> 8) & 255}.${n & 255}`);

/** Bodies that the schemas take. Those that would issue keys without end lack a field. */
const BODIES: Record<string, object> = {
  "GET /api/user": { user_group_id: "fuzz" },
  "PUT /api/user": { user_group_id: "fuzz" },
  "POST /api/keys": { workspace: WORKSPACE, environment: "Testing" },
  "POST /api/operators": { name: "fuzz" },
};
const TAKES_TOKEN = ["POST /api/user", "DELETE /api/user"];

/** The numbers of groups that may exist; of operators, none that do: other tests have those. */
const numberIn = (pattern: string) =>
  pattern.includes(":team_id")
    ? fc.oneof({ weight: 9, arbitrary: fc.integer({ min: 1, max: GROUPS_CHANGED }) }, fc.constantFrom(0, -1, 2 ** 53))
    : fc.constantFrom(9, 10, 900_001).map((id) => (pattern.includes("/operators/") ? 900_001 : id));

/** A call that the service has, by a caller that may make it. What it says may be wrong. */
function callOf(name: string, access: Access, credentials: Credentials): fc.Arbitrary<FuzzRequest> {
  const [method = "", pattern = ""] = name.split(" ");
  const callers = [
    ...(access.scope ? credentials.keys.map((text) => ({ text, query: "" })) : []),
    ...(access.role
      ? credentials.operators.map((text) => ({ text, query: access.environmentQuery ? IN_ENVIRONMENT : "" }))
      : []),
    ...(access.isForViewers
      ? [...credentials.tokens, ...credentials.sessions].map((text) => ({ text, query: "" }))
      : []),
  ];
  // A credential is in no other field that is stored.
  const token = TAKES_TOKEN.includes(name)
    ? fc.constantFrom(...credentials.tokens.slice(0, GROUPS_CHANGED)).map((text) => ({ current_token: text }))
    : fc.constant({});
  const fields = fc.oneof(fc.constant({}), fc.dictionary(fc.constantFrom(...FIELDS), values, { maxKeys: 3 }));
  const presented = [credentials.keys, credentials.tokens, credentials.sessions, credentials.operators].flat();
  const own = bodiesOf(name, presented) ?? fc.constant(BODIES[name] ?? {});
  const sound = fc
    .tuple(own, token, fields)
    .map(([body, current, others]) => Buffer.from(JSON.stringify({ ...body, ...current, ...others })));
  return fc
    .record({
      caller: fc.constantFrom(...callers),
      number: numberIn(pattern),
      query: access.hasQuery
        ? fc.oneof({ weight: 3, arbitrary: queriesOf(name, strings) }, fc.constant(""))
        : fc.constant(""),
      isHead: fc.constantFrom(access.takesHead ?? false, false),
      contentType:
        access.bodyType === "merge-patch"
          ? fc.constantFrom("application/json", "application/merge-patch+json")
          : fc.constant(access.bodyType === "ndjson" ? "application/x-ndjson" : "application/json"),
      body: access.body ? fc.oneof({ weight: 4, arbitrary: sound }, bodies) : fc.constant(undefined),
      extra: fc.oneof({ weight: 4, arbitrary: fc.constant({}) }, extras),
      address: addresses,
    })
    .map(({ caller, number, query, isHead, body, ...headers }) => ({
      name,
      method: isHead ? "HEAD" : method,
      path: pathWith(pattern.replace(/:\w+/, String(number)), caller.query.slice(1), query),
      body,
      headers: headersOf({ ...headers, authorization: `Token ${caller.text}` }),
    }));
}

/** A path with those of two queries that are not empty. */
const pathWith = (path: string, ...queries: string[]): string =>
  [path, queries.filter((query) => query !== "").join("&")].filter((part) => part !== "").join("?");

type Headers = { authorization: string; contentType: string; extra: Record<string, string>; address: string };

const headersOf = ({ authorization, contentType, extra, address }: Headers): Record<string, string> => ({
  ...extra,
  authorization,
  "content-type": contentType,
  "cf-connecting-ip": address,
});

/** A page of a backup, for an environment that is empty at first. Only the service can sign one, so most are not to be checked. */
const restoreRequests = (backup: string, { operators }: Credentials): fc.Arbitrary<FuzzRequest> =>
  fc
    .record({
      page: restorePages(backup, values),
      unsigned: fc.constantFrom("&unsigned=true", "&unsigned=true", "&unsigned=true", ""),
      operator: fc.constantFrom(...operators),
      address: addresses,
    })
    .map(({ page: { workspace, body }, unsigned, operator, address }) => ({
      method: "POST",
      path: `/api/restore?workspace=${workspace}&environment=Testing${unsigned}`,
      body,
      headers: headersOf({
        authorization: `Token ${operator}`,
        contentType: "application/x-ndjson",
        extra: {},
        address,
      }),
    }));

/** Any method, path and credential. */
const wildRequests = ({
  keys: [key = ""],
  tokens: [token = ""],
  operators: [operator = ""],
}: Credentials): fc.Arbitrary<FuzzRequest> =>
  fc
    .record({
      method: fc.constantFrom("GET", "PUT", "POST", "DELETE", "PATCH", "HEAD", "OPTIONS"),
      path: WILD_PATHS,
      body: bodies,
      authorization: fc.oneof(
        {
          weight: 8,
          arbitrary: fc.constantFrom(
            `Token ${key}`,
            `token ${key}`,
            `Token ${operator}`,
            `Token ${token}`,
            `Bearer ${key}`,
            `Token ${key.slice(0, -1)}`,
            "Token",
            "",
          ),
        },
        headerText,
      ),
      contentType: fc.oneof({ weight: 8, arbitrary: fc.constant("application/json") }, headerText),
      extra: extras,
      address: addresses,
    })
    .map(({ method, path, body, ...headers }) => ({ method, path, body, headers: headersOf(headers) }));

/** What the requests act on: the service's origin, and a backup of one page. */
export type Fixture = { credentials: Credentials; origin: string; backup: string };

/** Most requests are calls that the service has, or pages of the console. */
export const requestsWith = ({ credentials, origin, backup }: Fixture): fc.Arbitrary<FuzzRequest> =>
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.oneof(...Object.entries(ACCESS).map(([name, access]) => callOf(name, access, credentials))),
    },
    {
      weight: 3,
      arbitrary: consoleRequests(
        credentials.console,
        origin,
        { workspace: WORKSPACE, strings, numberIn, presented: [...credentials.keys, ...credentials.sessions] },
        addresses,
      ),
    },
    { weight: 1, arbitrary: restoreRequests(backup, credentials) },
    { weight: 2, arbitrary: wildRequests(credentials) },
  );
