import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { call } from "../../support/client.ts";
import { signIn } from "../../support/console.ts";
import { inEnvironment, issueKey, issueOperator, newIntegrator, operator } from "../../support/states.ts";
import { inDirectory, inRegistry } from "../../support/storage.ts";

const ENVIRONMENT = "/console/environments/acme/Testing";
const EVENTS = "/console/events?environment=acme/Testing";

/** An environment with one key, and an operator who has signed in. */
async function newVisitor(role: "viewer" | "support" | "admin" = "viewer") {
  const integrator = await newIntegrator();
  const operatorKey = await issueOperator(role, { name: `ada ${role}` });
  return { ...integrator, operatorKey, visitor: await signIn(operatorKey) };
}

/** The lines of a page of events, without markup. */
const linesIn = (body: string): string[] =>
  [...body.matchAll(/<li class="\w*"><div>(.*?)<\/div>/g)].map(([, line = ""]) => line.replaceAll(/<[^>]+>/g, ""));

const linkIn = (body: string, text: string): string =>
  (new RegExp(`href="([^"]+)"(?: rel="next")?>${text}`).exec(body)?.[1] ?? "").replaceAll("&amp;", "&");

/** The deployment, in which the directories with these names answer each call so. */
function envWith(answers: Record<string, () => Promise<never>>): Env {
  const getByName = (name: string) => {
    const answer = answers[name];
    const directory = env.GROUP_DIRECTORY.getByName(name);
    return answer ? new Proxy(directory, { get: () => answer }) : directory;
  };
  return { ...env, GROUP_DIRECTORY: Object.assign(Object.create(env.GROUP_DIRECTORY), { getByName }) };
}

/** A workspace with a group, which the operator suspends. */
async function suspendIn(workspace: string, operatorKey: string, reason: string) {
  const key = await issueKey({ workspace });
  await call("POST", "/api/user_groups", {
    credential: key,
    body: { user_group_id: "first", name: `First of ${workspace}` },
  });
  const body = { suspended: true, reason };
  await call("PUT", `/api/user_groups/1${inEnvironment(workspace)}`, { credential: operatorKey, body });
}

describe("what an operator has done", () => {
  it("is on their page, of all environments in the order of time, with names and reasons", async () => {
    const { visitor, operatorKey } = await newVisitor("support");
    for (const [workspace, reason] of [
      ["globex", "unpaid"],
      ["initech", "asked for"],
    ] as const)
      await suspendIn(workspace, operatorKey, reason);
    const { body } = await visitor.get("/console/operators/1/about");
    expect(linesIn(body)).toEqual([
      "Suspended First of initech: asked forinitech/Testing · first",
      "Suspended First of globex: unpaidglobex/Testing · first",
    ]);
    expect(body).toContain("2 changes in 2 of 3 environments. Searched: all.");
  });

  it("is not said to be nothing where an environment does not answer, and the others are read", async () => {
    const { visitor, operatorKey } = await newVisitor("support");
    for (const workspace of ["globex", "initech", "hooli"]) await suspendIn(workspace, operatorKey, "unpaid");
    const broken = envWith({
      "acme/Testing": () => Promise.reject(new Error("SQLITE_CORRUPT: the file is damaged.")),
      "globex/Testing": () => Promise.reject(new Error("Restoring: the backup is not complete.")),
      "initech/Testing": () => new Promise<never>(() => undefined),
    });
    const { body } = await visitor.get("/console/operators/1/about", { env: broken });
    expect(linesIn(body)).toEqual(["Suspended First of hooli: unpaidhooli/Testing · first"]);
    const text = body.replaceAll(/<[^>]+>/g, "");
    for (const sentence of [
      "acme/Testing is damaged",
      "globex/Testing is being restored",
      "initech/Testing has not answered",
    ])
      expect(text).toContain(sentence);
    expect(text).not.toContain("Searched: all");

    const nothing = await visitor.get("/console/events?type=operator.rolled&actor=operator:1", { env: broken });
    expect(nothing.body).toContain("Nothing was found in what was read.");
    expect(nothing.body).not.toMatch(/No (?:older )?event/);
  });

  it.for([
    [7, 1],
    [500, 4],
  ] as const)("is found in the last of %d environments, of which %d pages ask all", async ([count, pages]) => {
    const { visitor, operatorKey } = await newVisitor("support");
    await inRegistry(({ sql }) => {
      for (let id = 2; id < count; id += 1)
        sql.exec("INSERT INTO environments (id, name, created_at) VALUES (?, ?, 1)", id, `empty-${id}/Testing`);
    });
    await suspendIn("late", operatorKey, "unpaid");
    const read: string[] = [];
    for (let path = "/console/operators/1/about"; path !== ""; ) {
      const { body } = await visitor.get(path);
      path = linkIn(body, "Ask further environments");
      expect(/No event|Searched: all/.test(body)).toBe(path === "" && pages === 1);
      read.push(...linesIn(body), "page");
    }
    expect(read).toEqual([
      ...Array<string>(pages - 1).fill("page"),
      "Suspended First of late: unpaidlate/Testing · first",
      "page",
    ]);
  });

  it("is one line for equal changes, which leads to each, and names the changed properties", async () => {
    const { visitor, operatorKey, tokenOf } = await newVisitor("support");
    for (let n = 1; n <= 60; n += 1) await tokenOf(`g${n}`);
    for (let n = 1; n <= 60; n += 1) {
      const body = { properties: n % 2 ? { seats: n } : { plan: "pro" } };
      await call("PUT", `/api/user_groups/${n}${inEnvironment()}`, { credential: operatorKey, body });
    }
    const { body } = await visitor.get("/console/operators/1/about");
    expect(linesIn(body)).toEqual(["Changed properties of 60 groups show allacme/Testing · plan, seats"]);
    const overview = await visitor.get(ENVIRONMENT);
    expect(linesIn(overview.body)[0]).toBe("Changed properties of at least 40 groups by ada supportplan, seats");
    const all = await visitor.get(linkIn(body, "show all"));
    expect(linesIn(all.body)).toHaveLength(50);
    const rest = await visitor.get(linkIn(all.body, "Next page"));
    expect([linesIn(rest.body).length, linesIn(rest.body).at(-1)]).toEqual([
      10,
      "Changed properties of g1 by ada supportseats",
    ]);
    const { events } = (
      await call("GET", `/api/events${inEnvironment()}&type=user_group.updated`, { credential: operator })
    ).body;
    expect(events[0].changed).toEqual(["properties"]);
  });
});

describe("a line", () => {
  it("of one group counts its changes, and ends of two people are two lines", async () => {
    const { visitor, key, tokenOf } = await newVisitor();
    await tokenOf("acme");
    for (const reason of ["one", "one", "one"])
      await call("POST", `/api/user_groups/1/rotate${inEnvironment()}`, { credential: operator, body: { reason } });
    for (const viewer of ["ann", "ben"])
      await call("POST", "/api/viewer_sessions/end", {
        credential: key,
        body: { user_group_id: "acme", viewer_id: viewer },
      });
    const { body } = await visitor.get(`${EVENTS}&user_group_id=acme`);
    expect(linesIn(body).slice(0, 3)).toEqual([
      "Ended viewer sessions of acme by the API key backendviewer ben",
      "Ended viewer sessions of acme by the API key backendviewer ann",
      "Rotated the token of acme 3 times show all by the bootstrap token: one",
    ]);
  });

  it("names properties with joined emoji, and says where there may be more", async () => {
    const { visitor, tokenOf } = await newVisitor();
    await tokenOf("acme");
    const names = ["👨‍👩‍👧 family", ...Array.from({ length: 20 }, (_, n) => `p${n}`)];
    const properties = Object.fromEntries(names.map((name) => [name, 1]));
    await call("PUT", `/api/user_groups/1${inEnvironment()}`, { credential: operator, body: { properties } });
    const { body } = await visitor.get(EVENTS);
    expect(linesIn(body)[0]).toContain("👨‍👩‍👧 family, p0, p1, p2, p3, p4, p5, p6, p7, p8, …");
  });
});

describe("the events of all environments", () => {
  it("go on to further environments from a later page, too", async () => {
    const { visitor, tokenOf } = await newVisitor();
    for (let n = 0; n < 60; n += 1) await tokenOf(`g${n}`);
    await inRegistry(({ sql }) => {
      for (let id = 2; id < 200; id += 1)
        sql.exec("INSERT INTO environments (id, name, created_at) VALUES (?, ?, 1)", id, `empty-${id}/Testing`);
    });
    const key = await issueKey({ workspace: "late" });
    await call("POST", "/api/user_groups", { credential: key, body: { user_group_id: "late", name: "Late" } });
    const first = await visitor.get("/console/events?type=user_group.created&each=yes");
    const second = await visitor.get(linkIn(first.body, "Next page"));
    const further = await visitor.get(linkIn(second.body, "Ask further environments"));
    expect(linesIn(further.body)).toEqual(["Created Late by the API key backendlate/Testing · late"]);
  });

  it("go on from page to page without a gap or a repeat, also of one moment", async () => {
    vi.useFakeTimers({ now: Date.now(), toFake: ["Date"] });
    const { visitor } = await newVisitor();
    for (const workspace of ["globex", "initech", "hooli"]) {
      const key = await issueKey({ workspace });
      for (let n = 1; n <= 40; n += 1)
        await call("POST", "/api/user_groups", {
          credential: key,
          body: { user_group_id: `${workspace}-${n}`, name: "x" },
        });
    }
    const found: string[] = [];
    for (let path = "/console/events?type=user_group.created&each=yes"; path !== ""; ) {
      const { status, body } = await visitor.get(path);
      expect(status).toBe(200);
      found.push(...linesIn(body).map((line) => /[a-z]+-\d+$/.exec(line)?.[0] ?? line));
      path = linkIn(body, "Next page");
    }
    expect([found.length, new Set(found).size]).toEqual([120, 120]);
  });

  it("have the deployment's own, of 7 and of 30 days by a click", async () => {
    const { visitor } = await newVisitor();
    const { body } = await visitor.get("/console/events");
    expect(linesIn(body).join()).toMatch(/Issued the operator ada viewer.*Created the environment acme\/Testing/);
    const now = Date.now();
    vi.useFakeTimers({ now: now + 20 * 86_400_000, toFake: ["Date"] });
    const later = await signIn(await issueOperator("viewer", { name: "bob" }));
    const linesOf = async (path: string) =>
      linesIn((await later.get(path)).body).filter((line) => line.includes("ada"));
    const month = await later.get("/console/events");
    expect(await linesOf("/console/events")).toHaveLength(1);
    expect(await linesOf(linkIn(month.body, "Last 7 days"))).toEqual([]);
    const cut = (await later.get("/console/events?days=7&type=api_key.revoked")).body;
    expect(cut).toContain("No event is like that");
  });

  it("refuse a key or a number of a group without its environment", async () => {
    const { visitor } = await newVisitor();
    for (const query of ["actor=api_key:1", "team_id=1", "environment=x", "cursor=1", "further=0", "days=8"])
      expect([query, (await visitor.get(`/console/events?${query}`)).status]).toEqual([query, 422]);
  });
});

describe("the page of what needs attention", () => {
  it("has keys and operators that end or have ended, by time, none that was rolled, and silent environments", async () => {
    const { visitor } = await newVisitor();
    const issue = (name: string, days: number) => issueKey({ name, expires_in_seconds: days * 86_400 });
    await issue("in three weeks", 21);
    await issue("in nine days", 9);
    await issue("rolled", 3);
    await call("POST", `/api/keys/4/roll${inEnvironment()}`, { credential: operator, body: { grace_seconds: 60 } });
    await issueKey({ name: "revoked" });
    await call("DELETE", `/api/keys/6${inEnvironment()}`, { credential: operator, body: { reason: "leaked" } });
    await issueOperator("viewer", { name: "guest", expires_in_seconds: 86_400 });
    await issueKey({ workspace: "globex" });
    const broken = envWith({
      "globex/Testing": () => Promise.reject(new Error("Restoring: the backup is not complete.")),
    });
    const { body } = await visitor.get("/console/attention", { env: broken });
    const names = [...body.matchAll(/<td><a href="[^"]+\/about"><bdi>([^<]+)/g)].map(([, name]) => name);
    expect(names).toEqual(["revoked", "guest", "rolled", "in nine days"]);
    expect(body).toMatch(/revoked <time.*Revoked <time.*leaked/);
    expect(body).toMatch(/globex\/<\/span><b class="tag" data-tag="Testing">Testing<\/b><\/a> is being restored\./);
    expect(body.match(/keys\/4\/about/g)).toBeNull();
  });
});

describe("events", () => {
  it("are shown newest first, filtered and paged by the URL", async () => {
    const { visitor, tokenOf, key } = await newVisitor("viewer");
    for (let n = 0; n < 60; n += 1) await tokenOf(`g${n}`);
    await call("PUT", "/api/user_groups/8", { credential: key, body: { suspended: true, reason: "unpaid" } });
    const page = await visitor.get(`${EVENTS}`);
    expect(page.body.indexOf("<b>Suspended</b>")).toBeLessThan(page.body.indexOf("<b>Created</b>"));
    expect(page.body).toMatch(
      /Suspended<\/b> <a href="[^"]+\/groups\/8"><bdi>g7<.*the API key <a href="[^"]+\/keys\/1\/about">.*unpaid/,
    );
    expect(linesIn(page.body).slice(1)).toEqual([
      "Created 60 groups show all by the API key backend",
      "Issued the API key backend by the bootstrap token",
    ]);
    const filtered = await visitor.get(`${EVENTS}&type=user_group.suspended&actor=api_key:1&user_group_id=g7&since=`);
    expect(filtered.body.match(/<b>[\w ]+<\/b>/g)).toEqual(["<b>Suspended</b>"]);
    const wrong = await visitor.get(`${EVENTS}&actor=nobody&since=yesterday`);
    expect([wrong.status, wrong.body.includes("#field-actor"), wrong.body.includes("#field-since")]).toEqual([
      422,
      true,
      true,
    ]);
    const deployment = await visitor.get("/console/events?type=environment.created");
    expect(deployment.body.match(/<b>Created the environment<\/b>/g)).toHaveLength(1);
  });

  it("are filtered by days in UTC, of which the last one counts", async () => {
    const { visitor, tokenOf } = await newVisitor("viewer");
    await tokenOf("acme");
    const day = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
    const countOf = async (query: string) => (await visitor.get(`${EVENTS}&${query}`)).body.match(/<b>/g)?.length ?? 0;
    expect(await countOf(`since=${day(-1)}&until=${day(0)}`)).toBeGreaterThan(1);
    expect([await countOf(`until=${day(-1)}`), await countOf(`since=${day(1)}`)]).toEqual([0, 0]);
  });

  it("of one group are found behind a thousand others, from the group's page on", async () => {
    const { visitor, tokenOf, put } = await newVisitor("viewer");
    await tokenOf("acme");
    await addEventsOfOthers(1500);
    await put({ user_group_id: "acme", name: "Acme" });
    for (const path of [`${ENVIRONMENT}/groups/1`, `${EVENTS}&team_id=1`]) {
      const { body } = await visitor.get(path);
      expect([path, body.match(/<b>(?:Changed name|Created)<\/b>/g)]).toEqual([
        path,
        ["<b>Changed name</b>", "<b>Created</b>"],
      ]);
    }
  });

  it("are searched on by the page itself, over thousands that the filter leaves out", async () => {
    const { visitor, tokenOf } = await newVisitor("viewer");
    await tokenOf("acme");
    await addEventsOfOthers(5500);
    const { body } = await visitor.get(`${EVENTS}&user_group_id=acme`);
    expect([body.match(/<b>Created<\/b>/g), body.includes('rel="next"')]).toEqual([["<b>Created</b>"], false]);
  });

  it("that take too long to search end with the day up to which they were searched, and a link onward", async () => {
    const { visitor, tokenOf, put } = await newVisitor("viewer");
    await tokenOf("acme");
    await addEventsOfOthers(5500);
    await put({ user_group_id: "acme", name: "Acme" });
    let now = Date.now();
    // Each look at the clock takes a second.
    vi.spyOn(Date, "now").mockImplementation(() => {
      now += 1000;
      return now;
    });
    let path = `${EVENTS}&user_group_id=acme`;
    const found: string[][] = [];
    for (let pages = 0; path !== ""; pages += 1) {
      expect(pages).toBeLessThan(6);
      const { body } = await visitor.get(path);
      found.push((body.match(/<b>(?:Changed name of|Created)<\/b>/g) ?? []).map(String));
      path = (/href="([^"]+)" rel="next"/.exec(body)?.[1] ?? "").replaceAll("&amp;", "&");
      expect(/[Ss]earched back to/.test(body)).toBe(path !== "");
    }
    expect(found.length).toBeGreaterThan(1);
    expect(found.flat()).toEqual(["<b>Changed name of</b>", "<b>Created</b>"]);
  });
});

/** Adds events of another group to the feed, newer than those that are there. */
const addEventsOfOthers = (count: number) =>
  inDirectory(({ sql }) => {
    for (let n = 0; n < count; n += 1)
      sql.exec(
        `INSERT INTO events (at, type, actor, request_id, team_id, provided_id, details)
          SELECT at, type, actor, request_id, 99, 'other', details FROM events WHERE team_id = 1 LIMIT 1`,
      );
    sql.exec("UPDATE feed SET last_id = (SELECT max(id) FROM events)");
  });
