import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { call } from "../../support/client.ts";
import { formToken, signIn, type VisitOptions, visit } from "../../support/console.ts";
import { sessionOf } from "../../support/sessions.ts";
import { inEnvironment, issueKey, issueOperator, newIntegrator, operator } from "../../support/states.ts";

const ENVIRONMENT = "/console/environments/acme/Testing";
const SEARCH = "/console/search";

/** An environment with a group, and an operator who has signed in. */
async function newVisitor(role: "viewer" | "support" | "admin" = "viewer") {
  const integrator = await newIntegrator();
  const token = await integrator.tokenOf("acme", { name: "Marigold Clinics" });
  const operatorKey = await issueOperator(role, { name: `ada ${role}` });
  const visitor = await signIn(operatorKey);
  const search = (text: string, fields = {}) => visitor.send("/console/environments", { text, ...fields }, SEARCH);
  return { ...integrator, token, operatorKey, visitor, search };
}

/** The deployment, in which searches of the groups of acme/Testing do something else: `search` gets what they do. */
function envWithSearch(search: (real: () => Promise<object>) => Promise<object>): Env {
  const getByName = (name: string) => {
    const directory = env.GROUP_DIRECTORY.getByName(name);
    if (name !== "acme/Testing") return directory;
    const replaced = (...args: unknown[]) =>
      search(() => Reflect.apply(Reflect.get(directory, "search"), directory, args));
    return new Proxy(directory, {
      get: (target, method) => (method === "search" ? replaced : Reflect.get(target, method)),
    });
  };
  return { ...env, GROUP_DIRECTORY: Object.assign(Object.create(env.GROUP_DIRECTORY), { getByName }) };
}

describe("the search", () => {
  it("leads with a word, an id or a number to the groups that have it", async () => {
    const { visitor, search, tokenOf, key } = await newVisitor();
    await tokenOf("globex", { name: "Globex" });
    await call("PUT", "/api/user_groups/2", { credential: key, body: { name: "Globéx Ltd" } });
    for (const [text, name] of [
      ["clinic", "Marigold Clinics"],
      ["GLOBEX l", "Globéx Ltd"],
      ["2", "Globéx Ltd"],
    ] as const) {
      const led = await search(text, { environment: "acme/Testing" });
      const location = led.headers.get("Location") ?? "";
      expect([led.status, location]).toEqual([303, `${ENVIRONMENT}/groups?${new URLSearchParams({ search: text })}`]);
      const { body } = await visitor.get(location);
      expect([
        text,
        body.match(/<td><a href="[^"]+"><bdi>[^<]+/g)?.map((row: string) => row.split("<bdi>")[1]),
      ]).toEqual([text, [name]]);
    }
  });

  it("finds groups from the start page too, and deleted ones", async () => {
    const { visitor, search } = await newVisitor();
    await call("DELETE", `/api/user_groups/1${inEnvironment()}`, { credential: operator, body: {} });
    const led = await search("marigold");
    expect(led.headers.get("Location")).toBe("/console/environments?search=marigold");
    for (const path of ["/console/environments?search=marigold", `${ENVIRONMENT}/groups?search=marigold`])
      expect((await visitor.get(path)).body).toMatch(/groups\/1"><bdi>Marigold Clinics<.*data-state="deleted"/);
    expect((await visitor.get("/console/environments?search=nothing-like-it")).body).toContain("Nothing was found");
  });

  it("finds groups of each environment from the start page, and leads on where it has not searched all", async () => {
    const { visitor } = await newVisitor();
    for (let number = 2; number <= 9; number += 1) {
      const body = { workspace: `shop-${number}`, environment: "Testing", name: "backend" };
      const { key } = (await call("POST", "/api/keys", { credential: operator, body })).body;
      const name = number === 9 ? "Lotus Marigold" : "Other";
      await call("POST", "/api/user_groups", { credential: key, body: { user_group_id: "first", name } });
    }
    const found = (body: string) =>
      body.match(/<h2>Groups of .*?<\/h2>/g)?.map((heading) => heading.replaceAll(/<[^>]+>|Groups of /g, ""));
    const lotus = await visitor.get("/console/environments?search=lotus");
    expect([found(lotus.body), lotus.body.includes("Nothing was found")]).toEqual([["shop-9/Testing"], false]);

    const first = await visitor.get("/console/environments?search=marigold");
    expect(found(first.body)).toEqual(["acme/Testing"]);
    const [, further = ""] = /href="([^"]+)">Search further/.exec(first.body) ?? [];
    const second = await visitor.get(further.replaceAll("&amp;", "&"));
    expect([found(second.body), second.body.includes("Search further")]).toEqual([["shop-9/Testing"], false]);
    const rest = await visitor.get("/console/environments?search=marigold&further=10");
    expect(rest.body).toContain("Nothing was found in what was read.");
  });

  it.for(["shop-2", "testing shop", "shop-2/Testing"])("finds an environment by the words %s", async (text) => {
    const { visitor } = await newVisitor();
    await issueKey({ workspace: "shop-2" });
    const { body } = await visitor.get(`/console/environments?${new URLSearchParams({ search: text })}`);
    expect(body.match(/aria-label="[^"]+\/Testing"/g)).toEqual(['aria-label="shop-2/Testing"']);
  });

  it("says why the token of a group was rotated, and its sessions were ended", async () => {
    const { search, token, key } = await newVisitor();
    const session = await sessionOf(key);
    const ends = { body: { user_group_id: "acme", reason: "stolen laptop" }, credential: key };
    await call("POST", "/api/viewer_sessions/end", ends);
    await call("POST", `/api/user_groups/1/rotate${inEnvironment()}`, {
      credential: operator,
      body: { reason: "leaked by mail" },
    });
    expect((await search(token)).body).toMatch(/token_superseded.*<q><bdi>leaked by mail/);
    expect((await search(session)).body).toMatch(/credential_revoked.*<q><bdi>stolen laptop/);
  });

  it("names an environment that cannot be searched, such as one that is restored, and searches the others", async () => {
    const { visitor } = await newVisitor();
    const body = { workspace: "other", environment: "Testing", name: "backend" };
    const { key } = (await call("POST", "/api/keys", { credential: operator, body })).body;
    await call("POST", "/api/user_groups", { credential: key, body: { user_group_id: "x", name: "Lotus" } });
    const restoring = envWithSearch(() => Promise.reject(new Error("Restoring: the backup is not complete.")));
    const searchFor = async (text: string) => {
      const page = await visitor.get(`/console/environments?search=${text}`, { env: restoring });
      return [page.status, page.body.includes("Nothing was found"), page.body.match(/<h2>Groups of/g)?.length];
    };
    expect(await searchFor("marigold")).toEqual([200, false, 1]);
    expect(await searchFor("lotus")).toEqual([200, false, 2]);
  });

  it("shows nothing to an operator whose key was revoked while the search waited", async () => {
    const { visitor } = await newVisitor();
    const waiting = envWithSearch(async (real) => {
      await call("DELETE", "/api/operators/1", { credential: operator });
      const found = await real();
      return { ...found, value: { ...Reflect.get(found, "value"), hasWaited: true } };
    });
    const page = await visitor.get("/console/environments?search=marigold", { env: waiting });
    expect([page.status, page.body?.includes("Marigold")]).toEqual([303, undefined]);
  });

  it("keeps its text in its field and the counts of the tabs, and finds words in any order", async () => {
    const { visitor, tokenOf } = await newVisitor();
    for (const [id, name] of [
      ["lodz", "Łódź Coffee Roasters"],
      ["strasse", "Straße 7"],
      ["77", "Seventy"],
      ["177", "Street 77"],
    ] as const)
      await tokenOf(id, { name });
    const namesOf = async (path: string) => {
      const { body } = await visitor.get(path);
      return (body.match(/<td><a href="[^"]+"><bdi>[^<]+/g) ?? []).map((row: string) => row.split("<bdi>")[1]);
    };
    for (const base of [`${ENVIRONMENT}/groups?search=`, "/console/environments?search="])
      for (const [text, names] of [
        ["roasters lodz", ["Łódź Coffee Roasters"]],
        ["strasse", ["Straße 7"]],
        ["77", ["Seventy", "Street 77"]],
        ["5", ["Street 77"]],
        ["coffee tea", []],
      ] as const)
        expect([base, text, await namesOf(base + encodeURIComponent(text))]).toEqual([base, text, names]);
    const { body } = await visitor.get(`${ENVIRONMENT}/groups?search=%22%3E%3Cb%3E`);
    expect(body).toMatch(/<input[^>]* id="field-text" value="&quot;&gt;&lt;b&gt;"/);
    expect(body).toMatch(/>All <small>5<\/small>.*>Suspended <small>0<\/small>.*>Deleted <small>0<\/small>/);
    const pasted = await visitor.get(`${ENVIRONMENT}/groups?search=ugt_testing_x`);
    expect(pasted.body).toMatch(/id="field-text" value=""/);
  });

  it("puts no credential into an address, a title, a page or the log", async () => {
    const { search, key, token, operatorKey } = await newVisitor();
    const session = await sessionOf(key);
    const lines: string[] = [];
    for (const level of ["log", "info", "warn", "error"] as const)
      vi.spyOn(console, level).mockImplementation((...texts) => lines.push(texts.join(" ")));
    const secrets = [key, token, operatorKey, session, operator];
    for (const secret of secrets)
      for (const text of [
        ...[secret, `  ${secret}\n`, `Authorization: Token ${secret}`, `-H 'Authorization: Bearer ${secret}'`],
        ...[`OPERATOR_TOKEN=${secret}`, `export OPERATOR_TOKEN="${secret}"`, `"token":"${secret}",`],
      ]) {
        const { status, body, headers } = await search(text, { environment: "acme/Testing" });
        expect([text, status, headers.get("Location")]).toEqual([text, 200, null]);
        expect(body).not.toContain(secret);
      }
    const logged = lines.join("\n");
    for (const secret of secrets) expect(logged).not.toContain(secret);
    vi.restoreAllMocks();
  });

  it.for([
    `SIGNING_KEYS=k1:${"A".repeat(43)}=`,
    `"k1:${"A".repeat(42)}/="`,
    `k2:${"b+".repeat(42)}ab==`,
    `Cookie: console=k1.${"c".repeat(43)}.${"d".repeat(22)}`,
    `k1.${"c".repeat(41)}-_.${btoa("ada@x.org").replaceAll("=", "")}.${"d".repeat(22)}`,
    `OPERATOR_TOKEN=${"a".repeat(64)}`,
    `AGE-SECRET-KEY-1${"Q".repeat(58)}`,
  ])("puts no signing key, cookie or line of a file of secrets into an address: %s", async (text) => {
    const { search } = await newVisitor();
    const { status, body, headers } = await search(text, { environment: "acme/Testing" });
    expect([status, headers.get("Location")]).toEqual([200, null]);
    expect(body).toContain("It looks like a secret of an operator");
    expect(body).not.toContain(text.slice(-20));
  });

  it("takes an id with a hash for no secret", async () => {
    const { search } = await newVisitor();
    for (const text of [`sha256:${"0a".repeat(32)}`, `tenant.${"a".repeat(43)}`, `urn:uuid:${crypto.randomUUID()}`])
      expect([text, (await search(text)).status]).toEqual([text, 303]);
  });

  it("says what is known of a session, and of the bootstrap token", async () => {
    const { search, key } = await newVisitor();
    const session = await sessionOf(key, { viewer_id: "jane" });
    expect((await search(session)).body).toMatch(
      /It is a viewer session.*groups\/1".*Marigold Clinics.*active.*jane.*keys\/1\/about.*backend.*Nothing refuses it/,
    );
    expect((await search(`${session.slice(0, -4)}AAAA`)).body).toContain("no signing key of the service verifies it");
    expect((await search(operator)).body).toContain("It is the bootstrap token");
  });

  it("says why calls with a session, a token or a key are refused, since when and by whom", async () => {
    const { search, key, token } = await newVisitor();
    const session = await sessionOf(key);
    const body = { suspended: true, reason: "unpaid" };
    await call("PUT", `/api/user_groups/1${inEnvironment()}`, { credential: operator, body });
    for (const text of [session, token])
      expect((await search(text)).body).toMatch(
        /Marigold Clinics.*suspended.*<code>user_group_suspended<\/code> The group is suspended.*Since <time.*bootstrap.*unpaid/,
      );
    expect((await search(key)).body).toContain("Nothing refuses it");
    await call("DELETE", `/api/keys/1${inEnvironment()}`, { credential: operator, body: {} });
    for (const text of [session, key]) expect((await search(text)).body).toContain("<code>credential_revoked</code>");
  });

  it("takes texts of 1 to 100 UTF-16 code units", async () => {
    const { search } = await newVisitor();
    const refused = await search("x y ".repeat(26));
    expect(refused.status).toBe(422);
    expect(refused.body).toContain("1 to 100 UTF-16 code units (most emoji count as 2)");
    expect((await search(" ")).status).toBe(422);
  });

  it("of an environment that does not exist leads to all of them", async () => {
    const { search } = await newVisitor();
    for (const environment of ["../../evil", "acme/Nowhere", "//evil.example"])
      expect((await search("x", { environment })).headers.get("Location")).toBe("/console/environments?search=x");
  });
});

describe("the frame", () => {
  it("stays on pages that are refused or missing, and each of these has a way on", async () => {
    const { visitor } = await newVisitor("viewer");
    for (const [path, status, isInEnvironment, way] of [
      [`${ENVIRONMENT}/groups/99`, 404, true, `${ENVIRONMENT}/groups`],
      [`${ENVIRONMENT}/nonsense`, 404, true, "/console/environments"],
      [`${ENVIRONMENT}/keys/issue`, 403, true, "/console/operators"],
      ["/console/operators/issue", 403, false, "/console/operators"],
      ["/console/environments/acme/Customer/groups", 404, false, "/console/environments"],
      ["/console/nonsense", 404, false, "/console/environments"],
    ] as const) {
      const page = await visitor.get(path);
      expect([path, page.body.includes(`<a class="button" href="${way}">`)]).toEqual([path, true]);
      expect([path, page.status, page.body.includes('role="search"')]).toEqual([path, status, true]);
      expect([path, page.body.includes(`href="${ENVIRONMENT}/keys"`)]).toEqual([path, isInEnvironment]);
    }
    const stranger = await visit("GET", "/console/nonsense");
    expect([stranger.status, stranger.body.includes('role="search"')]).toEqual([404, false]);
  });

  it("names the group and the environment in the title, and shows no character there that moves others", async () => {
    const { visitor, tokenOf } = await newVisitor();
    await tokenOf("evil", { name: "\u202Egnp.exe" });
    const titleOf = async (path: string) => /<title>([^<]*)/.exec((await visitor.get(path)).body)?.[1];
    expect(await titleOf(`${ENVIRONMENT}/groups/1`)).toBe("Marigold Clinics · acme/Testing · User groups");
    expect(await titleOf(`${ENVIRONMENT}/groups/2`)).toBe("[U+202E]gnp.exe · acme/Testing · User groups");
  });

  it("offers the environments of the same workspace first", async () => {
    const { visitor } = await newVisitor();
    for (const [workspace, environment] of [
      ["globex", "Customer"],
      ["acme", "Customer"],
    ])
      await call("POST", "/api/keys", { credential: operator, body: { workspace, environment, name: "x" } });
    const { body } = await visitor.get(ENVIRONMENT);
    const menu = body.slice(0, body.indexOf('role="search"'));
    const names = [...menu.matchAll(/<a href="\/console\/environments\/([^"]+)"/g)].map(([, name]) => name);
    expect(names).toEqual(["acme/Customer", "acme/Testing", "globex/Customer"]);
  });
});

describe("a form whose session has ended", () => {
  it("is shown once with what was typed, and without what may be a secret", async () => {
    const { visitor, operatorKey, key } = await newVisitor("admin");
    const path = `${ENVIRONMENT}/groups/1/edit`;
    await visitor.forge("/console/sign-out");
    const fields = { name: "<b>New name</b>", properties: '{"plan":"pro"}', reason: key, operator_key: operatorKey };
    const { status, body, headers } = await visitor.forge(path, fields);
    expect([status, headers.get("Location"), headers.get("Cache-Control")]).toEqual([401, null, "no-store"]);
    expect(body).toContain("&lt;b&gt;New name&lt;/b&gt;");
    expect(body).toContain("{&quot;plan&quot;:&quot;pro&quot;}");
    expect(body).toContain(`href="/console/sign-in?next=${encodeURIComponent(path)}"`);
    for (const secret of [key, operatorKey]) expect(body).not.toContain(secret);
  });

  it("is shown, too, without the cookie, which signing out in another window deletes", async () => {
    const { visitor, operatorKey, key } = await newVisitor("admin");
    const path = `${ENVIRONMENT}/groups/1/edit`;
    const form_token = await formToken(visitor.cookie, path);
    const properties = JSON.stringify({ plan: "p".repeat(15_000) });
    const fields = { form_token, name: "New name", properties, reason: key, operator_key: operatorKey };
    const send = (from: VisitOptions, to = path) =>
      visit("POST", to, { ...from, fields: { ...fields, ...from.fields } });
    const { status, body } = await send({});
    expect([status, body.includes("New name"), body.includes("p".repeat(15_000))]).toEqual([401, true, true]);
    for (const secret of [key, operatorKey]) expect(body).not.toContain(secret);
    expect((await visitor.get(`${ENVIRONMENT}/groups/1`)).body).not.toContain("New name");

    const back = `/console/sign-in?next=${encodeURIComponent(path)}`;
    const [id, own] = form_token.split(".");
    const forgeries = ["", "forged", `${id}.${own}`, `${id}.${own}.`, `${id}.${own}.${own}`, `${form_token}x`];
    for (const forged of forgeries) {
      const refused = await send({ fields: { form_token: forged } });
      expect([forged, refused.status, refused.headers.get("Location")]).toEqual([forged, 303, back]);
    }
    expect((await send({}, `${ENVIRONMENT}/groups/2/edit`)).status).toBe(303);
    expect((await send({ fields: { properties: "p".repeat(65 * 1024) } })).status).toBe(413);
    vi.useFakeTimers({ now: Date.now(), toFake: ["Date"] });
    vi.setSystemTime(Date.now() + 25 * 60 * 60_000);
    expect((await send({})).status).toBe(303);
  });

  it("shows nothing that another page has sent", async () => {
    const { visitor } = await newVisitor("admin");
    const path = `${ENVIRONMENT}/groups/1/edit`;
    await visitor.forge("/console/sign-out");
    const { status, body } = await visitor.forge(path, { name: "Call 555-1234", form_token: "forged" });
    expect([status, body.includes("555-1234")]).toEqual([403, false]);
  });
});
