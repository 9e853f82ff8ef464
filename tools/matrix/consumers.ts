/**
 * The consumers: programs of others that call the service, take its sessions, or run what it has bound. `npm run matrix` runs them,
 * and the table of docs/integrators/consumers.md is made of this list.
 */
import { spawnSync } from "node:child_process";
import { CLIENTS, ofNpm, versionBy } from "../clients/matrix.ts";

/** `documented`: it works by its own documents, by which tests do what it does. */
export type Verdict = "works" | "documented" | "unsafe" | "no";

/** A file of tests, and what the full names of those in it match that connect a consumer. */
type Tests = { file: string; named: RegExp };
type Version = () => string | undefined;

export type Consumer = {
  name: string;
  verdict: Verdict;
  /** How to connect it and what checks `aud`, as Markdown of consumers.md. */
  how: string;
  tests?: Tests;
  /** The version on this machine, if it has one. */
  version?: Version;
};

/** Tests whose full names begin with these titles, which `>` separates. */
const tests = (file: string, titles: string): Tests => ({
  file,
  named: new RegExp(`^${RegExp.escape(titles)}(?: >|,|$)`),
});

const works = (name: string, how: string, its: Tests, version: Version): Consumer => ({
  name,
  verdict: "works",
  how,
  tests: its,
  version,
});

const documented = (name: string, how: string): Consumer => ({ name, verdict: "documented", how });

/** The version of a module of Python by its package: PyMySQL's own `__version__` is that of a driver for which it stands in. */
const ofPython = (module: string) => () =>
  versionBy([
    "python3",
    "-c",
    `from importlib.metadata import *; print(version(packages_distributions()["${module}"][0]))`,
  ]);

/** The first version number that a program prints, on whichever output. */
const printedBy =
  (program: string, ...args: string[]) =>
  () => {
    const { stdout, stderr } = spawnSync(program, args, { encoding: "utf8" });
    return /\d+\.\d[.\d]*/.exec(`${stdout ?? ""}${stderr ?? ""}`)?.[0];
  };

const KIT = "[`requireSession`](server-kit.md#requiresession), with `audience`";
const PYTHON_KIT = "[the kit](server-kit.md#python), with `audience`";
const VERIFIER = "[its recipe](verifying.md#verify-a-session-offline), with `AUDIENCE`";
const LIBRARY = "[an example](#jwt-libraries), with `AUDIENCE`";
const GATEWAY = "[gateways.md](gateways.md); `audience` is in the call";
const BUILDER = "[its section](#query-builders); the service checks `audience`";
const bound = (placeholder: string) =>
  `[bound SQL](dashboards.md#sql); the service checks \`audience\`; \`${placeholder}\``;
const generated = (document: string) => `a client generated from \`/${document}\``;

const FOREIGN = "test/all/examples/foreign-credentials.test.ts";
const FRAMEWORKS = "test/all/python/frameworks.test.ts";
const GATEWAYS = "test/all/examples/gateways.test.ts";
const GENERATED = "examples/test/generated-clients.test.ts";
const CLAIMS = "test/all/examples/claims-consumers.test.ts";
const KIT_TESTS = "examples/test/kit.test.ts";
const QUERIES = "examples/test/bound-queries.test.ts";

const ofGenerator = (name: string) => tests(GENERATED, `a client generated for ${name}`);
const ofDriver = (name: string) =>
  tests(
    "test/all/examples/database-recipes.test.ts",
    `drivers of Python > read templates with %s as they are meant, with ${name}`,
  );
const ofDatabase = (name: string) =>
  tests(
    "examples/test/sql-oracle.test.ts",
    `a template with a filter > selects no row of another customer, and the same rows in each way, in ${name}`,
  );

const DATABASE_APIS: Consumer[] = [
  works(
    "PostGraphile",
    "[its section](#postgraphile); the kit checks `audience`",
    tests("examples/test/postgraphile.test.ts", "PostGraphile"),
    ofNpm("postgraphile"),
  ),
  { ...documented("PostgREST", "[its section](#postgrest); `jwt-aud`"), tests: tests(CLAIMS, "PostgREST") },
  { ...documented("Hasura", "[its section](#hasura); `audience` in the secret"), tests: tests(CLAIMS, "Hasura") },
  {
    name: "Supabase",
    verdict: "unsafe",
    how: "[its section](#supabase); it checks no `aud`",
    tests: tests(CLAIMS, "Supabase"),
  },
];

const QUERY_BUILDERS: Consumer[] = [
  works("Kysely", BUILDER, tests(QUERIES, "Kysely"), ofNpm("kysely")),
  works("Drizzle", BUILDER, tests(QUERIES, "Drizzle"), ofNpm("drizzle-orm")),
  works("Knex", BUILDER, tests(QUERIES, "Knex"), ofNpm("knex")),
  works("SQLAlchemy", BUILDER, tests(QUERIES, "SQLAlchemy"), ofPython("sqlalchemy")),
];

const SERVERS: Consumer[] = ["Express", "Fastify", "Hono"].map((name) =>
  works(name, KIT, tests(KIT_TESTS, `in a server of ${name}`), ofNpm(name.toLowerCase())),
);

const PYTHON_SERVERS: Consumer[] = ["Flask", "FastAPI", "Django"].map((name) =>
  works(name, PYTHON_KIT, tests(FRAMEWORKS, `a product in ${name}`), ofPython(name.toLowerCase())),
);

const VERIFIERS: Consumer[] = [
  works("jose", VERIFIER, tests("test/examples/foreign-credentials.test.ts", "verify-jose.ts"), ofNpm("jose")),
  works("fast-jwt", LIBRARY, tests(FOREIGN, "verify-fast-jwt.ts"), ofNpm("fast-jwt")),
  works("joserfc", LIBRARY, tests(FOREIGN, "verify_joserfc.py"), ofPython("joserfc")),
  works("Java", VERIFIER, tests(FOREIGN, "VerifySession.java"), () => versionBy(["java", "--version"])),
  works(
    "express-oauth2-jwt-bearer",
    "`auth({ issuerBaseURL, audience })`",
    { file: "examples/test/discovery.test.ts", named: /^a verifier that knows only the issuer/ },
    ofNpm("express-oauth2-jwt-bearer"),
  ),
  documented(
    "Spring Boot",
    "`issuer-uri`, `jws-algorithms: ES256` and `audiences` below `spring.security.oauth2.resourceserver.jwt`",
  ),
  documented(
    "djangorestframework-simplejwt",
    '`claims` with `token_type: "access"`; `ALGORITHM`, `JWK_URL`, `ISSUER`, **`AUDIENCE`** and `USER_ID_CLAIM`',
  ),
  { name: "Amazon API Gateway, HTTP APIs", verdict: "no", how: "verifies RSA alone, and sessions are ES256" },
];

const PROXIES: Consumer[] = [
  works("nginx", GATEWAY, tests(GATEWAYS, "nginx"), printedBy("nginx", "-v")),
  works("Caddy", GATEWAY, tests(GATEWAYS, "caddy"), printedBy("caddy", "version")),
  works(
    "Apache with mod_auth_openidc",
    "[its section](#apache); `Require claim aud:…`",
    tests("test/all/examples/apache.test.ts", "mod_auth_openidc"),
    printedBy("dpkg-query", "--show", "libapache2-mod-auth-openidc"),
  ),
  documented("Traefik", "[gateways.md](gateways.md#others); `audience` is in the call"),
  documented(
    "Envoy",
    "`ext_authz` as in [gateways.md](gateways.md#others), or `jwt_authn` with `issuer`, `remote_jwks` and **`audiences`**",
  ),
];

const HTTP_CLIENTS: Consumer[] = CLIENTS.map(({ name, version }) =>
  works(
    name,
    "[an example](typescript-client.md#other-clients) for each",
    tests("test/all/tools/clients.test.ts", name),
    version,
  ),
);

const GENERATORS: Consumer[] = [
  works("openapi-fetch", generated("openapi.json"), ofGenerator("openapi-fetch"), ofNpm("openapi-fetch")),
  works("Hey API", generated("openapi.json"), ofGenerator("hey-api"), ofNpm("@hey-api/openapi-ts")),
  works(
    "swagger-typescript-api",
    generated("openapi-3.0.json"),
    ofGenerator("swagger-typescript-api"),
    ofNpm("swagger-typescript-api"),
  ),
  works(
    "Perl OpenAPI::Client",
    generated("openapi-3.0.json"),
    { file: GENERATED, named: /^a client that Perl's OpenAPI::Client generates/ },
    () => versionBy(["perl", "-MOpenAPI::Client", "-e", "print OpenAPI::Client->VERSION"]),
  ),
];

const SQL_DRIVERS: Consumer[] = ["psycopg", "psycopg2", "PyMySQL"].map((name) =>
  works(name, bound("%s"), ofDriver(name), ofPython(name.toLowerCase())),
);

const DATABASES: Consumer[] = [
  works("PostgreSQL (PGlite)", bound("$1"), ofDatabase("PostgreSQL"), ofNpm("@electric-sql/pglite")),
  works("SQLite", bound("?"), ofDatabase("SQLite"), () => process.versions.sqlite),
  works("MariaDB", bound("?"), ofDatabase("MariaDB"), printedBy("mariadbd", "--version")),
  works("DuckDB", bound("?"), ofDatabase("DuckDB"), ofNpm("@duckdb/node-api")),
  documented("MySQL", bound("?")),
  documented("SQL Server", bound("@p1")),
  documented("ClickHouse", bound("{p1:String}")),
];

export const CONSUMERS: readonly Consumer[] = [
  ...DATABASE_APIS,
  ...QUERY_BUILDERS,
  ...SERVERS,
  ...PYTHON_SERVERS,
  ...VERIFIERS,
  ...PROXIES,
  ...HTTP_CLIENTS,
  ...GENERATORS,
  ...SQL_DRIVERS,
  ...DATABASES,
];
