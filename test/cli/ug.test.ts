import { execFileSync, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer as createTlsServer } from "node:https";
import { join } from "node:path";
import { setImmediate as immediate } from "node:timers/promises";
import type { Command } from "commander";
import { describe, expect, inject, it, onTestFinished, vi } from "vitest";
import { ugCommand } from "../../cli/src/grammar.ts";
import { causeOf, unreachable } from "../../cli/src/support/service.ts";
import { tableOf, tableOfItems } from "../../cli/src/support/table.ts";
import { connectionTo } from "../../cli/src/support/transport.ts";
import { UserGroupClient } from "../../client/src/index.ts";
import { hasOpenssl } from "../support/node/certificate.ts";
import { outcomeOf, runCommand, startCommand } from "../support/node/commands.ts";
import { newFolder } from "../support/node/new-folder.ts";
import { runIn } from "../support/node/service.ts";
import { standIn } from "../support/node/stand-in.ts";

const { url, key, folder, operatorToken } = inject("service");

/** A command line of `ug`. */
const ug = ([name = "", ...args]: readonly string[], env: NodeJS.ProcessEnv = {}) => runCommand(name, args, env);

/** The names of the commands that a help lists. */
const listedIn = (help: string): string[] => {
  const [commands = ""] = help.split("\nExamples:\n");
  const sections = commands.split("\n\n").filter((each) => /^[A-Z][\w ]*:\n/.test(each));
  return sections
    .filter((each) => !/^(?:Options|Arguments):/.test(each))
    .flatMap((each) => [...each.matchAll(/^ {2}(\w+)/gm)].map(([, name = ""]) => name));
};

it("has a help with examples for each command, and only commands of ug in them", async () => {
  const unseen: string[][] = [[]];
  const seen: string[] = [];
  for (let path = unseen.shift(); path; path = unseen.shift()) {
    const { status, stdout } = await ug([...path, "--help"]);
    expect([path, status]).toEqual([path, 0]);
    expect(stdout, `ug ${path.join(" ")} --help`).toMatch(
      /^Usage: ug[\s\S]*\n\nExamples:\n {2}# .*\n {2}\$ (\w+=\S+ )?(ug|npm start)\b/,
    );
    seen.push(path.join(" "));
    for (const name of listedIn(stdout)) unseen.push([...path, name]);
  }
  expect(seen).toEqual(
    expect.arrayContaining([
      "serve",
      "keys issue",
      "operators revoke",
      "environments list",
      "events",
      "whoami",
      "doctor",
    ]),
  );
  expect(seen).toEqual(expect.arrayContaining(["groups list", "groups rotate", "groups import"]));
});

it("prints its help without a command, and names the one that is unknown", async () => {
  const alone = await outcomeOf(runIn(folder, [process.execPath, "--", "cli/ug.mjs"]));
  expect([alone.status, alone.stdout.split("\n")[0]]).toEqual([0, "Usage: ug <command> [<subcommand>] [options]"]);
  expect(await ug(["frobnicate"])).toEqual({
    status: 2,
    stdout: "",
    stderr: "error: Unknown command 'frobnicate'; --help shows how.",
  });
  const group = await ug(["keys"]);
  expect([group.status, group.stdout]).toEqual([2, ""]);
  expect((await ug(["--version"])).stdout).toMatch(/^\d+\.\d+\.\d+$/);
});

it.for(["scripts/ug/main.ts", "scripts/ug.mjs"])("starts at %s, where it was in 1.0", async (file) => {
  const { stdout } = await outcomeOf(runIn(folder, [process.execPath, "--", file, "--version"]));
  expect(stdout).toBe((await ug(["--version"])).stdout);
});

/** The names of each group of commands, with those of the commands in it. */
async function namesByGroup(): Promise<[path: string[], commands: readonly Command[]][]> {
  const { commands } = await ugCommand();
  return [[[], commands], ...commands.map((each): [string[], readonly Command[]] => [[each.name()], each.commands])];
}

/** Options that only commands have that change something. */
const CHANGING = ["--reason", "--yes", "--persist-to", "--update", "--unsigned", "--create"];

it("suggests no command that changes something, whatever word is unknown", async () => {
  const groups = (await namesByGroup()).filter(([, commands]) => commands.length > 0);
  const names = groups.flatMap(([, commands]) => commands.map((each) => each.name()));
  const words = [...names, ...["merge", "create", "erased", "lst", "resore", "purgee", "revok", "isue"]];
  const suggested = new Set<string>();
  for (const [path, commands] of groups)
    for (const word of [...words, ...words.map((each) => `${each}s`), ...words.map((each) => each.slice(1))]) {
      if (commands.some((each) => each.name() === word)) continue;
      const { stderr } = await ug([...path, word]);
      const [, listed = ""] = /Did you mean (?:one of )?([a-z, ]+)\?/.exec(stderr) ?? [];
      for (const name of listed.split(", ").filter((each) => each !== "")) {
        suggested.add(name);
        const options = commands.find((each) => each.name() === name)?.options.map(({ long }) => long) ?? [];
        expect(
          options.filter((each) => CHANGING.includes(each ?? "")),
          `ug ${path.join(" ")} ${word} suggests ${name}`,
        ).toEqual([]);
      }
    }
  expect([...suggested].toSorted()).toEqual([
    ...[
      "backup",
      "completion",
      "context",
      "doctor",
      "environments",
      "events",
      "export",
      "groups",
      "keys",
      "list",
      "log",
    ],
    ...["operators", "prove", "sessions", "show", "whoami", "why"],
  ]);
});

it.for([
  ["groups", "rotate", "--al"],
  ["groups", "purge", "7", "--yess"],
  ["groups", "import", "x", "--updat"],
  ["operators", "revoke", "1", "--forc"],
  ["restore", "x", "--unsignd"],
  ["erase", "--confrm", "x"],
])("suggests no option with which a command does more: %j", async (line) => {
  const { status, stderr } = await ug(line, { API_KEY: key });
  expect([status, stderr]).toEqual([2, expect.not.stringContaining("Did you mean")]);
});

it("suggests an option with which a command does no more", async () => {
  expect((await ug(["groups", "list", "--prefx", "a"])).stderr).toContain("Did you mean --prefix?");
});

it("shows its commands in groups, with examples, exit codes and where to learn more", async () => {
  const { stdout } = await ug(["--help"]);
  const titles = [...stdout.matchAll(/^([A-Z][\w ]*):$/gm)].map(([, title]) => title);
  expect(titles).toEqual([
    ...["Options", "User groups", "Who may call", "Run the service", "Your database", "This command"],
    ...["Examples", "Credentials", "Other variables", "Exit codes", "Learn more"],
  ]);
  expect(stdout).not.toMatch(/^ {2}complete\b/m);
});

it("shows help and version as a command, too", async () => {
  expect(await ug(["help"])).toEqual(await ug(["--help"]));
  expect(await ug(["help", "groups", "list"])).toEqual(await ug(["groups", "list", "--help"]));
  expect(await ug(["version"])).toEqual(await ug(["--version"]));
  expect(await ug(["help", "frobnicate"])).toEqual(await ug(["frobnicate"]));
  expect(await ug(["help", "groups", "frobnicate"])).toEqual(await ug(["groups", "frobnicate"]));
});

it("aligns wide characters, and fits lists into 40 columns", () => {
  const rows = [
    ["id", "x"],
    ["日本", "x"],
    ["\uff21", "x"],
    ["ﾊﾝ", "x"],
    ["e\u0301\u0300", "x"],
    ["नि", "x"],
    ["🇩🇪👍🏽", "x"],
    ["한\u1112\u1161", "x"],
  ];
  const before = tableOf(rows)
    .split("\n")
    .map((line) => line.slice(0, -1));
  const blanks = [4, 2, 4, 4, 5, 5, 2, 2];
  expect(before).toEqual(rows.map(([cell = ""], index) => cell + " ".repeat(blanks[index] ?? 0)));
  const items = [{ team_id: 1, provided_id: "acme", created_at: "2026-01-31T09:00:00.000Z", suspended_reason: null }];
  const fields = Object.keys(items[0] ?? {});
  expect(tableOfItems(fields, items, 80).split("\n")).toHaveLength(2);
  expect(tableOfItems(fields, [...items, ...items], 40).split("\n\n")).toEqual(
    Array(2).fill("team_id: 1\nprovided_id: acme\ncreated_at: 2026-01-31T09:00:00.000Z\nsuspended_reason: -"),
  );
});

it.skipIf(spawnSync("script", ["--version"]).status !== 0)(
  "asks in a terminal for the name of what is lost",
  async () => {
    const groups = new UserGroupClient({ url, apiKey: key });
    const { group } = await groups.ensure({ userGroupId: "ug asked" });
    await groups.removeByNumber({ teamId: group.teamId });
    const purge = async (typed: string) => {
      const command = `${process.execPath} -- cli/ug.mjs groups purge ${group.teamId}`;
      const child = runIn(folder, ["script", "-qec", command, "/dev/null"], {
        ...process.env,
        SERVICE_URL: url,
        API_KEY: key,
        XDG_CONFIG_HOME: "/nonexistent",
      });
      child.stdin?.write(typed);
      const outcome = await outcomeOf(child);
      return [outcome.status, outcome.stdout];
    };
    expect(await purge("yes\n")).toEqual([
      1,
      expect.stringMatching(/Type ug asked to do it: [\s\S]*Not confirmed\. Nothing was changed\./),
    ]);
    expect(await purge("ug asked\n")).toEqual([0, expect.stringContaining(`Purged group ${group.teamId}`)]);
  },
);

describe("says why it cannot reach a service, and what to do, without a second try:", () => {
  it.skipIf(!hasOpenssl).for([
    ["a certificate that has expired", ["-days", "-1"], "localhost", true, "has expired. Renew it in the proxy."],
    [
      "a certificate of another host",
      ["-days", "2"],
      "example.com",
      true,
      "is of another host. Give the host that it names",
    ],
    [
      "a certificate that signs itself",
      ["-days", "2"],
      "localhost",
      false,
      "set NODE_EXTRA_CA_CERTS to the file of its certificate",
    ],
  ] as const)("%s", async ([, days, host, isTrusted, sentence]) => {
    const at = newFolder();
    const openssl = (...args: string[]) => execFileSync("openssl", args, { cwd: at, stdio: "ignore" });
    writeFileSync(join(at, "names"), `subjectAltName=DNS:${host}`);
    openssl(
      "req",
      "-new",
      "-newkey",
      "rsa:2048",
      "-nodes",
      "-keyout",
      "key",
      "-out",
      "request",
      "-subj",
      `/CN=${host}`,
    );
    openssl("x509", "-req", "-in", "request", "-signkey", "key", "-out", "cert", "-extfile", "names", ...days);
    let connections = 0;
    const server = createTlsServer({ key: readFileSync(join(at, "key")), cert: readFileSync(join(at, "cert")) });
    server.on("connection", () => {
      connections += 1;
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    onTestFinished(() => void server.close());
    const trust = isTrusted ? { NODE_EXTRA_CA_CERTS: join(at, "cert") } : {};
    const args = ["--url", `https://localhost:${Object(server.address()).port}`];
    const { status, stderr } = await outcomeOf(startCommand("whoami", args, { API_KEY: key, ...trust }));
    expect([status, stderr, connections]).toEqual([3, expect.stringContaining(sentence), 1]);
  });

  it.for([
    ["ENOTFOUND", "DNS knows no such host. Check the spelling of --url or SERVICE_URL."],
    ["EAI_AGAIN", "DNS does not answer. Check the network of this machine, and try again."],
    ["ERR_SSL_WRONG_VERSION_NUMBER", "does not speak TLS. Check the port."],
    ["ECONNREFUSED", "Start it, or give another as --url or SERVICE_URL."],
    ["EHOSTUNREACH", ": no route to host. Start it"],
  ] as const)("%s", ([code, sentence]) => {
    const cause = Object.assign(new Error("no route to host"), { code });
    for (const error of [
      new TypeError("fetch failed", { cause }),
      new TypeError("x", { cause: new AggregateError([cause]) }),
    ])
      expect(unreachable(new URL("https://x.example"), causeOf(error)).message).toContain(sentence);
  });
});

it("mints a session that a page can present, and prints nothing else", async () => {
  const groups = new UserGroupClient({ url, apiKey: key });
  await groups.ensure({ userGroupId: "ug minting", properties: { plan: "gold" } });
  const mint = (...args: string[]) =>
    ug(["sessions", "mint", "--user-group-id", "ug minting", ...args], { API_KEY: key });
  const options = '--viewer-id ann --viewer-properties {"store":7} --expires-in 2m'.split(" ");
  const { stdout, stderr, status } = await mint(...options);
  expect([status, stderr]).toEqual([0, expect.stringMatching(/^Valid until 20\S+Z\.$/)]);
  const { variables } = await groups.asViewer({ session: stdout }).view();
  expect(variables).toMatchObject({ "user_group.plan": "gold", viewer_id: "ann", "viewer.store": 7 });
  const json = await mint("--origin", "https://a.example.com", "--origin", "https://b.example.com", "--json");
  const { session } = JSON.parse(json.stdout);
  expect([json.stderr, session.expires_in_seconds]).toEqual(["", 300]);
  const claims = JSON.parse(Buffer.from(session.token.split(".")[1], "base64url").toString());
  expect(claims.origins).toEqual(["https://a.example.com", "https://b.example.com"]);
  const unknown = await ug(["sessions", "mint", "--user-group-id", "nobody", "--json"], { API_KEY: key });
  expect([unknown.status, JSON.parse(unknown.stdout).error.code]).toEqual([1, "user_group_not_found"]);
  const { teamId } = (await groups.ensure({ userGroupId: "ug minting" })).group;
  const byNumber = await ug(["sessions", "mint", "--team-id", String(teamId)], { API_KEY: key });
  expect((await groups.asViewer({ session: byNumber.stdout }).view()).group.teamId).toBe(teamId);
  expect((await mint("--team-id", String(teamId))).status).toBe(2);
  const where = ["--workspace", "demo", "--environment", "Testing"];
  expect((await ug(["sessions", "mint", "--user-group-id", "x"], { OPERATOR_TOKEN: operatorToken })).status).toBe(1);
  expect((await ug(["sessions", "mint", "--user-group-id", "x", ...where], {})).status).toBe(2);
});

it("suggests a command that changes nothing", async () => {
  expect((await ug(["groups", "lst"])).stderr).toBe(
    "error: Unknown command 'lst' (Did you mean list?); --help shows how.",
  );
});

const NOT_THERE = "http://127.0.0.1:1";

it.for([
  ["whoami"],
  ["groups", "show", "7"],
  ["groups", "export"],
  ["events"],
  ["environments", "list"],
  ["operators", "list"],
])("exits with 3 where the service cannot be reached: %j", async (line) => {
  const isOperators = ["environments", "operators"].includes(line[0] ?? "");
  const credential = isOperators ? { OPERATOR_KEY: "ugo_x" } : { API_KEY: key };
  const { status, stdout } = await ug([...line, "--url", NOT_THERE, "--json"], credential);
  expect([status, JSON.parse(stdout).error.code]).toEqual([3, "unreachable"]);
});

it.for([["whoami"], ["groups", "list"], ["groups", "export"], ["backup", "-", "--registry"]])(
  "waits 10 s for a service that accepts calls and never answers: %j",
  async (line) => {
    const { url: silent, received } = await standIn(() => "silence");
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const credential = line[0] === "backup" ? { OPERATOR_KEY: "ugo_x" } : { API_KEY: key };
    const ended = vi.fn();
    const outcome = ug([...line, "--url", silent], credential).finally(ended);
    while (received.length === 0) await immediate();
    vi.advanceTimersByTime(9_999);
    await immediate();
    expect(ended).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect([(await outcome).status, received.length]).toEqual([3, 1]);
  },
);

it("waits 10 s for each piece of the first answer, and then reports silence", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const { readable, writable } = new TextEncoderStream();
  const body = writable.getWriter();
  const fetched = vi.spyOn(globalThis, "fetch").mockImplementation(async (_, init) => {
    init?.signal?.addEventListener("abort", () => body.abort(init.signal?.reason));
    return new Response(readable);
  });
  onTestFinished(() => fetched.mockRestore());
  const answer = connectionTo(new URL(url)).fetch(url, {}).catch(String);
  for (const piece of ["one", "two", "three"]) {
    await immediate();
    await body.write(piece);
    await immediate();
    vi.advanceTimersByTime(9_999);
  }
  vi.advanceTimersByTime(1);
  expect(await answer).toContain("it takes calls and does not answer");
});

it("exits with 3 for an answer that is not the service's, and with 1 for a refusal", async () => {
  const other = await standIn(() => ({ status: 200, body: "<html>" }));
  expect((await ug(["whoami", "--url", other.url], { API_KEY: key })).status).toBe(3);
  expect((await ug(["whoami"], { API_KEY: "ugk_unknown" })).status).toBe(1);
});

it.for([
  ["an API key", () => ["whoami", key]],
  ["an operator's key in an option", () => ["keys", "list", `--workspace=ugo_${"x".repeat(60)}`]],
  ["a viewer session", () => ["events", "--cursor", "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJ4In0.c2ln"]],
] as const)("refuses %s as an argument, and does not repeat it", async ([, argsOf]) => {
  const args = argsOf();
  const { status, stdout, stderr } = await ug(args);
  expect([status, stdout]).toEqual([2, ""]);
  expect(stderr).toContain("looks like a credential");
  for (const arg of args) expect(arg.length < 20 || !stderr.includes(arg.slice(-20))).toBe(true);
});

it.for([
  ["an argument too many", ["whoami", "hunter2"]],
  ["an unknown command", ["hunter2"]],
  ["an unknown option", ["whoami", "--hunter2"]],
  ["a value that is no choice", ["operators", "issue", "--name", "x", "--role", "hunter2"]],
  ["a value with a quote that is no choice", ["operators", "issue", "--name", "x", "--role", "hunter2' is"]],
] as const)("does not repeat %s, which may be a secret", async ([, args]) => {
  for (const each of [args, [...args, "--json"]]) {
    const { status, stdout, stderr } = await ug(each);
    expect(status).toBe(2);
    expect(stdout + stderr).toMatch(/--help shows how\./);
    expect(stdout + stderr).not.toContain("hunter2");
  }
});

it("ends without a word when the reader of its output has ended", async () => {
  for (const args of [`environments list --url ${url}`, "keys --help"]) {
    const command = `node -- cli/ug.mjs ${args} | true; echo "\${PIPESTATUS[0]}"`;
    const { stdout, stderr } = await outcomeOf(runIn(folder, ["bash", "-c", command]));
    expect([stdout, stderr]).toEqual(["0", ""]);
  }
});

it("writes no colours into a pipe", async () => {
  for (const args of [["doctor"], ["keys"], ["--help"]]) {
    const [name = "", ...rest] = args;
    const { stdout, stderr } = await outcomeOf(startCommand(name, rest));
    expect(stdout + stderr).not.toContain("\u001b[");
  }
});

it("says what a credential may do", async () => {
  const asKey = await ug(["whoami", "--json"], { API_KEY: key });
  expect(JSON.parse(asKey.stdout)).toMatchObject({
    success: 1,
    caller: {
      kind: "api_key",
      workspace: "demo",
      environment: "Testing",
      scopes: expect.arrayContaining(["groups:read"]),
    },
  });
  const asOperator = await ug(["whoami"], { OPERATOR_TOKEN: operatorToken });
  expect(asOperator.stdout).toMatch(/^kind +operator\n[\s\S]*^role +admin$/m);
  const refused = await ug(["whoami", "--json"], { API_KEY: "ugk_wrong" });
  expect([refused.status, JSON.parse(refused.stdout)]).toMatchObject([
    1,
    { success: 0, error: { code: "unauthenticated" }, request_id: expect.any(String) },
  ]);
});

it("ends sessions, and names whose", async () => {
  const groups = new UserGroupClient({ url, apiKey: key });
  const { teamId } = (await groups.ensure({ userGroupId: "ug sessions" })).group;
  const mint = (viewerId: string) => groups.mintSession({ userGroupId: "ug sessions", viewerId });
  const statusOf = async ({ token }: { token: string }) =>
    (await fetch(`${url}/api/viewer`, { headers: { Authorization: `Bearer ${token}` } })).status;
  const [ann, bob, eve] = [await mint("ann"), await mint("bob"), await mint("eve")];
  const end = (...args: string[]) => ug(["sessions", "end", ...args], { API_KEY: key });
  const ofAnn = ["--user-group-id", "ug sessions", "--viewer-id", "ann"];
  expect((await end(...ofAnn)).stderr).toContain('This would end all sessions of viewer "ann" of group "ug sessions"');
  expect(await statusOf(ann)).toBe(200);
  expect((await end(...ofAnn, "--reason", "left", "--yes")).stdout).toBe(
    'Ended all sessions of viewer "ann" of group "ug sessions".',
  );
  expect([await statusOf(ann), await statusOf(bob)]).toEqual([401, 200]);
  const folder = newFolder();
  writeFileSync(join(folder, "session"), `${bob.token}\n`);
  expect((await end("--session-file", join(folder, "session"), "--yes")).status).toBe(0);
  expect([await statusOf(bob), await statusOf(eve)]).toEqual([401, 200]);
  for (const wrong of [
    ["--viewer-id", "eve"],
    ["--user-group-id", "ug sessions", "--team-id", String(teamId)],
    ["--session-file", join(folder, "session"), "--team-id", String(teamId)],
  ])
    expect((await end(...wrong, "--yes")).status).toBe(2);
  expect(await statusOf(eve)).toBe(200);
  expect((await end("--team-id", String(teamId), "--yes")).stdout).toBe(`Ended all sessions of group ${teamId}.`);
  expect(await statusOf(eve)).toBe(401);
  expect(JSON.parse((await end("--user-group-id", "nobody", "--yes", "--json")).stdout)).toMatchObject({
    success: 0,
    error: { code: "user_group_not_found" },
  });
});

/** What the checks of `ug doctor` have found, by name. */
async function diagnosed(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const { status, stdout, stderr } = await ug(["doctor", "--json", ...args], env);
  const { checks = [] } = JSON.parse(stdout) as { checks?: { check: string; level: string; message: string }[] };
  return { status, stderr, checks, of: (name: string) => checks.filter(({ check }) => check === name) };
}

it("finds nothing wrong with a service that works", async () => {
  const { status, checks } = await diagnosed([], { API_KEY: key });
  expect(status).toBe(0);
  expect(checks.filter(({ level }) => level === "failed" || level === "warning")).toEqual([]);
  expect(checks.map(({ check }) => check)).toEqual(
    expect.arrayContaining([
      "secrets",
      "reachable",
      "version",
      "ready",
      "public keys",
      "credential",
      "schema",
      "PUBLIC_URL",
    ]),
  );
});

it("finds a service that is not there, another server, a refused credential, and unusable settings", async () => {
  expect(await diagnosed(["--url", "http://127.0.0.1:1"])).toMatchObject({ status: 3 });
  const other = await standIn(() => ({ status: 200, body: "<p>" }));
  expect((await diagnosed(["--url", other.url])).of("reachable")[0]?.message).toContain(
    "is not the user group service",
  );
  expect((await diagnosed([], { API_KEY: "ugk_wrong" })).of("credential")).toMatchObject([{ level: "failed" }]);
  const unset = { success: 0, error: { code: "service_not_configured", message: "Not configured." } };
  const broken = await standIn(() => ({ status: 503, body: unset }));
  expect((await diagnosed(["--url", broken.url])).of("settings")).toMatchObject([{ level: "failed" }]);
});

it("reports public keys that are no JSON, or not an object of keys", async () => {
  for (const page of ["<p>", "null", '{"keys":1}']) {
    const { url: other } = await standIn(({ path }) =>
      path === "/health" ? { status: 200, body: { success: 1, version: "0.0.1" } } : { status: 200, body: page },
    );
    const { status, stderr, of } = await diagnosed(["--url", other]);
    expect([status, stderr]).toEqual([1, ""]);
    expect(of("public keys")).toMatchObject([{ level: "failed" }]);
  }
});

it("reports what is not ready", async () => {
  const body = { success: 0, error: { code: "not_ready", message: "Not ready.", failed: ["schema"] } };
  const { url: other } = await standIn(({ path }) =>
    path === "/ready" ? { status: 503, body } : { status: 200, body: { success: 1, version: "0.0.1" } },
  );
  const { status, of } = await diagnosed(["--url", other]);
  expect(status).toBe(1);
  expect(of("ready")).toMatchObject([{ level: "failed", message: expect.stringContaining("not ready: schema") }]);
});

it("reports a connection that breaks when it reads the public keys", async () => {
  const { url: other } = await standIn(({ path }) =>
    path === "/health" ? { status: 200, body: { success: 1, version: "0.0.1" } } : "drop",
  );
  const { status, of } = await diagnosed(["--url", other]);
  expect(status).toBe(1);
  expect(of("public keys")).toMatchObject([{ level: "failed", message: expect.stringContaining("cannot be read") }]);
});

it("finds a wrong clock, another version and a missing PUBLIC_URL", async () => {
  const { url: other } = await standIn(({ path }) => {
    const headers = { Date: new Date(Date.now() - 3_600_000).toUTCString() };
    if (path === "/health") return { status: 200, body: { success: 1, version: "0.0.1" }, headers };
    if (path === "/api/whoami")
      return {
        status: 200,
        body: {
          success: 1,
          caller: {
            kind: "api_key",
            id: 1,
            name: "x",
            workspace: "a",
            environment: null,
            scopes: [],
            expires_at: null,
          },
        },
      };
    if (path === "/.well-known/jwks.json") return { status: 200, body: { keys: [] } };
    return { status: 503, body: { success: 0, error: { code: "service_not_configured", message: "Not configured." } } };
  });
  const { status, of } = await diagnosed(["--url", other], { API_KEY: key });
  expect(status).toBe(1);
  expect(of("clock")).toMatchObject([{ level: "failed", message: expect.stringMatching(/differ by 360\d s/) }]);
  expect(of("version")).toMatchObject([{ level: "warning" }]);
  expect(of("public keys")).toMatchObject([{ level: "failed" }]);
  expect(of("PUBLIC_URL")).toMatchObject([{ level: "failed", message: expect.stringContaining("Set PUBLIC_URL") }]);
});

it("finds secrets that are missing, or that others can read, and prints none", async () => {
  const state = newFolder();
  const file = join(state, "env");
  writeFileSync(file, "SIGNING_KEYS=\nOPERATOR_TOKEN=short-secret\n", { mode: 0o644 });
  const { of, stderr } = await diagnosed(["--env-file", file]);
  expect(of("secrets").map(({ level }) => level)).toEqual(["failed", "failed", "warning"]);
  expect(JSON.stringify(of("secrets")) + stderr).not.toContain("short-secret");
  expect((await diagnosed(["--env-file", join(state, "nowhere")])).of("secrets")).toMatchObject([{ level: "failed" }]);
  for (const [token, level] of [
    [operatorToken, "ok"],
    ["x".repeat(operatorToken.length), "failed"],
  ] as const) {
    writeFileSync(file, `OPERATOR_TOKEN=${token}\n`);
    expect((await diagnosed(["--env-file", file])).of("credential")).toMatchObject([{ level }]);
  }
});
