import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, inject, it } from "vitest";
import { OperatorClient } from "../../client/src/index.ts";
import { outcomeOf, runCommand, startCommand } from "../support/node/commands.ts";
import { newFolder } from "../support/node/new-folder.ts";
import { standIn } from "../support/node/stand-in.ts";
import { keyOfWorkspace } from "../support/node/workspace.ts";

const { url, operatorToken } = inject("service");
const bootstrap = new OperatorClient({ url, operatorKey: operatorToken });

/** A folder for settings of the test's own, and `ug` with it, without any variable that names a deployment or a credential. */
function newUser() {
  const home = newFolder();
  const env = { XDG_CONFIG_HOME: home, SERVICE_URL: "" };
  const fileOf = (text: string) => {
    const file = join(home, "key");
    writeFileSync(file, `${text}\n`);
    return file;
  };
  const ug = ([name = "", ...args]: readonly string[], more: NodeJS.ProcessEnv = {}) =>
    runCommand(name, args, { ...env, ...more });
  return {
    home,
    env,
    ug,
    fileOf,
    contextFile: (name: string) => join(home, `ug/contexts/${name}.json`),
    add: (name: string, key: string, at = url, ...args: string[]) =>
      ug(["context", "add", name, "--url", at, "--key-file", fileOf(key), ...args]),
  };
}

/** A deployment that takes any key, says whose it is, and has no groups. */
const deployment = (name: string) =>
  standIn(({ path }) =>
    path.startsWith("/api/whoami")
      ? {
          status: 200,
          body: { success: 1, caller: { kind: "api_key", name, workspace: "acme", environment: null, scopes: [] } },
        }
      : { status: 200, body: { success: 1, user_groups: [], next_cursor: null } },
  );

it("stores a deployment and a key, for its owner alone, and never shows the key", async () => {
  const { ug, add, home, contextFile } = newUser();
  const apiKey = await keyOfWorkspace("contexts-stored");
  const added = await add("here", apiKey);
  expect(added).toEqual({
    status: 0,
    stderr: "",
    stdout: `Stored here: ${url}, API key backend of contexts-stored/Testing. It is in use`,
  });
  expect(statSync(contextFile("here")).mode & 0o777).toBe(0o600);
  for (const folder of ["ug", "ug/contexts"]) expect(statSync(join(home, folder)).mode & 0o777).toBe(0o700);
  expect(readdirSync(join(home, "ug/contexts"))).toEqual(["here.json"]);
  const listed = await ug(["context", "list"]);
  expect(listed.stdout).toMatch(new RegExp(`here +${url} +API key backend of contexts-stored/Testing`));
  const json = await ug(["context", "list", "--json"]);
  expect(JSON.parse(json.stdout).contexts).toMatchObject([{ name: "here", url, in_use: true }]);
  for (const { stdout, stderr } of [added, listed, json]) expect(stdout + stderr).not.toContain(apiKey.slice(-20));
  expect((await ug(["groups", "create", "acme", "--context", "here"])).status).toBe(0);
});

it("prints nothing of a deployment that a terminal interprets", async () => {
  const { ug, add } = newUser();
  const { url: at } = await deployment("\u009b31m\u202e");
  const added = await add("strange", "ugk_x", at);
  const listed = await ug(["context", "list"]);
  for (const { stdout, status } of [added, listed]) {
    expect(status).toBe(0);
    expect(stdout).toContain("\\u009b31m\\u202e");
    expect(stdout).not.toMatch(/[^\P{C}\n]/u);
  }
});

it("uses the first context at once, and no other one before somebody says so", async () => {
  const { ug, add } = newUser();
  const [first, second] = [await deployment("first"), await deployment("second")];
  expect((await add("first", "ugk_first", first.url)).stdout).toMatch(/ It is in use$/);
  expect((await ug(["groups", "list"])).status).toBe(0);
  expect(first.received.at(-1)?.headers.authorization).toBe("Token ugk_first");

  expect((await add("second", "ugk_second", second.url)).stdout).toMatch(/ ug context use second$/);
  await ug(["context", "use", "--none"]);
  await add("third", "ugk_third", second.url);
  const { contexts } = JSON.parse((await ug(["context", "list", "--json"])).stdout);
  expect(contexts.map(({ in_use }: { in_use: boolean }) => in_use)).toEqual([false, false, false]);
});

it("says which variables come before the first context", async () => {
  const { ug, fileOf } = newUser();
  const { url: at } = await deployment("first");
  const args = ["context", "add", "first", "--url", at, "--key-file", fileOf("ugk_x"), "--json"];
  const { stdout, stderr } = await ug(args, { API_KEY: "ugk_other" });
  expect(JSON.parse(stdout).context).toMatchObject({ name: "first", in_use: true });
  expect(stderr).toContain("API_KEY come before the context in use");
});

it("reads the key from standard input", async () => {
  const { env, ug } = newUser();
  const child = startCommand("context", ["add", "piped", "--url", url, "--key-file", "-"], env);
  child.stdin?.end(`${await keyOfWorkspace("contexts-piped")}\n`);
  expect(await outcomeOf(child)).toMatchObject({ status: 0, stderr: "" });
  expect((await ug(["whoami", "--context", "piped"])).stdout).toContain("contexts-piped");
});

it("counts options first, then --context or UG_CONTEXT, then the variables, then the context in use", async () => {
  const { ug, add, fileOf } = newUser();
  const [used, named, ofVariables, ofOption] = [
    await deployment("used"),
    await deployment("named"),
    await deployment("variables"),
    await deployment("option"),
  ];
  await add("used", "ugk_used", used.url);
  await add("named", "ugk_named", named.url);
  await ug(["context", "use", "used"]);
  const called = async (args: readonly string[], env: NodeJS.ProcessEnv = {}) => {
    for (const { received } of [used, named, ofVariables, ofOption]) received.length = 0;
    await ug(["groups", "list", ...args], env);
    const calls = { used, named, ofVariables, ofOption };
    return Object.entries(calls).flatMap(([name, { received }]) =>
      received.map(({ headers }) => `${name} ${headers.authorization}`),
    );
  };
  const variables = { SERVICE_URL: ofVariables.url, API_KEY: "ugk_variable" };
  expect(await called([])).toEqual(["used Token ugk_used"]);
  expect(await called([], variables)).toEqual(["ofVariables Token ugk_variable"]);
  expect(await called([], { ...variables, UG_CONTEXT: "named" })).toEqual(["named Token ugk_named"]);
  expect(await called(["--context", "named"], { ...variables, UG_CONTEXT: "used" })).toEqual(["named Token ugk_named"]);
  const keyFile = ["--key-file", fileOf("ugk_file")];
  expect(await called(["--context", "named", ...keyFile], variables)).toEqual(["named Token ugk_file"]);
  expect(await called(["--url", ofOption.url, ...keyFile], { ...variables, UG_CONTEXT: "named" })).toEqual([
    "ofOption Token ugk_file",
  ]);
});

it("sends the key of a context to its own deployment alone, and no other key there without being asked", async () => {
  const { ug, add } = newUser();
  const [own, other] = [await deployment("own"), await deployment("other")];
  await add("own", "ugk_own", own.url);
  await ug(["context", "use", "own"]);
  own.received.length = 0;
  const asked = async (args: readonly string[], env: NodeJS.ProcessEnv = {}) =>
    (await ug(["groups", "list", ...args], env)).status;
  expect(await asked(["--url", other.url])).toBe(1);
  expect(await asked(["--url", other.url, "--context", "own"])).toBe(2);
  expect(await asked([], { SERVICE_URL: other.url })).toBe(1);
  expect(await asked([], { SERVICE_URL: other.url, API_KEY: "ugk_variable" })).toBe(0);
  expect(await asked([], { API_KEY: "ugk_variable" })).toBe(3);
  expect(own.received).toEqual([]);
  expect(other.received.map(({ headers }) => headers.authorization)).toEqual(["Token ugk_variable"]);
});

it("names the environment of an operator's commands, unless they name another", async () => {
  const { ug, add } = newUser();
  await keyOfWorkspace("contexts-first");
  await keyOfWorkspace("contexts-second");
  const ofFirst = ["--workspace", "contexts-first", "--environment", "Testing"];
  expect((await add("first", operatorToken, url, ...ofFirst)).status).toBe(0);
  const workspaceOf = async (args: readonly string[], env: NodeJS.ProcessEnv = {}) =>
    JSON.parse((await ug(["keys", "list", "--json", ...args], env)).stdout).api_keys?.[0].workspace;
  const other = { UG_WORKSPACE: "contexts-second", UG_ENVIRONMENT: "Testing" };
  expect(await workspaceOf(["--context", "first"])).toBe("contexts-first");
  expect(await workspaceOf(["--context", "first"], other)).toBe("contexts-first");
  const named = ["--workspace", "contexts-second", "--environment", "Testing"];
  expect(await workspaceOf(["--context", "first", ...named])).toBe("contexts-second");
  // Half of a name is not completed with the other half of another.
  const half = await ug(["keys", "list", "--context", "first", "--workspace", "contexts-second"]);
  expect([half.status, half.stderr]).toEqual([2, expect.stringContaining("Give --environment")]);
  await ug(["context", "use", "first"]);
  expect(await workspaceOf([], other)).toBe("contexts-second");
});

it("lets no operator create groups, alone or from a file", async () => {
  const { ug, add, fileOf } = newUser();
  await add("first", operatorToken, url, "--workspace", "contexts-import", "--environment", "Testing");
  for (const args of [
    ["create", "acme"],
    ["import", fileOf('{"user_group_id":"acme"}')],
  ])
    expect(await ug(["groups", ...args])).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/takes an API key/),
    });
});

it("says which deployment and context a change without an undo is about, before it does it", async () => {
  const { ug, add } = newUser();
  const { operator } = await bootstrap.issueOperator({ name: "leaving", role: "viewer" });
  await add("prod", operatorToken);
  const revoke = ["operators", "revoke", String(operator.id), "--context", "prod"];
  expect((await ug(revoke)).stderr).toContain(
    `This would revoke operator ${operator.id} "leaving", viewer, at ${url} (context prod), which cannot be undone. Nothing was changed.`,
  );
  expect((await ug([...revoke, "--yes"])).stderr).toBe(
    `At ${url} (context prod): revoke operator ${operator.id} "leaving", viewer.`,
  );
});

it("shows a command line to copy that is about the same deployment", async () => {
  const { ug, add, home } = newUser();
  const apiKey = await keyOfWorkspace("contexts-copied");
  await add("a.b", apiKey);
  await ug(["groups", "create", "acme", "--context", "a.b"]);
  const { stderr } = await ug(["groups", "rotate", "1", "--context", "a.b"]);
  expect(stderr).toContain("To do it: ug groups rotate 1 --yes --context a.b");

  const keyFile = join(home, "it's a key");
  writeFileSync(keyFile, apiKey);
  const byFile = await ug(["groups", "rotate", "1", "--key-file", keyFile, "--url", url]);
  expect(byFile.stderr).toContain(`--yes --url ${url} --key-file '${join(home, "it'\\''s a key")}'`);
});

it.for([
  [
    "a key of another deployment",
    async () => ({ key: "ugk_other", at: url }),
    1,
    "refused the file of --key-file (unauthenticated)",
  ],
  ["a deployment that is not there", async () => ({ key: "ugk_x", at: "http://127.0.0.1:1" }), 3, "cannot be reached"],
  ["an address without TLS", async () => ({ key: "ugk_x", at: "http://192.0.2.1" }), 2, "Give --url as https://"],
  ["an empty file", async () => ({ key: "", at: url }), 2, "is empty"],
] as const)("stores nothing for %s, and says why", async ([, input, status, sentence]) => {
  const { ug, add } = newUser();
  const { key, at } = await input();
  const added = await add("prod", key, at);
  expect([added.status, added.stdout, added.stderr]).toEqual([status, "", expect.stringContaining(sentence)]);
  expect((await ug(["context", "list"])).stdout).toContain("There are no contexts.");
});

it("replaces a context only with --replace, and keeps it if the new key is refused", async () => {
  const { ug, add } = newUser();
  await add("prod", await keyOfWorkspace("contexts-before"));
  expect((await add("prod", await keyOfWorkspace("contexts-after"))).status).toBe(2);
  expect((await add("prod", "ugk_wrong", url, "--replace")).status).toBe(1);
  expect((await ug(["whoami", "--context", "prod"])).stdout).toContain("contexts-before");
  expect((await add("prod", await keyOfWorkspace("contexts-after"), url, "--replace")).status).toBe(0);
  expect((await ug(["whoami", "--context", "prod"])).stdout).toContain("contexts-after");
});

it("says what to do about a file that is no context, that others may read, and a key that is refused by now", async () => {
  const { ug, add, contextFile } = newUser();
  const workspace = "contexts-unusable";
  await add("prod", await keyOfWorkspace(workspace));
  const list = () => ug(["groups", "list", "--context", "prod"]);
  chmodSync(contextFile("prod"), 0o640);
  expect((await list()).stderr).toContain(`chmod 600 "${contextFile("prod")}"`);
  chmodSync(contextFile("prod"), 0o600);
  expect((await list()).status).toBe(0);
  await bootstrap.revokeKey({ workspace, environment: "Testing", id: 1 });
  const refused = await list();
  expect(refused.status).toBe(1);
  expect(refused.stderr).toContain("refused the key of the context prod (credential_revoked)");
  expect(refused.stderr).toContain(`ug context add prod --replace --url ${url} --key-file FILE`);
  writeFileSync(contextFile("prod"), '{"url":"https://groups.example.com","key":"ugk_hunter2"');
  const broken = await list();
  expect([broken.status, broken.stderr]).toEqual([1, expect.stringContaining("Store it again: ug context add prod")]);
  expect(broken.stderr).not.toContain("hunter2");
  // The others are listed, and this one can be removed.
  expect((await ug(["context", "list"])).stdout).toContain("prod");
  expect((await ug(["context", "remove", "prod"])).status).toBe(0);
  expect((await list()).stderr).toContain("There is no context prod.");
});

it("removes a context that is in use, and then uses none", async () => {
  const { ug, add, contextFile } = newUser();
  const { url: at } = await deployment("x");
  await add("prod", "ugk_x", at);
  expect((await ug(["context", "use", "typo"])).stderr).toContain("There is no context typo.");
  expect((await ug(["context", "use", "prod"])).stdout).toBe(`In use: prod, ${at}.`);
  expect((await ug(["context", "use", "prod"], { API_KEY: "x" })).stderr).toContain(
    "API_KEY come before the context in use",
  );
  expect((await ug(["context", "list"])).stdout).toMatch(/^\* +prod /m);
  expect((await ug(["context", "remove", "prod"])).status).toBe(0);
  expect(() => readFileSync(contextFile("prod"))).toThrow("ENOENT");
  expect((await ug(["groups", "list"])).stderr).toContain("Set API_KEY");
});

it.for(["../prod", "a/b", ".hidden", "a b", "x".repeat(41)])("takes %j for no name of a context", async (name) => {
  const { ug } = newUser();
  for (const args of [
    ["add", name, "--url", url, "--key-file", "k"],
    ["use", name],
    ["remove", name],
  ])
    expect((await ug(["context", ...args])).status).toBe(2);
  expect((await ug(["groups", "list", "--context", name])).status).toBe(2);
});
