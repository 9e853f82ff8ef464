import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { outcomeOf } from "../../test/support/node/commands.ts";
import { runIn } from "../../test/support/node/service.ts";
import { keyOfWorkspace } from "../../test/support/node/workspace.ts";

const { url } = inject("service");

/** A user's project, with the document that the service serves. */
const project = mkdtempSync(join(tmpdir(), "generated-clients-"));

const WITH_OPENAPI_FETCH = `
import createClient from "openapi-fetch";
import type { components, paths } from "./openapi-typescript.ts";

type Failure = components["schemas"]["Failure"];
type Event = components["schemas"]["Event"];

const clientOf = (credential: string) =>
  createClient<paths>({ baseUrl: process.env.SERVICE_URL!, headers: { Authorization: \`Token \${credential}\` } });
const client = clientOf(process.env.API_KEY!);
const codeOf = ({ error }: Failure): Failure["error"]["code"] => error.code;
const lacking = (failure: Failure | undefined): Error => new Error(failure && codeOf(failure));

const created = await client.POST("/api/user_groups", {
  body: { user_group_id: "from openapi-fetch", properties: { region: "eu", plans: ["pro"] } },
});
if (!created.data) throw lacking(created.error);
const group: components["schemas"]["GroupWithToken"] = created.data.user_group;
const rotated = await client.POST("/api/user", { body: { current_token: group.token ?? "" } });
if (!rotated.data) throw lacking(rotated.error);
const token = rotated.data.user_group.token ?? "";
const viewed = await clientOf(token).GET("/api/viewer");
if (!viewed.data) throw lacking(viewed.error);
const viewer: components["schemas"]["UserGroup"] = viewed.data.user_group;
const superseded = await client.DELETE("/api/user", { body: { current_token: group.token ?? "" } });
const deleted = await client.DELETE("/api/user", { body: { current_token: token } });
const listed = await client.GET("/api/events", { params: { query: { user_group_id: group.provided_id } } });
const events: Event[] = listed.data?.events ?? [];

console.info(
  JSON.stringify({
    created: [created.response.status, created.data.new_user_group],
    rotated: token !== group.token,
    viewed: viewer.properties,
    refused: superseded.error?.error.code,
    deleted: deleted.data?.success,
    events: events.map(({ type }) => type),
  }),
);
`;

const WITH_HEY_API = `
import {
  createUserGroup,
  listEvents,
  removeUserGroup,
  rotateToken,
  viewUserGroup,
  type Event,
  type Failure,
  type GroupWithToken,
  type UserGroup,
} from "./hey-api/index.ts";
import { client } from "./hey-api/client.gen.ts";

client.setConfig({ baseUrl: process.env.SERVICE_URL!, auth: () => process.env.API_KEY });
const codeOf = ({ error }: Failure): Failure["error"]["code"] => error.code;

const created = await createUserGroup({
  body: { user_group_id: "from hey-api", properties: { region: "eu", plans: ["pro"] } },
  throwOnError: true,
});
const group: GroupWithToken = created.data.user_group;
const rotated = await rotateToken({ body: { current_token: group.token ?? "" }, throwOnError: true });
const token = rotated.data.user_group.token ?? "";
const viewed = await viewUserGroup({ auth: () => token, throwOnError: true });
const viewer: UserGroup = viewed.data.user_group;
const superseded = await removeUserGroup({ body: { current_token: group.token ?? "" } });
const deleted = await removeUserGroup({ body: { current_token: token }, throwOnError: true });
const listed = await listEvents({ query: { user_group_id: group.provided_id }, throwOnError: true });
const events: Event[] = listed.data.events;

console.info(
  JSON.stringify({
    created: [created.response.status, created.data.new_user_group],
    rotated: token !== group.token,
    viewed: viewer.properties,
    refused: superseded.error && codeOf(superseded.error),
    deleted: deleted.data.success,
    events: events.map(({ type }) => type),
  }),
);
`;

const WITH_SWAGGER_TYPESCRIPT_API = `
import { Api, type Event, type Failure, type GroupWithToken, type UserGroup } from "./swagger-typescript-api/api.ts";

const clientOf = (credential: string) =>
  new Api({
    baseUrl: process.env.SERVICE_URL!,
    baseApiParams: { secure: true },
    securityWorker: () => ({ headers: { Authorization: \`Bearer \${credential}\` } }),
  }).api;
const client = clientOf(process.env.API_KEY!);

const created = await client.createUserGroup({
  user_group_id: "from swagger-typescript-api",
  properties: { region: "eu", plans: ["pro"] },
});
const group: GroupWithToken = created.data.user_group;
const rotated = await client.rotateToken({ current_token: group.token ?? "" });
const token = rotated.data.user_group.token ?? "";
const viewer: UserGroup = (await clientOf(token).viewUserGroup()).data.user_group;
const superseded: Failure = await client.removeUserGroup({ current_token: group.token ?? "" }).catch(({ error }) => error);
const deleted = await client.removeUserGroup({ current_token: token });
const events: Event[] = (await client.listEvents({ user_group_id: group.provided_id })).data.events;

console.info(
  JSON.stringify({
    created: [created.status, created.data.new_user_group],
    rotated: token !== group.token,
    viewed: viewer.properties,
    refused: superseded.error.code,
    deleted: deleted.data.success,
    events: events.map(({ type }) => type),
  }),
);
`;

const CLIENTS = [
  [
    "openapi-fetch",
    "openapi-typescript/bin/cli.js",
    ["openapi.json", "-o", "openapi-typescript.ts"],
    WITH_OPENAPI_FETCH,
  ],
  ["hey-api", "@hey-api/openapi-ts/dist/run.mjs", ["-i", "./openapi.json", "-o", "hey-api"], WITH_HEY_API],
  [
    "swagger-typescript-api",
    "swagger-typescript-api/dist/cli.mjs",
    ["generate", "-p", "./openapi-3.0.json", "-o", "swagger-typescript-api", "-n", "api.ts"],
    WITH_SWAGGER_TYPESCRIPT_API,
  ],
] as const;

beforeAll(async () => {
  symlinkSync(resolve("examples/node_modules"), join(project, "node_modules"));
  for (const file of ["openapi.json", "openapi-3.0.json"])
    writeFileSync(join(project, file), await (await fetch(`${url}/${file}`)).text());
});

afterAll(() => rmSync(project, { recursive: true }));

/** Runs a program in the project, without blocking this process: afterwards, `fetch` would use a connection that the service has closed. */
const run = (program: string, args: readonly string[], env: NodeJS.ProcessEnv = {}) =>
  outcomeOf(runIn(project, [program, ...args], { NODE_OPTIONS: "", ...env }));

/** What each client prints of a group's life. */
const SHOWN = {
  created: [201, true],
  rotated: true,
  viewed: { region: "eu", plans: ["pro"] },
  refused: "token_superseded",
  deleted: 1,
  events: ["user_group.created", "user_group.token_rotated", "user_group.deleted"],
};

describe.for(CLIENTS)("a client generated for %s", ([name, generator, args, program]) => {
  it("compiles, and creates, rotates, views and deletes a group", async () => {
    const generated = await run(process.execPath, [resolve("examples/node_modules", generator), ...args]);
    expect(generated.status, generated.stderr).toBe(0);
    const file = `${name}.ts`;
    writeFileSync(join(project, file), program);

    const compiled = await run(resolve("node_modules/.bin/tsc"), [
      ...["--ignoreConfig", "--noEmit", "--strict", "--target", "esnext", "--module", "esnext"],
      ...[
        "--skipLibCheck",
        "--moduleResolution",
        "bundler",
        "--allowImportingTsExtensions",
        "--typeRoots",
        resolve("node_modules/@types"),
        "--types",
        "node",
        file,
      ],
    ]);
    expect(compiled).toEqual({ status: 0, stdout: "", stderr: "" });

    const bundle = [file, "--bundle", "--platform=node", "--format=esm", `--outfile=${name}.mjs`, "--log-level=error"];
    expect((await run(resolve("node_modules/.bin/esbuild"), bundle)).status).toBe(0);
    const API_KEY = await keyOfWorkspace(`generated-${name}`);
    const { status, stdout, stderr } = await run(process.execPath, [`${name}.mjs`], { SERVICE_URL: url, API_KEY });
    expect({ status, stderr, shown: JSON.parse(stdout || "null") }).toEqual({ status: 0, stderr: "", shown: SHOWN });
  });
});

const hasPerl = spawnSync("perl", ["-MOpenAPI::Client", "-e", "1"]).status === 0;
it.skipIf(!hasPerl)(
  `a client that Perl's OpenAPI::Client generates makes the same calls${hasPerl ? "" : ", skipped: libopenapi-client-perl is missing"}`,
  async () => {
    const API_KEY = await keyOfWorkspace("generated-perl");
    const program = resolve("test/support/node/generated-client.pl");
    const { status, stdout, stderr } = await run("perl", [program], { SERVICE_URL: url, API_KEY });
    expect({ status, stderr, shown: JSON.parse(stdout || "null") }).toEqual({ status: 0, stderr: "", shown: SHOWN });
  },
);
