/**
 * The consumers: programs of others that call the service, take its sessions, or run what it has bound. `npm run matrix` runs them,
 * and the table of docs/integrators/consumers.md is made of this list.
 */
import { spawnSync } from "node:child_process";
import { CLIENTS, packageVersion, versionBy } from "../clients/matrix.ts";

/** `documented`: it works by its own documents, by which tests do what it does. */
export type Verdict = "works" | "documented" | "unsafe" | "no";

export type Consumer = {
  name: string;
  verdict: Verdict;
  /** How to connect it and what checks `aud`, as Markdown of consumers.md. */
  how: string;
  /** The tests that connect it: a file, and what their full names match. */
  tests?: { file: string; named: RegExp };
  /** The version on this machine, if it has one. */
  version?: () => string | undefined;
};

const KIT = "[`requireSession`](server-kit.md#requiresession), with `audience`";
const VERIFIER = "[its recipe](verifying.md#verify-a-session-offline), with `AUDIENCE`";
const LIBRARY = "[an example](#jwt-libraries), with `AUDIENCE`";
const BOUND = "[bound SQL](dashboards.md#sql); the service checks `audience`";
const OWN_SECTION = (section: string) => `[its section](#${section})`;

const FOREIGN = "test/all/examples/foreign-credentials.test.ts";
const GATEWAYS = "test/examples/gateways.test.ts";
const GENERATED = "examples/test/generated-clients.test.ts";
const CLAIMS = "test/examples/claims-consumers.test.ts";
const QUERIES = "examples/test/bound-queries.test.ts";
const DRIVERS = "test/all/examples/database-recipes.test.ts";
const ORACLE = "examples/test/sql-oracle.test.ts";

/** Tests whose full names begin with these titles, which `>` separates. */
const begins = (titles: string) => new RegExp(`^${RegExp.escape(titles)}(?: >|,|$)`);

/** The version of a module of Python by its package: PyMySQL's own `__version__` is that of a driver for which it stands in. */
const ofPython = (module: string) =>
  versionBy([
    "python3",
    "-c",
    `from importlib.metadata import *; print(version(packages_distributions()["${module}"][0]))`,
  ]);

/** The first version number that a program prints, on whichever output. */
function printedVersion(program: string, ...args: string[]): string | undefined {
  const { stdout, stderr } = spawnSync(program, args, { encoding: "utf8" });
  return /\d+\.\d[.\d]*/.exec(`${stdout ?? ""}${stderr ?? ""}`)?.[0];
}

const HTTP_CLIENTS: Consumer[] = CLIENTS.map(({ name, version }) => ({
  name,
  verdict: "works",
  how: "[an example](clients.md) for each",
  tests: { file: "test/all/tools/clients.test.ts", named: begins(name) },
  version,
}));

const GENERATORS: Consumer[] = [
  ...[
    { name: "openapi-fetch", describe: "openapi-fetch", document: "openapi.json", of: "openapi-fetch" },
    { name: "Hey API", describe: "hey-api", document: "openapi.json", of: "@hey-api/openapi-ts" },
    {
      name: "swagger-typescript-api",
      describe: "swagger-typescript-api",
      document: "openapi-3.0.json",
      of: "swagger-typescript-api",
    },
  ].map(
    ({ name, describe, document, of }): Consumer => ({
      name,
      verdict: "works",
      how: `a client generated from \`/${document}\``,
      tests: { file: GENERATED, named: begins(`a client generated for ${describe}`) },
      version: () => packageVersion(of),
    }),
  ),
  {
    name: "Perl OpenAPI::Client",
    verdict: "works",
    how: "a client generated from `/openapi-3.0.json`",
    tests: { file: GENERATED, named: /^a client that Perl's OpenAPI::Client generates/ },
    version: () => versionBy(["perl", "-MOpenAPI::Client", "-e", "print OpenAPI::Client->VERSION"]),
  },
];

const SERVERS: Consumer[] = ["Express", "Fastify", "Hono"].map((name) => ({
  name,
  verdict: "works",
  how: KIT,
  tests: { file: "examples/test/kit.test.ts", named: begins(`in a server of ${name}`) },
  version: () => packageVersion(name.toLowerCase()),
}));

const VERIFIERS: Consumer[] = [
  {
    name: "jose",
    verdict: "works",
    how: VERIFIER,
    tests: { file: "test/examples/foreign-credentials.test.ts", named: begins("verify-jose.ts") },
    version: () => packageVersion("jose"),
  },
  {
    name: "PyJWT",
    verdict: "works",
    how: VERIFIER,
    tests: { file: FOREIGN, named: begins("verify_pyjwt.py") },
    version: () => ofPython("jwt"),
  },
  {
    name: "fast-jwt",
    verdict: "works",
    how: LIBRARY,
    tests: { file: FOREIGN, named: begins("verify-fast-jwt.ts") },
    version: () => packageVersion("fast-jwt"),
  },
  {
    name: "joserfc",
    verdict: "works",
    how: LIBRARY,
    tests: { file: FOREIGN, named: begins("verify_joserfc.py") },
    version: () => ofPython("joserfc"),
  },
  {
    name: "Java",
    verdict: "works",
    how: VERIFIER,
    tests: { file: FOREIGN, named: begins("VerifySession.java") },
    version: () => versionBy(["java", "--version"]),
  },
  {
    name: "express-oauth2-jwt-bearer",
    verdict: "works",
    how: "`auth({ issuerBaseURL, audience })`",
    tests: { file: "examples/test/discovery.test.ts", named: /^a verifier that knows only the issuer/ },
    version: () => packageVersion("express-oauth2-jwt-bearer"),
  },
  {
    name: "Spring Boot",
    verdict: "documented",
    how: "`issuer-uri`, `jws-algorithms: ES256` and `audiences` below `spring.security.oauth2.resourceserver.jwt`",
  },
  {
    name: "djangorestframework-simplejwt",
    verdict: "documented",
    how: '`claims` with `token_type: "access"`; `ALGORITHM`, `JWK_URL`, `ISSUER`, **`AUDIENCE`** and `USER_ID_CLAIM`',
  },
  { name: "Amazon API Gateway, HTTP APIs", verdict: "no", how: "verifies RSA alone, and sessions are ES256" },
];

const PROXIES: Consumer[] = [
  {
    name: "nginx",
    verdict: "works",
    how: "[gateways.md](gateways.md); `audience` is in the call",
    tests: { file: GATEWAYS, named: begins("nginx") },
    version: () => printedVersion("nginx", "-v"),
  },
  {
    name: "Caddy",
    verdict: "works",
    how: "[gateways.md](gateways.md); `audience` is in the call",
    tests: { file: GATEWAYS, named: begins("caddy") },
    version: () => printedVersion("caddy", "version"),
  },
  {
    name: "Apache with mod_auth_openidc",
    verdict: "works",
    how: `${OWN_SECTION("apache")}; \`Require claim aud:…\``,
    tests: { file: "test/all/examples/apache.test.ts", named: begins("mod_auth_openidc") },
    version: () => printedVersion("dpkg-query", "--show", "libapache2-mod-auth-openidc"),
  },
  { name: "Traefik", verdict: "documented", how: "[gateways.md](gateways.md#others); `audience` is in the call" },
  {
    name: "Envoy",
    verdict: "documented",
    how: "`ext_authz` as in [gateways.md](gateways.md#others), or `jwt_authn` with `issuer`, `remote_jwks` and **`audiences`**",
  },
];

const DATABASE_APIS: Consumer[] = [
  {
    name: "PostGraphile",
    verdict: "works",
    how: `${OWN_SECTION("postgraphile")}; the kit checks \`audience\``,
    tests: { file: "examples/test/postgraphile.test.ts", named: begins("PostGraphile") },
    version: () => packageVersion("postgraphile"),
  },
  {
    name: "PostgREST",
    verdict: "documented",
    how: `${OWN_SECTION("postgrest")}; \`jwt-aud\``,
    tests: { file: CLAIMS, named: begins("PostgREST") },
  },
  {
    name: "Hasura",
    verdict: "documented",
    how: `${OWN_SECTION("hasura")}; \`audience\` in the secret`,
    tests: { file: CLAIMS, named: begins("Hasura") },
  },
  {
    name: "Supabase",
    verdict: "unsafe",
    how: `${OWN_SECTION("supabase")}; it checks no \`aud\``,
    tests: { file: CLAIMS, named: begins("Supabase") },
  },
];

const QUERY_BUILDERS: Consumer[] = [
  { name: "Kysely", version: () => packageVersion("kysely") },
  { name: "Drizzle", version: () => packageVersion("drizzle-orm") },
  { name: "Knex", version: () => packageVersion("knex") },
  { name: "SQLAlchemy", version: () => ofPython("sqlalchemy") },
].map(({ name, version }) => ({
  name,
  verdict: "works",
  how: `${OWN_SECTION("query-builders")}; the service checks \`audience\``,
  tests: { file: QUERIES, named: begins(name) },
  version,
}));

const SQL_DRIVERS: Consumer[] = [
  { name: "psycopg", module: "psycopg" },
  { name: "psycopg2", module: "psycopg2" },
  { name: "PyMySQL", module: "pymysql" },
].map(({ name, module }) => ({
  name,
  verdict: "works",
  how: `${BOUND}; \`%s\``,
  tests: {
    file: DRIVERS,
    named: begins(`drivers of Python > read templates with %s as they are meant, with ${name}`),
  },
  version: () => ofPython(module),
}));

const oracle = (name: string) =>
  begins(`a template with a filter > selects no row of another customer, and the same rows in each way, in ${name}`);

const DATABASES: Consumer[] = [
  {
    name: "PostgreSQL (PGlite)",
    in: "PostgreSQL",
    placeholders: "$1",
    version: () => packageVersion("@electric-sql/pglite"),
  },
  { name: "SQLite", in: "SQLite", placeholders: "?", version: () => process.versions.sqlite },
  { name: "MariaDB", in: "MariaDB", placeholders: "?", version: () => printedVersion("mariadbd", "--version") },
  { name: "DuckDB", in: "DuckDB", placeholders: "?", version: () => packageVersion("@duckdb/node-api") },
].map(({ name, in: database, placeholders, version }) => ({
  name,
  verdict: "works",
  how: `${BOUND}; \`${placeholders}\``,
  tests: { file: ORACLE, named: oracle(database) },
  version,
}));

const OTHER_DATABASES: Consumer[] = [
  { name: "MySQL", placeholders: "?" },
  { name: "SQL Server", placeholders: "@p1" },
  { name: "ClickHouse", placeholders: "{p1:String}" },
].map(({ name, placeholders }) => ({ name, verdict: "documented", how: `${BOUND}; \`${placeholders}\`` }));

export const CONSUMERS: readonly Consumer[] = [
  ...DATABASE_APIS,
  ...QUERY_BUILDERS,
  ...SERVERS,
  ...VERIFIERS,
  ...PROXIES,
  ...HTTP_CLIENTS,
  ...GENERATORS,
  ...SQL_DRIVERS,
  ...DATABASES,
  ...OTHER_DATABASES,
];
