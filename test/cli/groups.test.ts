import { type ChildProcess, execFileSync } from "node:child_process";
import { once } from "node:events";
import { createWriteStream, existsSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import fc from "fast-check";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import { linesOf } from "../../cli/src/support/lines.ts";
import { type Outcome, outcomeOf, runCommand, startCommand, withoutCredential } from "../support/node/commands.ts";
import { newFolder } from "../support/node/new-folder.ts";
import { printedOn } from "../support/node/printed.ts";
import { endGroup, runIn, waitUntil } from "../support/node/service.ts";
import { type Received, type Reply, standIn } from "../support/node/stand-in.ts";

const { url, folder, operatorToken } = inject("service");

/** Runs a command in a terminal (util-linux). */
const SCRIPT = "/usr/bin/script";
/** Makes a pipe with a name (coreutils). */
const MKFIFO = "/usr/bin/mkfifo";

/** A file of these lines. Objects are written as JSON. */
function fileOf(lines: (string | object)[], ending = "\n"): string {
  const file = join(newFolder(), "groups.ndjson");
  const texts = lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line)));
  writeFileSync(file, texts.map((line) => line + ending).join(""));
  return file;
}

/** A key of a workspace of its own, so that no other test's groups are in its lists. */
async function newKey(workspace: string, fields: object = {}): Promise<string> {
  const response = await fetch(`${url}/api/keys`, {
    method: "POST",
    headers: { Authorization: `Token ${operatorToken}`, "Content-Type": "application/json" },
    body: JSON.stringify({ workspace: `groups-${workspace}`, environment: "Testing", name: "x", ...fields }),
  });
  return ((await response.json()) as { key: string }).key;
}

const groups = (args: readonly string[], apiKey: string, at = url): Promise<Outcome> =>
  withoutCredential(runCommand("groups", args, { API_KEY: apiKey, SERVICE_URL: at }));

const withOutcome = (child: ChildProcess) => ({ child, outcome: withoutCredential(outcomeOf(child)) });

/** Starts the command in a process of its own. */
const startGroups = (args: readonly string[], apiKey: string, at = url) =>
  withOutcome(startCommand("groups", args, { API_KEY: apiKey, SERVICE_URL: at }));

/** Starts the command as the README does. npm passes signals on to its shell alone. */
const startByNpx = (args: readonly string[], apiKey: string, at = url) =>
  withOutcome(runIn(folder, ["npx", "ug", "groups", ...args], { API_KEY: apiKey, SERVICE_URL: at }));

const idsOf = (stdout: string): string[] =>
  stdout
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line).provided_id);

/** A service in place of the real one, which gets the id of the group in each call. Returns its address. */
const serviceWith = async (reply: (id: string, request: Received) => Reply | Promise<Reply>): Promise<string> =>
  (await standIn((request) => reply(request.body && JSON.parse(request.body).user_group_id, request))).url;

const ok = (body: object, headers: Record<string, string> = {}): Reply => ({
  status: 200,
  body: { success: 1, ...body },
  headers,
});
const CREATED = ok({ new_user_group: true });

const refusal = (status: number, code: string, message: string, headers: Record<string, string> = {}): Reply => ({
  status,
  body: { success: 0, error: { code, message } },
  headers,
});

describe("import and export", () => {
  const LINES = [
    { user_group_id: "plain" },
    {
      user_group_id: "full",
      name: "Füll 😀",
      mapping: { s: "d" },
      properties: { 2: [1.5, null], 1: { "\u2028": "\u2029" } },
    },
    '{"user_group_id":"\u2028 raw","properties":{"__proto__":{"a":"\u2028\u2029"}}}',
    { user_group_id: "cleared", name: "C", mapping: null, properties: null },
  ];

  it("imports what an export returns, and finds it the second time", async () => {
    const key = await newKey("round-trip");
    const file = fileOf(LINES);
    expect(await groups(["import", file], key)).toEqual({
      status: 0,
      stdout: "created 4, found 0, differs 0, refused 0",
      stderr: "",
    });
    expect(await groups(["import", file], key)).toMatchObject({
      status: 0,
      stdout: "created 0, found 4, differs 0, refused 0",
    });

    const exported = await groups(["export"], key);
    expect(exported).toMatchObject({ status: 0, stderr: "" });
    const out = exported.stdout.split("\n").map((line) => JSON.parse(line));
    const put = LINES.map((line) => JSON.parse(typeof line === "string" ? line : JSON.stringify(line)));
    const byId = (id: string) => out.find(({ provided_id: providedId }) => providedId === id);
    expect(out).toHaveLength(4);
    for (const { user_group_id: id, name = id, mapping = null, properties = null } of put) {
      const { team_id: teamId, created_at: createdAt, updated_at: updatedAt, last_viewed_on: _, ...fields } = byId(id);
      expect(JSON.stringify(fields)).toBe(
        JSON.stringify({ provided_id: id, name, mapping, properties, api_environment_tag: "Testing", state: "active" }),
      );
      expect(teamId).toBeGreaterThan(0);
      expect(Date.parse(createdAt)).toBe(Date.parse(updatedAt));
    }
  });

  it("imports the lines of an export as they are, from standard input too", async () => {
    const source = await newKey("source");
    await groups(["import", fileOf(LINES)], source);
    const { stdout } = await groups(["export"], source);
    const target = await newKey("target");
    const { child, outcome } = startGroups(["import", "-", "--concurrency", "1"], target);
    child.stdin?.end(stdout);
    expect(await outcome).toMatchObject({ status: 0, stdout: "created 4, found 0, differs 0, refused 0" });
    const withoutTimes = (lines: string) =>
      lines.replaceAll(/"(created|updated)_at":"[^"]+"/g, "").replaceAll(/"team_id":\d+/g, "");
    expect(withoutTimes((await groups(["export"], target)).stdout)).toBe(withoutTimes(stdout));
  });

  it("imports lines after a byte order mark, which Windows writes", async () => {
    const key = await newKey("bom");
    const file = fileOf(['\ufeff{"user_group_id":"a"}', '{"user_group_id":"b"}'], "\r\n");
    expect((await groups(["import", file], key)).stdout).toContain("created 2, found 0, differs 0, refused 0");
  });

  it("exports groups with their state, and imports a suspended one suspended", async () => {
    const source = await newKey("suspended");
    await groups(["import", fileOf([{ user_group_id: "late" }])], source);
    await groups(["suspend", "--id", "late"], source);
    const { stdout } = await groups(["export"], source);
    expect(JSON.parse(stdout).state).toBe("suspended");
    const target = await newKey("kept");
    expect(await groups(["import", fileOf([stdout])], target)).toEqual({
      status: 0,
      stdout: "created 1, found 0, differs 0, refused 0",
      stderr: "",
    });
    expect(JSON.parse((await groups(["export"], target)).stdout).state).toBe("suspended");
    expect((await groups(["import", fileOf([stdout])], target)).stdout).toBe(
      "created 0, found 1, differs 0, refused 0",
    );
  });

  it("suspends a new group by its next call", async () => {
    const bodies: unknown[] = [];
    const at = await serviceWith((_, { method, path, headers, body }) => {
      bodies.push([method, path, headers["if-match"], JSON.parse(body)]);
      return ok({ new_user_group: true, user_group: { team_id: 7 } }, { ETag: '"7.1"' });
    });
    await groups(["import", fileOf([{ user_group_id: "late", name: "L", state: "suspended" }])], "key", at);
    expect(bodies).toEqual([
      ["POST", "/api/user", undefined, { user_group_id: "late", name: "L" }],
      ["PUT", "/api/user_groups/7", '"7.1"', { suspended: true }],
    ]);
  });

  it("refuses the lines of groups that are deleted, and of states that do not exist", async () => {
    const lines = ["deleted", "paused", null].map((state) => ({ user_group_id: "x", state }));
    const key = await newKey("states");
    const { status, stdout, stderr } = await groups(["import", fileOf(lines)], key);
    expect({ status, stdout }).toEqual({ status: 1, stdout: "created 0, found 0, differs 0, refused 3" });
    expect(stderr).toContain("line 1: invalid_body: Give the state active or suspended");
    expect((await groups(["export"], key)).stdout).toBe("");
  });

  const EXISTING = [
    { user_group_id: "name", name: "first" },
    { user_group_id: "properties", properties: { a: 1, b: [{ c: null }] } },
    { user_group_id: "mapping", mapping: { s: "d" } },
    { user_group_id: "state" },
    { user_group_id: "same", name: "S", mapping: { s: "d" }, properties: { a: 1 } },
  ];
  const EDITED = [
    { user_group_id: "name", name: "second" },
    { user_group_id: "properties", properties: { a: 1, b: [{ c: 0 }] } },
    { user_group_id: "mapping", mapping: null },
    { user_group_id: "state", state: "suspended" },
    { user_group_id: "same", state: "active" },
  ];
  const contentOf = (stdout: string) =>
    stdout.split("\n").map((line) => {
      const { provided_id: id, name, mapping, properties, state } = JSON.parse(line);
      return [id, name, mapping, properties, state];
    });

  it("counts the groups that differ from their lines, and changes none", async () => {
    const key = await newKey("unchanged");
    await groups(["import", fileOf(EXISTING), "--concurrency", "1"], key);
    const before = (await groups(["export"], key)).stdout;
    expect(await groups(["import", fileOf(EDITED)], key)).toEqual({
      status: 1,
      stdout: "created 0, found 5, differs 4, refused 0",
      stderr: "Groups that differ from their lines: 4. To change them, add --update.",
    });
    expect((await groups(["export"], key)).stdout).toBe(before);
  });

  it("changes with --update what differs, and nothing else", async () => {
    const key = await newKey("updated");
    await groups(["import", fileOf(EXISTING), "--concurrency", "1"], key);
    const update = ["import", fileOf([...EDITED, { user_group_id: "new" }]), "--update", "--concurrency", "1"];
    expect(await groups(update, key)).toEqual({
      status: 0,
      stdout: "created 1, found 5, updated 4, conflicts 0, refused 0",
      stderr: `At ${url}: create the groups that are missing, and change those that differ.`,
    });
    expect(contentOf((await groups(["export"], key)).stdout)).toEqual([
      ["name", "second", null, null, "active"],
      ["properties", "properties", null, { a: 1, b: [{ c: 0 }] }, "active"],
      ["mapping", "mapping", null, null, "active"],
      ["state", "state", null, null, "suspended"],
      ["same", "S", { s: "d" }, { a: 1 }, "active"],
      ["new", "new", null, null, "active"],
    ]);
    expect((await groups(update, key)).stdout).toBe("created 0, found 6, updated 0, conflicts 0, refused 0");
  });

  it("changes nothing when an export is imported with --update", async () => {
    const key = await newKey("export-update");
    await groups(["import", fileOf([...LINES, { user_group_id: "late", state: "suspended" }])], key);
    const exported = (await groups(["export"], key)).stdout;
    const feed = async () => (await runCommand("events", ["--json"], { API_KEY: key, SERVICE_URL: url })).stdout;
    const before = await feed();
    const file = fileOf([exported]);
    expect((await groups(["import", file, "--update"], key)).stdout).toBe(
      "created 0, found 5, updated 0, conflicts 0, refused 0",
    );
    expect((await groups(["export"], key)).stdout).toBe(exported);
    expect(await feed()).toBe(before);
  });

  it("reports a group that somebody else changes meanwhile, and does not overwrite it", async () => {
    let puts = 0;
    const at = await serviceWith((_, { method }) => {
      const group = { team_id: 1, name: `name ${puts}`, mapping: null, properties: null, state: "active" };
      if (method === "POST") return ok({ new_user_group: false, user_group: group }, { ETag: '"1.1"' });
      if (method === "GET") return ok({ user_group: group }, { ETag: `"1.${puts + 1}"` });
      puts += 1;
      return refusal(412, "revision_mismatch", "Changed.");
    });
    const file = fileOf([{ user_group_id: "a", name: "mine" }]);
    const { status, stdout, stderr } = await groups(["import", file, "--update"], "key", at);
    expect([status, stdout, puts]).toEqual([1, "created 0, found 1, updated 0, conflicts 1, refused 0", 1]);
    expect(stderr).toContain("line 1: revision_mismatch: Somebody else changed this group");
  });

  it("prints its counts as JSON", async () => {
    const key = await newKey("import-json");
    const done = await groups(["import", fileOf([{ user_group_id: "a" }]), "--json"], key);
    expect([done.status, JSON.parse(done.stdout)]).toMatchObject([0, { success: 1, created: 1, found: 0, refused: 0 }]);
    const refused = await groups(["import", fileOf([{ user_group_id: "a" }, {}]), "--json"], key);
    expect([refused.status, JSON.parse(refused.stdout)]).toMatchObject([1, { success: 0, found: 1, refused: 1 }]);
  });

  it("reports a group that is deleted while it is compared, and continues", async () => {
    const at = await serviceWith((id, { method }) =>
      method === "GET"
        ? refusal(404, "user_group_not_found", "Gone.")
        : ok({ new_user_group: id !== "gone", user_group: { team_id: 1 } }, { ETag: '"1.1"' }),
    );
    const file = fileOf([{ user_group_id: "gone" }, { user_group_id: "new" }]);
    expect(await groups(["import", file], "key", at)).toEqual({
      status: 1,
      stdout: "created 1, found 1, differs 0, refused 1",
      stderr: "line 1: user_group_not_found: Gone.",
    });
  });

  it("reads many pages, and filters", async () => {
    const key = await newKey("pages");
    const ids = Array.from({ length: 1100 }, (_, index) => `${index % 2 === 0 ? "even" : "odd"} ${index}`);
    const imported = await groups(
      ["import", fileOf(ids.map((id) => ({ user_group_id: id }))), "--concurrency", "32"],
      key,
    );
    expect(imported).toMatchObject({ status: 0, stdout: "created 1100, found 0, differs 0, refused 0" });
    expect(idsOf((await groups(["export"], key)).stdout).toSorted()).toEqual(ids.toSorted());
    const even = idsOf((await groups(["export", "--prefix", "even "], key)).stdout);
    expect(even.toSorted()).toEqual(ids.filter((id) => id.startsWith("even ")).toSorted());
  });

  it("exports no character that a terminal interprets, and the same JSON", async () => {
    const group = {
      provided_id: "\u009b31m\u0080\u2028",
      properties: { "\u007f\u0085": ["\u2029", "\u009d0;title\u0007", "é😀\u00a0\u00ad"] },
    };
    const at = await serviceWith(() => ok({ user_groups: [group], next_cursor: null }));
    const { stdout } = await groups(["export"], "key", at);
    expect(stdout).not.toMatch(/[\p{Cc}\u2028\u2029]/u);
    expect(stdout).toContain('"provided_id":"\\u009b31m\\u0080\\u2028"');
    expect(stdout).toContain("é😀");
    expect(JSON.parse(stdout)).toEqual(group);
  });

  it("exports through pages without any group", async () => {
    const cursors: (string | null)[] = [];
    const at = await serviceWith((_, { path }) => {
      const cursor = new URL(path, url).searchParams.get("cursor");
      cursors.push(cursor);
      const next = cursors.length < 4 ? `c${cursors.length}` : null;
      const found = cursors.length % 2 === 0 ? [{ provided_id: `p${cursors.length}` }] : [];
      return ok({ user_groups: found, next_cursor: next });
    });
    expect(idsOf((await groups(["export"], "key", at)).stdout)).toEqual(["p2", "p4"]);
    expect(cursors).toEqual([null, "c1", "c2", "c3"]);
  });

  it("fails with a sentence when the reader of an export closes its pipe", async () => {
    const page = Array.from({ length: 1000 }, () => ({ provided_id: "x".repeat(200) }));
    const at = await serviceWith(() => ok({ user_groups: page, next_cursor: "more" }));
    const { child, outcome } = startGroups(["export"], "key", at);
    child.stdout?.once("data", () => child.stdout?.destroy());
    expect(await outcome).toMatchObject({
      status: 1,
      stderr: "Standard output was closed before the export was complete.",
    });
  });
});

describe("refused lines", () => {
  it("are reported with their numbers, and the others are imported", async () => {
    const key = await newKey("refused");
    const file = fileOf(
      [
        { user_group_id: "first" },
        "",
        "nonsense",
        "[1]",
        { user_group_id: "x0", propertes: {} },
        '{"user_group_id":"x1","properties":{"n":12345678901234567890}}',
        '{"user_group_id":"x","name":"a","name":"b"}',
        { user_group_id: "", name: "" },
        { name: "without an id" },
        { user_group_id: "x2", provided_id: "y" },
        { user_group_id: "x3", properties: "p".repeat(70_000) },
        { user_group_id: "x", properties: "p".repeat(1_100_000) },
        { user_group_id: "x4", mapping: { "\u001b[31m": 1 } },
        '""',
        { user_group_id: "last" },
      ],
      "\r\n",
    );
    const { status, stdout, stderr } = await groups(["import", file], key);
    expect(stdout).toBe("created 2, found 0, differs 0, refused 12");
    expect(status).toBe(1);
    const refusals = new Map(
      stderr.split("\n").map((line) => [Number(/^line (\d+): /.exec(line)?.[1]), line] as const),
    );
    expect([...refusals.keys()].toSorted((a, b) => a - b)).toEqual([3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]);
    expect(refusals.get(3)).toContain("malformed_json");
    expect(refusals.get(4)).toContain("malformed_json");
    expect(refusals.get(5)).toContain("invalid_body: propertes: ");
    expect(refusals.get(6)).toContain("invalid_body: properties.n: ");
    expect(refusals.get(7)).toContain("invalid_body: name: This key is given twice");
    expect(refusals.get(8)).toMatch(/invalid_body: user_group_id: .* name: /);
    expect(refusals.get(9)).toContain("invalid_body: user_group_id: ");
    expect(refusals.get(10)).toContain("invalid_body: provided_id: ");
    expect(refusals.get(11)).toContain("body_too_large");
    expect(refusals.get(12)).toContain("body_too_large");
    expect(refusals.get(13)).toContain("mapping.\\u001b[31m: ");
    expect(refusals.get(14)).toContain("malformed_json");
    expect(idsOf((await groups(["export"], key)).stdout).toSorted()).toEqual(["first", "last"]);
  });

  it.for([[], ["--update"], ["--update", "--from-line", "2"]])(
    "are those whose group an earlier line names, with %j",
    async (options) => {
      const key = await newKey(`repeated-${options.length}`);
      await groups(["import", fileOf([{ user_group_id: "a", name: "first" }])], key);
      const exported = { team_id: 1, provided_id: "a", name: "third", api_environment_tag: "Testing" };
      const file = fileOf([{ user_group_id: "a", name: "first" }, { user_group_id: "b" }, exported]);
      const { status, stdout, stderr } = await groups(["import", file, "--json", ...options], key);
      expect([status, JSON.parse(stdout)]).toMatchObject([1, { success: 0, created: 1, refused: 1 }]);
      expect(stderr).toBe(
        "line 3: invalid_body: Line 1 has the same user_group_id, and the import has ignored this line. Keep one of the two lines.",
      );
      expect((await groups(["show", "--id", "a"], key)).stdout).toContain("first");
    },
  );

  it("are all reported, however many they are", async () => {
    const { status, stdout, stderr } = await groups(
      ["import", fileOf(Array.from({ length: 1300 }, () => "{"))],
      await newKey("many-refused"),
    );
    expect(status).toBe(1);
    expect(stdout).toBe("created 0, found 0, differs 0, refused 1300");
    const numbers = stderr.split("\n").map((line) => Number(/^line (\d+): malformed_json: /.exec(line)?.[1]));
    expect(numbers.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 1300 }, (_, index) => index + 1));
  });

  it("are not reported for a key that cannot import: the import ends", async () => {
    const file = fileOf([{ user_group_id: "a" }, { user_group_id: "b" }]);
    const readOnly = await groups(["import", file], await newKey("read-only", { access: "read" }));
    expect(readOnly).toMatchObject({ status: 1, stdout: "created 0, found 0, differs 0, refused 0" });
    expect(readOnly.stderr).toBe(
      "insufficient_access: This API key may only read. Use a key with write access.\nStopped. Continue with: --from-line 1",
    );
    const unknown = await groups(["import", file], "ugk_unknown");
    expect(unknown.stderr).toBe(
      `The service at ${url} refused API_KEY (unauthenticated). This command takes an API key, which begins with ugk_. The operator of the service issues one. Another kind is refused, and so is one that is cut off, of another deployment, or signed with a key that has been removed.\nStopped. Continue with: --from-line 1`,
    );
    expect((await groups(["export"], "ugk_unknown")).stderr).toContain("refused API_KEY (unauthenticated)");
  });

  it("are not reported for such a key while more lines may still arrive", async () => {
    const { child, outcome } = startGroups(["import", "-"], "ugk_unknown");
    onTestFinished(() => void child.stdin?.end());
    child.stdin?.write('{"user_group_id":"a"}\n');
    expect(await outcome).toMatchObject({ status: 1, stderr: expect.stringContaining("refused API_KEY") });
  });

  it("contain neither control characters nor a credential of a response", async () => {
    const sentence = "invalid_body: \\u001b[31m Token [credential]";
    for (const status of [422, 200]) {
      const at = await serviceWith((_, { headers }) => {
        const error = { code: "invalid_body", message: `\u001b[31m ${headers.authorization}`, issues: [] };
        return { status, body: JSON.stringify({ success: 0, error }).replace("hunter2", "\\u0068unter2") };
      });
      expect((await groups(["export"], "hunter2", at)).stderr).toBe(sentence);
      const imported = await groups(["import", fileOf([{ user_group_id: "a" }])], "hunter2", at);
      expect(imported.stderr).toBe(`line 1: ${sentence}`);
    }
  });
});

describe("an import that is stopped", () => {
  const STOPPING = "Stopping when the current calls are complete.";
  const LINES = Array.from({ length: 60 }, (_, index) => ({ user_group_id: String(index + 1) }));

  it("completes the current calls, prints the line to continue from, and continues there", async () => {
    const file = fileOf(LINES);
    const received: number[] = [];
    const held: ((reply: Reply) => void)[] = [];
    let isStopped = false;
    const at = await serviceWith((id) => {
      received.push(Number(id));
      if (isStopped || received.length <= 20) return CREATED;
      return new Promise((resolve) => held.push(resolve));
    });
    const { child, outcome } = startByNpx(["import", file, "--concurrency", "4"], "key", at);
    await waitUntil(() => held.length === 4, "four calls were sent");
    const ending = endGroup(child, "SIGINT");
    isStopped = true;
    for (const release of held) release(CREATED);
    const { status, stdout, stderr } = await outcome;
    await ending;

    const done = received.length;
    expect(status).not.toBe(0);
    expect(done).toBeGreaterThanOrEqual(24);
    expect(stdout).toBe(`created ${done}, found 0, differs 0, refused 0`);
    expect(stderr).toBe(`${STOPPING}\nStopped. Continue with: --from-line ${done + 1}`);
    expect(received.toSorted((a, b) => a - b)).toEqual(Array.from({ length: done }, (_, index) => index + 1));

    const rest = await groups(["import", file, "--from-line", String(done + 1)], "key", at);
    expect(rest).toEqual({ status: 0, stdout: `created ${60 - done}, found 0, differs 0, refused 0`, stderr: "" });
    expect(received.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 60 }, (_, index) => index + 1));
  });

  it("stops when only npm gets the signal", async () => {
    const held: ((reply: Reply) => void)[] = [];
    const at = await serviceWith(() => new Promise((resolve) => held.push(resolve)));
    const { child, outcome } = startByNpx(["import", fileOf(LINES), "--concurrency", "4"], "key", at);
    const printed = printedOn(child.stderr);
    await waitUntil(() => held.length === 4, "four calls were sent");
    child.kill("SIGTERM");
    await waitUntil(() => printed.text.includes(STOPPING), "the import was stopping");
    for (const release of held) release(CREATED);
    const { stdout, stderr } = await outcome;
    expect(stdout).toBe("created 4, found 0, differs 0, refused 0");
    expect(stderr).toContain("Stopped. Continue with: --from-line 5");
  });

  it.for(["its standard input", "a pipe with a name"])("does not wait for more of %s", async (source, { skip }) => {
    const received: string[] = [];
    const at = await serviceWith((id) => {
      received.push(id);
      return CREATED;
    });
    const isNamed = source === "a pipe with a name";
    skip(isNamed && !existsSync(MKFIFO));
    const pipe = join(newFolder(), "pipe");
    if (isNamed) execFileSync(MKFIFO, [pipe]);
    const { child, outcome } = startGroups(["import", isNamed ? pipe : "-"], "key", at);
    // For reading too: opened for writing alone, it would wait for its reader.
    const written = isNamed ? createWriteStream(pipe, { flags: "r+" }) : child.stdin;
    onTestFinished(() => void written?.destroy());
    written?.write(
      LINES.slice(0, 10)
        .map((line) => `${JSON.stringify(line)}\n`)
        .join(""),
    );
    await waitUntil(() => received.length === 10, "ten lines had arrived");
    await endGroup(child, "SIGINT");
    const { status, stderr } = await outcome;
    expect(status).not.toBe(0);
    expect(stderr).toBe(`${STOPPING}\nStopped. Continue with: --from-line 11`);
  });

  it("does not wait for the next try, and continues with that line", async () => {
    let refusals = 0;
    const at = await serviceWith((id) => {
      if (id !== "7") return CREATED;
      refusals += 1;
      return refusal(429, "rate_limited", "x", { "Retry-After": "200" });
    });
    const { child, outcome } = startGroups(["import", fileOf(LINES), "--concurrency", "2"], "key", at);
    await waitUntil(() => refusals === 1, "the seventh line was refused");
    await endGroup(child, "SIGINT");
    expect((await outcome).stderr).toBe(`${STOPPING}\nStopped. Continue with: --from-line 7`);
  });
});

describe("a temporary failure", () => {
  const busy = (status: number, seconds: number) =>
    refusal(status, "rate_limited", "Too many calls.", { "Retry-After": String(seconds) });

  it("is retried: 429 and 503 after their Retry-After, 502, 504 and 52x of a proxy, lost connections", async () => {
    const tries = new Map<string, number>();
    const until = new Map<string, number>();
    let early = 0;
    const at = await serviceWith((id) => {
      const count = (tries.get(id) ?? 0) + 1;
      tries.set(id, count);
      if (Date.now() < (until.get(id) ?? 0)) early += 1;
      const later = (status: number) => {
        until.set(id, Date.now() + 1000);
        return busy(status, 1);
      };
      if (count > 1) return CREATED;
      if (id === "limited") return later(429);
      if (id === "unavailable") return later(503);
      if (id === "gateway") return { status: 502, body: "<p>Bad gateway</p>" };
      if (id === "late") return { status: 504 };
      if (id === "timed out") return { status: 522 };
      return id === "cut off" ? "cut off" : "drop";
    });
    const ids = ["limited", "unavailable", "gateway", "late", "timed out", "cut off", "lost"];
    const file = fileOf(ids.map((id) => ({ user_group_id: id })));
    expect(await groups(["import", file], "key", at)).toEqual({
      status: 0,
      stdout: "created 7, found 0, differs 0, refused 0",
      stderr: "",
    });
    expect([...tries.values()]).toEqual(Array(7).fill(2));
    expect(early).toBe(0);
  });

  it("is retried for longer after a first response, as while the service restarts", async () => {
    let calls = 0;
    const at = await serviceWith((id) => {
      calls += 1;
      return id === "1" || calls > 7 ? CREATED : busy(503, 0);
    });
    const file = fileOf([{ user_group_id: "1" }, { user_group_id: "2" }]);
    expect(await groups(["import", file, "--concurrency", "1"], "key", at)).toEqual({
      status: 0,
      stdout: "created 2, found 0, differs 0, refused 0",
      stderr: "",
    });
    expect(calls).toBe(8);
  });

  it("is not retried after a Retry-After of more than five minutes", async () => {
    let calls = 0;
    const at = await serviceWith((id) => {
      if (id === "1") return CREATED;
      calls += 1;
      return busy(503, 301);
    });
    const file = fileOf([{ user_group_id: "1" }, { user_group_id: "2" }, { user_group_id: "3" }]);
    const { status, stdout, stderr } = await groups(["import", file, "--concurrency", "1"], "key", at);
    expect({ status, stdout, calls }).toEqual({
      status: 1,
      stdout: "created 1, found 0, differs 0, refused 0",
      calls: 1,
    });
    expect(stderr).toMatch(
      /takes no more calls at the moment \(status 503\)\. Its message: rate_limited: Too many calls\.\nStopped\. Continue with: --from-line 2$/,
    );
  });

  it("ends with 3 when a proxy answers in place of the service", async () => {
    const at = await serviceWith(() => ({ status: 503, headers: { "Retry-After": "301" }, body: "<html>" }));
    const { status, stdout } = await groups(["import", fileOf([{ user_group_id: "1" }]), "--json"], "key", at);
    expect([status, JSON.parse(stdout).error.code]).toEqual([3, "unreachable"]);
    const busyAt = await serviceWith(() => busy(503, 301));
    expect((await groups(["export"], "key", busyAt)).status).toBe(1);
  });

  it("is retried fewer times while no response ever arrived", async () => {
    const { status, stderr } = await groups(["import", fileOf([{ user_group_id: "1" }])], "key", "http://localhost:1");
    expect(status).toBe(3);
    expect(stderr).toMatch(
      /^The service at http:\/\/localhost:1 cannot be reached.*\nStopped. Continue with: --from-line 1$/,
    );
  });

  it("is not assumed when the service crashes: the line is refused, and the import continues", async () => {
    const at = await serviceWith((id) => (id === "1" ? refusal(500, "internal_error", "Sorry.") : CREATED));
    const file = fileOf([{ user_group_id: "1" }, { user_group_id: "2" }]);
    expect(await groups(["import", file], "key", at)).toEqual({
      status: 1,
      stdout: "created 1, found 0, differs 0, refused 1",
      stderr: "line 1: internal_error: Sorry.",
    });
  });
});

it("accepts no response without the fields of a group", async () => {
  const file = fileOf([{ user_group_id: "1" }]);
  for (const body of [{ success: 0 }, { success: 1 }, { success: 0, new_user_group: false }]) {
    const at = await serviceWith(() => ({ status: 200, body }));
    for (const args of [["import", file], ["export"]]) {
      const { status, stderr } = await groups(args, "key", at);
      expect(status).toBe(3);
      expect(stderr).toContain("is not the user group service");
    }
  }
});

it("accepts only refusals and pages in the service's form", async () => {
  const file = fileOf([{ user_group_id: "1" }]);
  const refusals = ["oops", {}, { code: "x" }, { code: "x", message: 5 }].map((error) => ({ success: 0, error }));
  const issues = [null, "abc", { a: 1 }, [null], [{ message: "y" }], [{ path: [{}], message: "y" }]].map((each) => ({
    success: 0,
    error: { code: "x", message: "y", issues: each },
  }));
  const pages = [{ a: 1 }, "ab", [1, null]].map((each) => ({ success: 1, user_groups: each, next_cursor: null }));
  const cursor = { success: 1, user_groups: [], next_cursor: 5 };
  const bodies = [...refusals, ...issues, ...pages, cursor, { ...cursor, next_cursor: "same" }];
  await Promise.all(
    bodies.map(async (body) => {
      const at = await serviceWith(() => ({ status: "error" in body ? 422 : 200, body }));
      const { status, stdout, stderr } = await groups("error" in body ? ["import", file] : ["export"], "key", at);
      expect({ status, stdout: stdout.replace("created 0, found 0, differs 0, refused 0", "") }).toEqual({
        status: 3,
        stdout: "",
      });
      expect(stderr).toMatch(/^The server at \S+ \(status \d+\) is not the user group service\./);
    }),
  );
});

it("finds a relative file from the folder in which npx was called", async () => {
  const below = join(folder, "docs");
  const args = ["import", relative(below, fileOf([{ user_group_id: "1" }])), "--url", url];
  const env = { API_KEY: await newKey("folder") };
  const child = runIn(below, ["npx", "ug", "groups", ...args], env);
  const [stdout] = await Promise.all([text(child.stdout as Readable), once(child, "close")]);
  expect(stdout.trim()).toBe("created 1, found 0, differs 0, refused 0");
});

it("refuses to continue after the last line: it may be the wrong file", async () => {
  const file = fileOf([{ user_group_id: "1" }, { user_group_id: "2" }]);
  const key = await newKey("past-end");
  expect(await groups(["import", file, "--from-line", "3"], key)).toMatchObject({ status: 0, stderr: "" });
  expect(await groups(["import", file, "--from-line", "4"], key)).toEqual({
    status: 2,
    stdout: "",
    stderr: "--from-line 4 is after the last line, 2.",
  });
});

it.skipIf(!existsSync(SCRIPT))("changes no setting of the terminal, and breaks no line", async () => {
  const key = await newKey("terminal");
  const file = fileOf([{ user_group_id: "1", name: "x".repeat(200) }, ..."{".repeat(20)]);
  const inTerminal = (args: string) => {
    const command = `${process.execPath} -- cli/src/main.ts groups ${args} --url ${url}`;
    const child = runIn(folder, [SCRIPT, "-qec", command, "/dev/null"], { API_KEY: key, TERM: "xterm" });
    return text(child.stdout as Readable);
  };
  const shown = [await inTerminal(`import ${file}`), await inTerminal("export")];
  expect(shown[0]).toContain("line 21: malformed_json: The line is not a JSON object in UTF-8.");
  expect(shown[0]).toContain("created 1, found 0, differs 0, refused 20");
  expect(shown[1]).toMatch(/^\{"team_id":1,.*"updated_at":"[^"]*","last_viewed_on":null\}\r?$/m);
  // These switch off line wrapping or the cursor, and a command that is killed could not switch them on again.
  for (const text of shown) expect(text).not.toMatch(/\[\?(7|25)l/);
});

it.skipIf(!existsSync("/dev/full"))("reports that an export is not complete when its disk is full", async () => {
  const key = await newKey("full");
  await groups(["import", fileOf([{ user_group_id: "1" }])], key);
  const command = `node -- cli/src/main.ts groups export --url ${url} >/dev/full`;
  const { status, stderr } = await outcomeOf(runIn(folder, ["sh", "-c", command], { API_KEY: key }));
  expect(status).toBe(1);
  expect(stderr).toContain("Standard output could not be written, so the export is not complete: ENOSPC.");
});

it.for([
  ["an unknown command", ["remove"], "Unknown command 'remove'"],
  ["an import of nothing", ["import"], "Missing required argument 'file'"],
  ["an import of two files", ["import", "a", "b"], "Too many arguments"],
  ["an export to a file", ["export", "a"], "Too many arguments"],
  ["a file that does not exist", ["import", "nothing.ndjson"], "The file to import cannot be read: ENOENT."],
  ["a folder", ["import", "scripts"], "The file to import is a folder."],
  ["zero calls at a time", ["import", "-", "--concurrency", "0"], "Give --concurrency as a whole number from 1 to 64"],
  ["too many at a time", ["import", "-", "--concurrency", "65"], "Give --concurrency as a whole number from 1 to 64"],
  ["a line that is not a whole number", ["import", "-", "--from-line", "1.5"], "Give --from-line as a whole number"],
  ["an option of the other command", ["import", "-", "--prefix", "x"], "Unknown option '--prefix'"],
  ["an option of an import", ["export", "--concurrency", "2"], "Unknown option '--concurrency'"],
  ["an unknown option", ["export", "--api-key=hunter2"], "A command or an option is unknown"],
  ["a URL without TLS", ["export", "--url", "http://192.0.2.1"], "Give --url as https://"],
  ["a URL with a path", ["export", "--url", "https://example.com/groups"], "Give --url as the service's origin alone"],
  ["a URL with a query", ["export", "--url", "https://example.com?x=1"], "Give --url as the service's origin alone"],
  ["a URL with a password", ["export", "--url", "https://u:hunter2@example.com"], "Give --url as the service's origin"],
] as const)("refuses %s with a sentence and a status", async ([, args, sentence]) => {
  const { status, stdout, stderr } = await groups(args, await newKey("arguments"));
  expect([status, stdout]).toEqual([2, ""]);
  expect(stderr).toContain(sentence);
  expect(stderr).not.toMatch(/^\s+at |hunter2/m);
});

it.skipIf(!existsSync("/proc/self/mem"))("fails where its input cannot be read to the end", async () => {
  const { status, stdout, stderr } = await groups(["import", "/proc/self/mem"], await newKey("unreadable"));
  expect({ status, stdout, stderr }).toEqual({
    status: 1,
    stdout: "",
    stderr: "The input could not be read to its end: EIO.",
  });
});

it("splits a stream at line feeds alone, wherever its chunks begin", async () => {
  const texts = fc.array(fc.constantFrom("a", "é", "😀", "\n", "\r", "\u2028", "{}"), { maxLength: 30 });
  await fc.assert(
    fc.asyncProperty(texts, fc.array(fc.nat({ max: 7 }), { maxLength: 40 }), async (letters, sizes) => {
      const bytes = Buffer.from(letters.join(""));
      const chunks = async function* () {
        let at = 0;
        for (const size of sizes) {
          yield bytes.subarray(at, at + size);
          at += size;
        }
        yield bytes.subarray(at);
      };
      const lines = [];
      for await (const { number, bytes: line, end } of linesOf(chunks())) lines.push([number, line?.toString(), end]);
      const expected = letters.join("").split("\n");
      if (expected.at(-1) === "") expected.pop();
      let end = 0;
      const numbered = expected.map((line, index) => {
        end = Math.min(end + Buffer.byteLength(line) + 1, bytes.length);
        return [index + 1, line, end];
      });
      return JSON.stringify(lines) === JSON.stringify(numbered);
    }),
    { numRuns: 500 },
  );
});
