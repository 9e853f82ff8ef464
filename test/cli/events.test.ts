import { describe, expect, inject, it, onTestFinished, vi } from "vitest";
import { timeReader } from "../../cli/src/option-values.ts";
import { OperatorClient, UserGroupClient } from "../../client/src/index.ts";
import { pageOf } from "../proof/restore-pages.ts";
import { type Outcome, outcomeOf, runCommand, startCommand } from "../support/node/commands.ts";
import { startPlainService } from "../support/node/plain-workerd.ts";
import { printedOn } from "../support/node/printed.ts";
import { waitUntil } from "../support/node/service.ts";
import { refusal, standIn } from "../support/node/stand-in.ts";
import { keyOfWorkspace } from "../support/node/workspace.ts";

const { url, operatorToken } = inject("service");

const events = (args: readonly string[], apiKey: string): Promise<Outcome> =>
  runCommand("events", args, { API_KEY: apiKey });

/** Starts the command in a process of its own, which gets signals. `output` has what it printed so far. */
function startEvents(args: readonly string[], apiKey: string, at = url) {
  const child = startCommand("events", args, { API_KEY: apiKey, SERVICE_URL: at });
  const output = printedOn(child.stdout);
  return { child, output, outcome: outcomeOf(child) };
}

/** Runs the command with the key of an operator. */
const operatorEvents = (args: readonly string[], operatorKey: string): Promise<Outcome> =>
  runCommand("events", args, { OPERATOR_KEY: operatorKey });

/** A key of a workspace in which a group was created and renamed, and a client with this key. */
async function changed(workspace: string) {
  const apiKey = await keyOfWorkspace(workspace);
  const client = new UserGroupClient({ url, apiKey });
  await client.ensure({ userGroupId: "acme" });
  await client.update({ userGroupId: "acme", newUserGroupId: "b  by \u202e" });
  return { apiKey, client };
}

const withoutTimes = (stdout: string) => stdout.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME").split("\n");

it("prints a line for each event, and nothing that a terminal interprets", async () => {
  const { apiKey } = await changed("events-lines");
  const { status, stdout, stderr } = await events([], apiKey);
  expect(withoutTimes(stdout)).toEqual([
    'TIME  api_key.issued            key 1 "backend"  by operator "bootstrap"',
    'TIME  user_group.created        "acme"  by api_key 1 "backend"',
    'TIME  user_group.updated        "acme" -> "b  by \\u202e" (provided_id)  by api_key 1 "backend"',
  ]);
  expect(stderr).toMatch(/^To continue after these: --cursor [\w-]+$/);
  expect(status).toBe(0);
});

it("prints the API's own JSON with --json", async () => {
  const { apiKey } = await changed("events-json");
  const { stdout } = await events(["--json"], apiKey);
  const response = await fetch(`${url}/api/events`, { headers: { Authorization: `Token ${apiKey}` } });
  const { events: wire } = (await response.json()) as { events: object[] };
  expect(stdout.split("\n").map((line) => JSON.parse(line))).toEqual(wire);
  expect(stdout).not.toMatch(/[^\n\P{Cc}]/u);
});

it("filters, and continues from the cursor that it printed", async () => {
  const { apiKey, client } = await changed("events-filters");
  expect((await events(["--type", "user_group.created"], apiKey)).stdout).toMatch(/^\S+ {2}user_group.created[^\n]+$/);
  expect((await events(["--user-group-id", "acme"], apiKey)).stdout.split("\n")).toHaveLength(2);
  const [, cursor = ""] = /--cursor (\S+)/.exec((await events([], apiKey)).stderr) ?? [];
  expect((await events(["--cursor", cursor], apiKey)).stdout).toBe("");
  await client.ensure({ userGroupId: "later" });
  expect((await events(["--cursor", cursor], apiKey)).stdout).toContain('"later"');
});

it("--follow prints changes as they are made, until Ctrl-C", async () => {
  const { apiKey, client } = await changed("events-follow");
  const { child, output, outcome } = startEvents(["--follow", "--cursor", "latest"], apiKey);
  // Events from before `latest` is read are not printed, so create groups until one is.
  let count = 0;
  await waitUntil(async () => {
    count += 1;
    await client.ensure({ userGroupId: `g-${count}` });
    return output.text.includes('"g-');
  }, "a change was printed");
  child.kill("SIGINT");
  const { status, stdout, stderr } = await outcome;
  expect(status).toBe(0);
  const printed = [...stdout.matchAll(/"g-(\d+)"/g)].map(([, number]) => Number(number));
  expect(printed).toEqual(printed.map((_, index) => (printed[0] ?? 0) + index));
  expect(stdout).not.toContain('"acme"');
  expect(stderr).toMatch(/--cursor [\w-]+$/);
});

describe("for an operator", () => {
  const bootstrap = new OperatorClient({ url, operatorKey: operatorToken });
  const issue = (name: string) => bootstrap.issueOperator({ name, role: "viewer" });

  it("prints the environment that the options name, as for its API key", async () => {
    const { apiKey } = await changed("events-operator");
    const { key } = await issue("reader of events");
    const where = ["--workspace", "events-operator", "--environment", "Testing"];
    expect(await operatorEvents(where, key)).toEqual(await events([], apiKey));
    const { stdout } = await operatorEvents([...where, "--type", "user_group.created"], key);
    expect(stdout.split("\n")).toHaveLength(1);
  });

  it("prints the deployment's feed as lines and as the API's own JSON", async () => {
    const cursor = await bootstrap.latestEventCursor();
    const { operator, key } = await issue('eve "x"');
    const rolled = await bootstrap.rollOperator({ id: operator.id, graceSeconds: 600 });
    await bootstrap.issueKey({ workspace: "events-deployment", environment: null, name: "k" });

    const lines = (await operatorEvents(["--deployment", "--cursor", cursor], key)).stdout.split("\n");
    const name = '"eve \\"x\\""';
    const printed = lines.map((line) => line.replace(/^\S+ +/, ""));
    expect(printed).toEqual(
      expect.arrayContaining([
        `operator.issued           operator ${operator.id} ${name}  by operator "bootstrap"`,
        `operator.rolled           operator ${operator.id} ${name} -> operator ${rolled.operator.id}  by operator "bootstrap"`,
        'environment.created       environment events-deployment/untagged  by operator "bootstrap"',
      ]),
    );
    const { stdout } = await operatorEvents(["--deployment", "--json", "--cursor", cursor], key);
    const response = await fetch(`${url}/api/events?cursor=${cursor}&limit=1000`, {
      headers: { Authorization: `Token ${key}` },
    });
    const { events: wire } = (await response.json()) as { events: object[] };
    expect(wire).toEqual(expect.arrayContaining(stdout.split("\n").map((line) => JSON.parse(line))));
  });

  it("does not fall back to an API key, and names the refused credential", async () => {
    const { apiKey } = await changed("events-no-fallback");
    const env = { API_KEY: apiKey, OPERATOR_KEY: "ugo_wrong" };
    const { status, stderr } = await runCommand("events", ["--deployment"], env);
    expect([status, stderr.split("\n").length]).toEqual([1, 1]);
    expect(stderr).toContain("refused OPERATOR_KEY (unauthenticated)");
  });

  it.for([
    ["both feeds", ["--deployment", "--workspace", "acme"], "not both", 2],
    ["a workspace alone", ["--workspace", "acme"], "Give --environment as Customer, Testing or untagged", 2],
    ["an environment alone", ["--environment", "Testing"], "Give --workspace as the slug", 2],
    ["an environment that is not there", ["--workspace", "events-typo", "--environment", "Testing"], "environment", 1],
  ] as const)("refuses %s with one sentence", async ([, args, sentence, expected]) => {
    const { status, stdout, stderr } = await operatorEvents(args, operatorToken);
    expect([status, stdout, stderr.split("\n").length]).toEqual([expected, "", 1]);
    expect(stderr).toContain(sentence);
  });
});

describe("fails with a sentence", () => {
  it("for an unknown type and a foreign cursor", async () => {
    const { apiKey } = await changed("events-refused");
    expect((await events(["--type", "nope"], apiKey)).stderr).toMatch(/Give a type of event/);
    expect((await events(["--cursor", "nope"], apiKey)).stderr).toMatch(/Give a next_cursor/);
  });
});

it("prints the changes of the deployment and of every environment, each after the name of its feed", async () => {
  const operator = new OperatorClient({ url, operatorKey: operatorToken });
  const { key, operator: issued } = await operator.issueOperator({ name: "everywhere", role: "admin" });
  await operatorEvents(["--deployment"], key);
  const everywhere = new OperatorClient({ url, operatorKey: key });
  for (const environment of ["Customer", "Testing"] as const)
    await everywhere.issueKey({ workspace: "events-all", environment, name: "x" });
  const filter = ["--all", "--actor", `operator:${issued.id}`];
  const { stdout, status } = await operatorEvents(filter, operatorToken);
  expect(status).toBe(0);
  expect(withoutTimes(stdout).map((line) => line.split(/\s{2,}/).slice(0, 4))).toEqual([
    ["deployment", "TIME", "environment.created", "environment events-all/Customer"],
    ["deployment", "TIME", "environment.created", "environment events-all/Testing"],
    ["events-all/Customer", "TIME", "api_key.issued", 'key 1 "x"'],
    ["events-all/Testing", "TIME", "api_key.issued", 'key 1 "x"'],
  ]);
  const lines = (await operatorEvents([...filter, "--json"], operatorToken)).stdout.split("\n");
  expect(lines.map((line) => JSON.parse(line).feed)).toEqual([
    "deployment",
    "deployment",
    "events-all/Customer",
    "events-all/Testing",
  ]);
});

it("prints the changes of the other environments while a backup is restored into one, and names that one", async () => {
  await keyOfWorkspace("events-beside");
  const authorization = `Token ${operatorToken}`;
  const backupOf = (workspace: string) =>
    fetch(`${url}/api/backup?workspace=${workspace}&environment=Testing`, { headers: { authorization } });
  const lines = (await (await backupOf("events-beside")).text()).trimEnd().split("\n").slice(0, -1);
  const moved = lines.map((line) => line.replaceAll("events-beside", "events-restored"));
  const restore = (page: string) =>
    fetch(`${url}/api/restore?workspace=events-restored&environment=Testing&unsigned=true`, {
      method: "POST",
      headers: { authorization, "content-type": "application/x-ndjson" },
      body: page,
    });
  expect((await restore(pageOf(moved.slice(0, -1), 1, "more"))).status).toBe(200);
  const { stdout, stderr, status } = await operatorEvents(["--all"], operatorToken);
  // Page 1 begins a restore again.
  expect((await restore(pageOf(moved))).status).toBe(200);
  expect(stdout).toContain("events-beside/Testing  ");
  expect(stderr).toContain("A backup is being restored into events-restored/Testing.");
  expect(status).toBe(1);
});

it("--all --follow prints what happens anywhere, in new environments too, until Ctrl-C", async () => {
  // A service of its own: the shared one has hundreds of environments, each of which is asked in turn.
  const own = await startPlainService();
  onTestFinished(() => own.stop());
  const operator = new OperatorClient({ url: own.url, operatorKey: own.operatorToken });
  const keyOf = (workspace: string, name: string) => operator.issueKey({ workspace, environment: "Testing", name });
  await keyOf("events-all-old", "backend");
  const args = ["--all", "--follow", "--cursor", "latest", "--json"];
  const child = startCommand("events", args, { SERVICE_URL: own.url, OPERATOR_KEY: own.operatorToken });
  const output = printedOn(child.stdout);
  const outcome = outcomeOf(child);
  let count = 0;
  await waitUntil(async () => {
    count += 1;
    await keyOf("events-all-old", `later-${count}`);
    return output.text.includes('"later-');
  }, "a change of an environment was printed");
  await keyOf("events-all-new", "backend");
  await waitUntil(() => output.text.includes('"feed":"events-all-new/Testing"'), "a new environment was printed");
  child.kill("SIGINT");
  const { status, stdout } = await outcome;
  const lines = stdout.split("\n").map((line) => JSON.parse(line));
  expect(status).toBe(0);
  const feedOf = (feed: string) => lines.filter((each) => each.feed === feed);
  expect(feedOf("deployment").map(({ environment }) => environment?.workspace)).toContain("events-all-new");
  // From now on alone: the first key of the old environment was issued before. Each event is printed once.
  expect(feedOf("events-all-old/Testing").map(({ api_key: key }) => key.name)).not.toContain("backend");
  const ids = lines.map(({ feed, id }) => `${feed} ${id}`);
  expect(new Set(ids).size).toBe(ids.length);
});

it.for([
  [["--follow"], { API_KEY: "k" }],
  [["--all", "--follow"], { OPERATOR_KEY: "ugo_x" }],
] as const)("%j waits for a service that restarts, and goes on where it was", async ([args, key]) => {
  const event = (id: number) => ({
    ...{ id, at: "2035-01-01T00:00:00.000Z", type: "t", request_id: "r", reason: `event ${id}` },
    actor: { kind: "system", id: null, name: "\u009b31m" },
  });
  const { url: at } = await standIn(({ path }, count) => {
    if (path.startsWith("/api/environments"))
      return { status: 200, body: { success: 1, environments: [], next_cursor: null } };
    if (count > 2 && count < 14) return count % 2 === 0 ? "drop" : refusal(503, "directory_unavailable");
    const after = Number(/cursor=(\d+)/.exec(path)?.[1] ?? 0);
    const events = after < 3 ? [event(after + 1)] : [];
    return { status: 200, body: { success: 1, events, next_cursor: String(after + events.length), has_more: false } };
  });
  const child = startCommand("events", [...args, "--json"], { ...key, SERVICE_URL: at });
  const output = printedOn(child.stdout);
  const outcome = outcomeOf(child);
  await waitUntil(() => output.text.includes("event 3"), "the last event was printed");
  child.kill("SIGTERM");
  const { status, stdout, stderr } = await outcome;
  expect([status, stdout.split("\n").map((line) => JSON.parse(line).id)]).toEqual([0, [1, 2, 3]]);
  expect(stdout).toContain("\\u009b31m");
  expect(stderr).toContain("Waiting for the service: ");
});

it("--until ends before a time, and --since continues with the rest", async () => {
  const { apiKey, client } = await changed("events-until");
  const events1 = await Array.fromAsync(client.events());
  const until = new Date(Date.parse(events1.at(-1)?.at ?? "") + 1);
  await waitUntil(() => Date.now() > until.getTime() + 5, "the clock has moved on");
  await client.ensure({ userGroupId: "until-later" });
  const before = await events(["--until", until.toISOString()], apiKey);
  expect(before.stdout.split("\n")).toHaveLength(3);
  expect(before.stderr).toBe(`To continue after these: --since ${until.toISOString()}`);
  const rest = await events(["--since", until.toISOString()], apiKey);
  expect(rest.stdout).toMatch(/^\S+ +user_group.created +"until-later"[^\n]*$/);
  const all = ["--all", "--until", until.toISOString(), "--user-group-id", "until-later"];
  expect((await operatorEvents(all, operatorToken)).stdout).toBe("");
});

it.for([
  ["--until", "soon"],
  ["--until", "1h", "--follow"],
  ["--limit", "3", "--follow"],
  ["--newest-first", "--follow"],
  ["--newest-first", "--cursor", "x"],
  ["--since", "1h", "--until", "2h"],
  ["--all", "--cursor", "latest"],
  ["--all", "--limit", "3"],
  ["--all", "--workspace", "acme"],
  ["--all", "--deployment"],
  ["--team-id", "1", "--follow"],
  ["--team-id", "1", "--actor", "system"],
  ["--team-id", "0"],
])("refuses with status 2: %j", async (args) => {
  expect((await operatorEvents(args, operatorToken)).status).toBe(2);
});

describe.each(["UTC", "Europe/Berlin", "Pacific/Apia"])("with the time zone %s, a time is", (zone) => {
  const read = (text: string) => {
    vi.stubEnv("TZ", zone);
    onTestFinished(() => void vi.unstubAllEnvs());
    return timeReader("since")(text).toISOString();
  };

  it.for([
    ["2026-01-31", "2026-01-31T00:00:00.000Z"],
    ["2026-10-25T02:30:00+01:00", "2026-10-25T01:30:00.000Z"],
    ["2026-10-25t02:30:00z", "2026-10-25T02:30:00.000Z"],
    ["2026-01-01T00:00:00.0000001-00:30", "2026-01-01T00:30:00.001Z"],
  ] as const)("%s", ([text, time]) => expect(read(text)).toBe(time));

  it.for([
    ...["2026", "2026-02-30", "2026-11-31", "10/25/2026", "20261025", "2026-10-25 00:00:00Z", "tomorrow", "", "12"],
    ...["2026-10-25T00:00", "2026-10-25T02:30:00", "2026-10-25T00:00Z", "2026-10-25T24:00:00Z", "2026-12-31T23:59:60Z"],
    ...["2026-01-01T00:00:00+24:00", "-5m", "1.5h", "5 m", "999999999d", "1w", "+1h"],
  ])("not %j", (text) => expect(() => read(text)).toThrow(/^Give --since as a time with its zone/));

  it("an age", () => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.parse("2026-03-29T12:00:00Z") });
    onTestFinished(() => void vi.useRealTimers());
    expect(["30m", "12h", "7d"].map(read)).toEqual([
      "2026-03-29T11:30:00.000Z",
      "2026-03-29T00:00:00.000Z",
      "2026-03-22T12:00:00.000Z",
    ]);
  });
});

describe("--newest-first", () => {
  const HOUR_MS = 3_600_000;

  /** A service whose feed has an event at each of these ages, in milliseconds, the oldest first. */
  const feedOf = (ages: readonly number[]) => {
    const now = Date.now();
    const all = ages.map((age, index) => ({
      ...{ id: index + 1, at: new Date(now - age).toISOString(), type: "t", request_id: "r" },
      actor: { kind: "system", id: null, name: "x" },
    }));
    return standIn(({ path }) => {
      const query = new URL(path, "http://x").searchParams;
      const since = query.get("since") ?? "";
      const start = since === "" ? Number(query.get("cursor") ?? 0) : all.findIndex(({ at }) => at >= since);
      const page = start === -1 ? [] : all.slice(start, start + Number(query.get("limit")));
      const next = page.at(-1)?.id ?? all.length;
      return {
        status: 200,
        body: { success: 1, events: page, next_cursor: String(next), has_more: next < all.length },
      };
    });
  };
  const idsOf = ({ stdout }: Outcome) => stdout.split("\n").map((line) => Number(JSON.parse(line).id));

  it("prints the last events of a long feed without reading all of it, and goes on where it ended", async () => {
    const ages = Array.from({ length: 9_000 }, (_, index) => ((9_000 - index) * HOUR_MS) / 5);
    const { url: at, received } = await feedOf(ages);
    const newest = (...args: string[]) =>
      runCommand("events", ["--newest-first", "--json", ...args], { API_KEY: "k", SERVICE_URL: at });
    const first = await newest("--limit", "20");
    expect(idsOf(first)).toEqual(Array.from({ length: 20 }, (_, index) => 9_000 - index));
    expect(received.length).toBeLessThan(6);
    const [, until = ""] = /--until (\S+)$/.exec(first.stderr) ?? [];
    expect(idsOf(await newest("--limit", "3", "--until", until))).toEqual([8_981, 8_980, 8_979]);
    expect(idsOf(await newest("--since", "1h"))).toEqual([9_000, 8_999, 8_998, 8_997]);
    expect(idsOf(await newest())).toHaveLength(1_000);
    expect(new Set(idsOf(await newest("--limit", "9000"))).size).toBe(9_000);
  });

  it("prints an environment, the deployment, and all of them in the order of time", async () => {
    const operator = new OperatorClient({ url, operatorKey: operatorToken });
    const issued = await operator.issueOperator({ name: "newest", role: "admin" });
    const own = new OperatorClient({ url, operatorKey: issued.key });
    for (const environment of ["Customer", "Testing"] as const)
      await own.issueKey({ workspace: "events-newest", environment, name: environment });
    await own.issueKey({ workspace: "events-newest", environment: "Customer", name: "last" });
    const filter = ["--newest-first", "--since", "1h", "--actor", `operator:${issued.operator.id}`];
    const subjectsOf = async (...args: string[]) =>
      (await operatorEvents([...filter, ...args], operatorToken)).stdout
        .split("\n")
        .map((line) => line.split(/ {2,}/).at(-2));
    const newestKey = 'key 2 "last"';
    expect(await subjectsOf("--workspace", "events-newest", "--environment", "Customer")).toEqual([
      newestKey,
      'key 1 "Customer"',
    ]);
    expect(await subjectsOf("--deployment", "--limit", "1")).toEqual(["environment events-newest/Testing"]);
    // Two events of one millisecond in two feeds have no order.
    const [first, ...others] = await subjectsOf("--all", "--limit", "3");
    expect([first, others.toSorted()]).toEqual([newestKey, ["environment events-newest/Testing", 'key 1 "Testing"']]);
  });
});

describe("the events of one group", () => {
  it("are printed newest first, back to its creation", async () => {
    const { apiKey, client } = await changed("events-history");
    await client.ensure({ userGroupId: "globex" });
    await client.removeByNumber({ teamId: 1, reason: "they left" });
    const { status, stdout, stderr } = await events(["--team-id", "1", "--newest-first"], apiKey);
    expect(withoutTimes(stdout)).toEqual([
      'TIME  user_group.deleted        "b  by \\u202e"  by api_key 1 "backend"  because "they left"',
      'TIME  user_group.updated        "acme" -> "b  by \\u202e" (provided_id)  by api_key 1 "backend"',
      'TIME  user_group.created        "acme"  by api_key 1 "backend"',
    ]);
    expect([status, stderr]).toEqual([0, expect.stringMatching(/^Searched back to [\d:.TZ-]+\.$/)]);
    const json = await events(["--team-id", "2", "--newest-first", "--json"], apiKey);
    expect(json.stdout.split("\n").map((line) => JSON.parse(line))).toMatchObject([{ type: "user_group.created" }]);
  });

  it("are printed between two times, oldest first, and page by page", async () => {
    const { apiKey, client } = await changed("events-history-pages");
    const typesOf = async (...args: string[]) => {
      const { stdout, stderr } = await events(["--team-id", "1", ...args], apiKey);
      return { types: stdout.split("\n").map((line) => line.split(/ +/)[1]), next: /--cursor (\S+)/.exec(stderr)?.[1] };
    };
    await client.suspendByNumber({ teamId: 1 });
    const [, second] = await Array.fromAsync(client.history({ teamId: 1 }));
    expect((await typesOf()).types).toEqual(["user_group.created", "user_group.updated", "user_group.suspended"]);
    expect((await typesOf("--limit", "1")).types).toEqual(["user_group.created"]);
    expect((await typesOf("--since", "1h", "--until", second?.at ?? "")).types).not.toContain("user_group.suspended");
    const first = await typesOf("--newest-first", "--limit", "2");
    expect(first.types).toEqual(["user_group.suspended", "user_group.updated"]);
    const rest = await typesOf("--newest-first", "--limit", "2", "--cursor", first.next ?? "");
    expect(rest).toEqual({ types: ["user_group.created"], next: undefined });
  });

  it("are refused for a number that no group had", async () => {
    const { apiKey } = await changed("events-history-missing");
    const { status, stderr } = await events(["--team-id", "7", "--newest-first"], apiKey);
    expect([status, stderr]).toEqual([1, expect.stringMatching(/no such user group/)]);
  });
});
