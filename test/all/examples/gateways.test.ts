import { type ChildProcess, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { OperatorClient, UserGroupClient } from "../../../client/src/index.ts";
import { freePort } from "../../support/node/free-port.ts";
import {
  endGroup,
  freshCopy,
  type RunningService,
  removeCopy,
  runIn,
  startService,
  waitUntil,
} from "../../support/node/service.ts";

/** The recipes for gateways, in a real nginx and a real Caddy, before apps that show what reaches them. */

const AUDIENCE = "gateway/Customer";
/** Three bytes of UTF-8 each, which become nine characters of a header. */
const LONGEST_ID = "株".repeat(255);
const HEADERS = ["x-user-group-team-id", "x-user-group-id", "x-viewer-id", "x-user-group-audience"];
/** What else clients must not choose: the method, and the address by which the service counts refusals. */
const ALSO_REMOVED = ["x-http-method-override", "x-real-ip"];
/** The marks that the name of a header may have besides the hyphen (RFC 9110, section 5.6.2). */
const MARKS = [..."!#$%&'*+.^_`|~"];
const PAGE = readFileSync("docs/integrators/gateways.md", "utf8");

/** Apps that answer with a line for each header, as CGI names it. Those behind lighttpd are files in its folder. */
const CGI_FILES = {
  "headers.sh": `printf 'Content-Type: text/plain\\r\\n\\r\\n'; env`,
  "headers.php": `<?php foreach (array_filter($_SERVER, "is_string") as $name => $value) $lines[] = "$name=$value"; echo implode("\\n", $lines);`,
};

type Gateway = {
  name: string;
  program: readonly [string, ...string[]];
  text: (recipe: string, root: string) => string;
  file: string;
  /** Its answer to a client with too many wrong credentials, and the address of that client in its tests. */
  limited: number;
  stranger: string;
  /** The recipe, so that the app gets the header X-CSRF-Token. */
  keepingOne: (recipe: string) => string;
};

const GATEWAYS: Gateway[] = [
  {
    name: "nginx",
    file: "nginx.conf",
    limited: 500,
    stranger: "127.0.0.2",
    keepingOne: (recipe) => recipe,
    program: ["nginx", "-e", "stderr", "-c"],
    text: (recipe, root) => `daemon off; worker_processes 1; pid ${root}/pid; error_log stderr crit;
      events {} http { access_log off; ${["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((name) => `${name}_temp_path ${root}/${name};`).join(" ")}
      ${recipe}
      }`,
  },
  {
    name: "caddy",
    file: "Caddyfile",
    limited: 429,
    stranger: "127.0.0.3",
    keepingOne: (recipe) =>
      recipe.replace("request_header -X*", /^ {4}vars csrf_token[\s\S]*?csrf_token}$/m.exec(PAGE)?.[0] ?? ""),
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

/** A name with each of these marks between its parts. */
const withMarks = (name: string, marks: string[]): string[] => {
  const [first = "", ...rest] = name.split("-");
  return rest.reduce((begun, part) => begun.flatMap((each) => marks.map((mark) => each + mark + part)), [first]);
};

/** A name with each mark in the place of each of its hyphens, in small letters, capitals, and as people write it. */
const spellingsOf = (name: string): string[] => {
  const marked = [["-", "_", "."], ...MARKS.map((mark) => ["-", mark])].flatMap((marks) => withMarks(name, marks));
  return [...new Set(marked)].flatMap((each) => [
    each,
    each.toUpperCase(),
    each.replaceAll(/(^|[^a-z])[a-z]/g, (start) => start.toUpperCase()),
  ]);
};

const isInstalled = (program: string) => spawnSync(program, ["-h"]).error === undefined;

let service: RunningService;
let lighttpd: ChildProcess | undefined;
let cgiPort = 0;
const folder = mkdtempSync(join(tmpdir(), "gateway-apps-"));
const APPS = [
  { app: "Node", programs: [], path: "/reports" },
  { app: "CGI with lighttpd", programs: ["lighttpd"], path: "/headers.sh" },
  { app: "PHP with lighttpd", programs: ["lighttpd", "php-cgi"], path: "/headers.php" },
];

beforeAll(async () => {
  const options = ["--var", "PUBLIC_URL:https://groups.example.com", "--client-address-header", "X-Real-IP"];
  service = await startService(freshCopy({ hasPages: false }), options);
  if (!isInstalled("lighttpd")) return;
  cgiPort = await freePort();
  const php = spawnSync("sh", ["-c", "command -v php-cgi"], { encoding: "utf8" }).stdout.trim();
  const lines = [
    `server.document-root = "${folder}"`,
    `server.bind = "127.0.0.1"`,
    `server.port = ${cgiPort}`,
    `server.modules = ("mod_cgi")`,
    `cgi.assign = (".sh" => "/bin/sh"${php && `, ".php" => "${php}"`})`,
  ];
  for (const [name, text] of Object.entries({ ...CGI_FILES, "lighttpd.conf": lines.join("\n") }))
    writeFileSync(join(folder, name), text);
  lighttpd = runIn(folder, ["lighttpd", "-D", "-f", join(folder, "lighttpd.conf")]);
  await waitUntil(() => answers(cgiPort), "lighttpd answered");
});
afterAll(async () => {
  if (lighttpd) await endGroup(lighttpd, "SIGTERM");
  rmSync(folder, { recursive: true, force: true });
  await service?.stop();
  if (service) removeCopy(service.folder);
});

const answers = (port: number) =>
  fetch(`http://127.0.0.1:${port}`).then(
    () => true,
    () => false,
  );

describe.for(GATEWAYS)("$name", ({ name, file, program, text: configOf, keepingOne, limited, stranger }) => {
  const isThere = isInstalled(program[0]);
  const root = mkdtempSync(join(tmpdir(), "gateway-"));
  let reached: { headers: (string | undefined)[][]; body: string }[] = [];
  const app = createServer(async (request, response) => {
    const headers = HEADERS.map((each) => spelled(request, each));
    reached.push({ headers, body: await text(request) });
    const lines = Object.entries(request.headers).map(
      ([each, value]) => `HTTP_${each.toUpperCase().replaceAll(/[^A-Z0-9]/g, "_")}=${value}`,
    );
    response.end(lines.join("\n"));
  });
  /** What the gateway has answered last. */
  let answered = "";
  /** Answers nothing, or a status of its own. */
  let status: number | undefined;
  const wrong = createServer((_, response) => void (status && response.writeHead(status).end()));
  const gateways: ChildProcess[] = [];
  let port = 0;
  let portToWrong = 0;
  let portToCgi = 0;
  let portThatKeeps = 0;

  /** Starts the recipe, for a service at this address. Only addresses and times differ from the file. */
  async function start(host: string, appPort: number, change = (recipe: string) => recipe): Promise<number> {
    const own = await freePort();
    const recipe = change(readFileSync(join("examples/gateways", file), "utf8"))
      .replaceAll("127.0.0.1:8787", host)
      .replaceAll("127.0.0.1:3000", `127.0.0.1:${appPort}`)
      .replaceAll(":8080", `:${own}`)
      .replaceAll("acme/Customer", AUDIENCE)
      .replaceAll("10s", "1s");
    const config = join(root, `config-${own}`);
    writeFileSync(config, configOf(recipe, root));
    gateways.push(runIn(root, [program[0], ...program.slice(1), config], { HOME: root }));
    await waitUntil(() => answers(own), `${name} answered`);
    return own;
  }

  beforeAll(async () => {
    if (!isThere) return;
    const appPort = await listen(app);
    const { host } = new URL(service.url);
    port = await start(host, appPort);
    portThatKeeps = await start(host, appPort, keepingOne);
    if (lighttpd) portToCgi = await start(host, cgiPort);
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
    { method = "GET", body = "", to = port, host = "127.0.0.1", path = "/reports", from = "127.0.0.1" } = {},
  ): Promise<number> {
    reached = [];
    const socket = connect({ port: to, host: "127.0.0.1", localAddress: from });
    const head = [`${method} ${path} HTTP/1.1`, `Host: ${host}:${to}`, "Connection: close", ...lines];
    socket.write([...head, ...(body ? [`Content-Length: ${body.length}`] : []), "", body].join("\r\n"));
    answered = await text(socket);
    return Number(answered.split(" ")[1]);
  }

  /** The header as the app has read it, by its name in CGI. */
  const read = (header: string) =>
    new RegExp(`^HTTP_${header.toUpperCase().replaceAll("-", "_")}=(.*?)\r?$`, "m").exec(answered)?.[1];

  /** Makes an environment's first group and its credentials. */
  async function newCustomer(workspace: string, environment: "Customer" | "Testing" | null, userGroupId = "acme") {
    const { url, operatorToken } = service;
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

  test(`says to the app who a session and a token are${skipped}`, async () => {
    const { session, token, teamId } = await newCustomer("gateway", "Customer");
    for (const method of ["GET", "POST"]) {
      expect(await send([bearer(session)], { method, body: "a=1" })).toBe(200);
      expect(reached).toMatchObject([{ headers: [[teamId], ["acme"], ["acme"], [AUDIENCE]], body: "a=1" }]);
    }
    expect(await send([bearer(token)])).toBe(200);
    expect(reached[0]?.headers.toSpliced(2, 1)).toEqual([[teamId], ["acme"], [AUDIENCE]]);
    expect(reached[0]?.headers[2]?.join("")).toBe("");
  });

  test(`admits viewers, and nobody else, whatever host a request names${skipped}`, async () => {
    const { session } = await newCustomer("gateway", "Customer");
    for (const host of ["localhost", "app.example.com"]) {
      expect(await send([bearer(session)], { host })).toBe(200);
      expect(reached).toHaveLength(1);
      expect(await send([], { host })).toBe(401);
    }
  });

  test(`passes on the longest ids, and whatever is in them${skipped}`, async () => {
    for (const id of [LONGEST_ID, 'a b\u2028"%0d%0a', "!'()*"]) {
      const { session } = await newCustomer("gateway", "Customer", id);
      expect(await send([bearer(session)])).toBe(200);
      const seen = reached[0]?.headers.map(([value = ""] = []) => decodeURIComponent(value));
      expect([seen?.[1], seen?.[2]]).toEqual([id, id]);
    }
  });

  for (const { app: kind, programs, path } of APPS) {
    const missing = [program[0], ...programs].find((each) => !isInstalled(each));
    const skip = missing === undefined ? "" : `, skipped: ${missing} is missing`;
    it.skipIf(missing)(`removes forged headers in any spelling before ${kind}${skip}`, async () => {
      const { session, token, teamId } = await newCustomer("gateway", "Customer");
      const names = [...HEADERS, ...ALSO_REMOVED].flatMap(spellingsOf);
      // No name may have these marks. A gateway refuses or removes them.
      const hostile = [" ", "/", "[", "(", "\u00e9", "\0"].map((mark) => `x${mark}user-group-team-id`);
      const to = path === "/reports" ? port : portToCgi;
      for (const credential of [session, token]) {
        for (let at = 0; at < names.length; at += 150) {
          const forged = names.slice(at, at + 150).map((each) => `${each}: forged`);
          expect(await send([bearer(credential), ...forged], { method: "POST", body: "a=1", path, to })).toBe(200);
          expect(answered).not.toContain("forged");
          expect([...HEADERS.toSpliced(2, 1), "x-real-ip"].map(read)).toEqual([teamId, "acme", AUDIENCE, "127.0.0.1"]);
          expect(read("x-viewer-id") ?? "").toBe(credential === session ? "acme" : "");
        }
        for (const each of hostile) {
          await send([bearer(credential), `${each}: forged`], { path, to });
          expect(answered).not.toContain("forged");
        }
      }
    });
  }

  test(`removes no header because a client names it in Connection${skipped}`, async () => {
    const { session, teamId } = await newCustomer("gateway", "Customer");
    // Proxies remove the headers that Connection names (RFC 9110, section 7.6.1).
    for (const more of [[], ["Upgrade: websocket", "Connection: upgrade"]]) {
      const hop = `Connection: ${[...HEADERS, "x-real-ip"].join(", ")}`;
      expect(await send([bearer(session), ...more, hop])).toBe(200);
      expect(reached[0]?.headers).toEqual([[teamId], ["acme"], ["acme"], [AUDIENCE]]);
      expect(read("x-real-ip")).toBe("127.0.0.1");
    }
  });

  test(`passes on a header that the app needs${skipped}`, async () => {
    const { session } = await newCustomer("gateway", "Customer");
    const forged = ["X-CSRF~Token: forged", "X-User~Group-Id: forged"];
    expect(await send([bearer(session), "x-csrf-token: one", ...forged], { to: portThatKeeps })).toBe(200);
    expect([read("x-csrf-token"), read("x-user-group-id")]).toEqual(["one", "acme"]);
    expect(answered).not.toContain("forged");
  });

  test(`passes on or replaces X-Forwarded-For as the page says${skipped}`, async () => {
    const { session } = await newCustomer("gateway", "Customer");
    const forwarded = ["X-Forwarded-For: client", "X-Forwarded-Host: client", "X-Forwarded-Proto: client"];
    expect(await send([bearer(session), ...forwarded])).toBe(200);
    const got = ["for", "host", "proto"].map((each) => read(`x-forwarded-${each}`));
    expect(got).toEqual(name === "caddy" ? ["127.0.0.1", `127.0.0.1:${port}`, "http"] : Array(3).fill("client"));
  });

  test(`counts junk by the address of its client, whatever address that names${skipped}`, async () => {
    const { session } = await newCustomer("gateway", "Customer");
    const junk = (n: number) => send([bearer(`junk-${n}`), `X-Real-IP: 127.1.0.${n % 250}`], { from: stranger });
    const statuses = new Set<number>();
    // The service refuses 600 of an address in a minute, and another minute may begin meanwhile.
    for (let sent = 0; sent < 1300 && !statuses.has(limited); sent += 50)
      for (const status of await Promise.all(Array.from({ length: 50 }, (_, n) => junk(sent + n))))
        statuses.add(status);
    expect([...statuses]).toEqual([401, limited]);
    for (const credential of [[], [bearer("junk")]]) expect(await send(credential)).toBe(401);
    for (const from of [stranger, "127.0.0.1"]) expect(await send([bearer(session)], { from })).toBe(200);
  });

  test(`lets nobody else through to the app${skipped}`, async () => {
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

  test(`lets nobody through while the service hangs, is overloaded or fails${skipped}`, async () => {
    for (status of [undefined, 422, 429, 500, 503, 302]) {
      const answered = await send([bearer("eyJ.eyJ.x")], { to: portToWrong });
      expect([answered >= 300, reached]).toEqual([true, []]);
    }
  });
});
