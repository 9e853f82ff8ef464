import { type ChildProcess, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, inject, it } from "vitest";
import { OperatorClient, UserGroupClient } from "../../client/src/index.ts";
import { freePort } from "../support/node/free-port.ts";
import { endGroup, runIn, waitUntil } from "../support/node/service.ts";

/** The recipes for gateways, in a real nginx and a real Caddy, before an app that shows what reaches it. */

const { url, operatorToken } = inject("service");
const AUDIENCE = "gateway/Customer";
/** Three bytes of UTF-8 each, which become nine characters of a header. */
const LONGEST_ID = "株".repeat(255);
const HEADERS = ["x-user-group-team-id", "x-user-group-id", "x-viewer-id", "x-user-group-audience"];

type Gateway = {
  name: string;
  program: readonly [string, ...string[]];
  text: (recipe: string, root: string) => string;
  file: string;
};

const GATEWAYS: Gateway[] = [
  {
    name: "nginx",
    file: "nginx.conf",
    program: ["nginx", "-e", "stderr", "-c"],
    text: (recipe, root) => `daemon off; worker_processes 1; pid ${root}/pid; error_log stderr crit;
      events {} http { access_log off; ${["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((name) => `${name}_temp_path ${root}/${name};`).join(" ")}
      ${recipe}
      }`,
  },
  {
    name: "caddy",
    file: "Caddyfile",
    program: ["caddy", "run", "--adapter", "caddyfile", "--config"],
    text: (recipe, root) => `{\n\tadmin off\n\tstorage file_system ${root}\n}\n${recipe}`,
  },
];

const listen = async (server: Server) => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return Object(server.address()).port as number;
};

/** The headers of one name, in whatever spelling an app might take for it. */
const spelled = (request: IncomingMessage, name: string) =>
  Object.entries(request.headersDistinct).flatMap(([each, values = []]) =>
    each.replaceAll(/[._]/g, "-") === name ? values : [],
  );

/** A name with each of three marks between its parts. */
const spellingsOf = ([first = "", ...rest]: string[]): string[] =>
  rest.reduce((begun, part) => begun.flatMap((each) => ["-", "_", "."].map((mark) => each + mark + part)), [first]);

describe.for(GATEWAYS)("$name", ({ name, file, program, text: configOf }) => {
  const isThere = spawnSync(program[0], ["-h"]).error === undefined;
  const root = mkdtempSync(join(tmpdir(), "gateway-"));
  let reached: { headers: (string | undefined)[][]; override: string | undefined; body: string }[] = [];
  const app = createServer(async (request, response) => {
    const headers = HEADERS.map((each) => spelled(request, each));
    const override = spelled(request, "x-http-method-override")[0];
    reached.push({ headers, override, body: await text(request) });
    response.end("the app");
  });
  /** Answers nothing, or a status of its own. */
  let status: number | undefined;
  const wrong = createServer((_, response) => void (status && response.writeHead(status).end()));
  const gateways: ChildProcess[] = [];
  let port = 0;
  let portToWrong = 0;

  /** Starts the recipe, for a service at this address. Only addresses and times differ from the file. */
  async function start(service: string, appPort: number): Promise<number> {
    const own = await freePort();
    const recipe = readFileSync(join("examples/gateways", file), "utf8")
      .replaceAll("127.0.0.1:8787", service)
      .replaceAll("127.0.0.1:3000", `127.0.0.1:${appPort}`)
      .replaceAll(":8080", `:${own}`)
      .replaceAll("acme/Customer", AUDIENCE)
      .replaceAll("10s", "1s");
    const config = join(root, `config-${own}`);
    writeFileSync(config, configOf(recipe, root));
    gateways.push(runIn(root, [program[0], ...program.slice(1), config], { HOME: root }));
    const answers = () =>
      fetch(`http://127.0.0.1:${own}`).then(
        () => true,
        () => false,
      );
    await waitUntil(answers, `${name} answered`);
    return own;
  }

  beforeAll(async () => {
    if (!isThere) return;
    const appPort = await listen(app);
    const { port: servicePort } = new URL(url);
    port = await start(`127.0.0.1:${servicePort}`, appPort);
    portToWrong = await start(`127.0.0.1:${await listen(wrong)}`, appPort);
  });
  afterAll(async () => {
    for (const gateway of gateways) await endGroup(gateway, "SIGTERM");
    app.close();
    wrong.closeAllConnections();
    wrong.close();
    rmSync(root, { recursive: true, force: true });
  });

  /** Sends a request through the gateway, with headers in exactly this spelling. Returns its status. */
  async function send(
    lines: string[],
    { method = "GET", body = "", to = port, host = "127.0.0.1" } = {},
  ): Promise<number> {
    reached = [];
    const socket = connect(to, "127.0.0.1");
    const head = [`${method} /reports HTTP/1.1`, `Host: ${host}:${to}`, "Connection: close", ...lines];
    socket.write([...head, ...(body ? [`Content-Length: ${body.length}`] : []), "", body].join("\r\n"));
    return Number((await text(socket)).split(" ")[1]);
  }

  /** Makes an environment's first group and its credentials. */
  async function newCustomer(workspace: string, environment: "Customer" | "Testing" | null, userGroupId = "acme") {
    const operator = new OperatorClient({ url, operatorKey: operatorToken });
    const { key } = await operator.issueKey({ workspace, environment, name: "backend" });
    const client = new UserGroupClient({ url, apiKey: key });
    const { group } = await client.ensure({ userGroupId });
    const { token: session } = await client.mintSession({ userGroupId, viewerId: userGroupId });
    return { token: group.token ?? "", session, teamId: String(group.teamId), client };
  }

  const skipped = isThere ? "" : `, skipped: ${name} is missing`;
  const test = it.skipIf(!isThere);
  const bearer = (credential: string) => `Authorization: Bearer ${credential}`;

  test(`says to the app who a session and a token are${skipped}`, async ({ expect }) => {
    const { session, token, teamId } = await newCustomer("gateway", "Customer");
    for (const method of ["GET", "POST"]) {
      expect(await send([bearer(session)], { method, body: "a=1" })).toBe(200);
      expect(reached).toMatchObject([{ headers: [[teamId], ["acme"], ["acme"], [AUDIENCE]], body: "a=1" }]);
    }
    expect(await send([bearer(token)])).toBe(200);
    expect(reached[0]?.headers.toSpliced(2, 1)).toEqual([[teamId], ["acme"], [AUDIENCE]]);
    expect(reached[0]?.headers[2]?.join("")).toBe("");
  });

  test(`admits viewers, and nobody else, whatever host a request names${skipped}`, async ({ expect }) => {
    const { session } = await newCustomer("gateway", "Customer");
    for (const host of ["localhost", "app.example.com"]) {
      expect(await send([bearer(session)], { host })).toBe(200);
      expect(reached).toHaveLength(1);
      expect(await send([], { host })).toBe(401);
    }
  });

  test(`passes on the longest ids, and whatever is in them${skipped}`, async ({ expect }) => {
    for (const id of [LONGEST_ID, 'a b\u2028"%0d%0a', "!'()*"]) {
      const { session } = await newCustomer("gateway", "Customer", id);
      expect(await send([bearer(session)])).toBe(200);
      const seen = reached[0]?.headers.map(([value = ""] = []) => decodeURIComponent(value));
      expect([seen?.[1], seen?.[2]]).toEqual([id, id]);
    }
  });

  test(`removes what clients send under these names, in each spelling${skipped}`, async ({ expect }) => {
    const { session, token, teamId } = await newCustomer("gateway", "Customer");
    const names = [...HEADERS, "x-http-method-override"].flatMap((each) =>
      // Each of the hyphens as an underscore, as a dot (PHP reads both as it) or not, in small letters, capitals, and as people write them.
      spellingsOf(each.split("-")).flatMap((spelling) => [
        spelling,
        spelling.toUpperCase(),
        spelling.replaceAll(/(^|[-_.])\w/g, (start) => start.toUpperCase()),
      ]),
    );
    for (const credential of [session, token])
      for (let at = 0; at < names.length; at += 150) {
        const forged = names.slice(at, at + 150).map((each) => `${each}: forged`);
        expect(await send([bearer(credential), ...forged], { method: "POST" })).toBe(200);
        expect(reached[0]?.override).toBeUndefined();
        expect(reached[0]?.headers.toSpliced(2, 1)).toEqual([[teamId], ["acme"], [AUDIENCE]]);
        expect(reached[0]?.headers[2]?.join("")).toBe(credential === session ? "acme" : "");
      }
    // Proxies remove the headers that Connection names (RFC 9110, section 7.6.1).
    for (const more of [[], ["Upgrade: websocket", "Connection: upgrade"]]) {
      const hop = `Connection: ${HEADERS.join(", ")}`;
      expect(await send([bearer(session), ...more, hop])).toBe(200);
      expect(reached[0]?.headers).toEqual([[teamId], ["acme"], ["acme"], [AUDIENCE]]);
    }
  });

  test(`lets nobody else through to the app${skipped}`, async ({ expect }) => {
    const own = await newCustomer("gateway", "Customer");
    const strangers = await Promise.all([
      newCustomer("gateway", "Testing"),
      newCustomer("gateway", null),
      newCustomer("gateway-too", "Customer"),
    ]);
    expect(await send([])).toBe(401);
    expect(await send([bearer("eyJhbGciOiJub25lIn0.eyJzdWIiOiJhY21lIn0.")])).toBe(401);
    for (const { session, token } of strangers)
      for (const credential of [session, token]) {
        expect(await send([bearer(credential)])).toBe(403);
        expect(reached).toEqual([]);
      }
    await own.client.suspend({ userGroupId: "acme" });
    expect(await send([bearer(own.session)])).toBe(403);
    await own.client.resume({ userGroupId: "acme" });
    await own.client.endSessions({ userGroupId: "acme" });
    expect(await send([bearer(own.session)])).toBe(401);
    expect(reached).toEqual([]);
  });

  test(`lets nobody through while the service hangs, is overloaded or fails${skipped}`, async ({ expect }) => {
    for (status of [undefined, 422, 429, 500, 503, 302]) {
      const answered = await send([bearer("eyJ.eyJ.x")], { to: portToWrong });
      expect([answered >= 300, reached]).toEqual([true, []]);
    }
  });
});
