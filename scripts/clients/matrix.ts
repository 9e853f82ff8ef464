/**
 * The clients by which integrators call the service: the example of each, and the ways in which its GET can lose the body.
 * What runs here is what `examples/` shows, in a process of its own, with nothing but the environment to tell it where.
 */
import { execFile, spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";

const RUN_MS_MAX = 60_000;
const JAVA_MAJOR_MIN = 17;
const CREDENTIAL = /ug[kt]_(?:customer|testing|untagged)_[\w-]{60,154}/g;

/** Where the service is, and what to show it. */
export type Target = { url: string; key: string };

type Command = readonly [program: string, ...args: string[]];

/** How a client makes a GET whose body may get lost, or why it cannot. The id of the group comes last. */
type Loss = { command: Command; throwsItself?: true } | { cannot: string };

export type Client = {
  name: string;
  /** What is missing where `version` finds nothing. */
  needs: string;
  version: () => string | undefined;
  example: Command;
  chunked: Loss;
  noLength: Loss;
};

/** How a process ended; a `status` of `undefined` means that it had to be stopped, or never began. */
export type Ran = { status: number | undefined; stdout: string; stderr: string };

/** What is read of the line that an example prints, and of an answer of the service. */
type Answer = {
  error?: { code: string };
  user_group?: { provided_id: string; token: string };
  thrown?: string;
};

/** The first number in what a command prints, if it ends well. */
function versionBy([program, ...args]: Command): string | undefined {
  const { status, stdout } = spawnSync(program, args, { encoding: "utf8", timeout: RUN_MS_MAX });
  return status === 0 ? /\d+(\.\d+)*/.exec(stdout)?.[0] : undefined;
}

function javaVersion(): string | undefined {
  const version = versionBy(["java", "--add-modules", "jdk.compiler,java.net.http", "--version"]);
  return Number.parseInt(version ?? "0", 10) >= JAVA_MAJOR_MIN ? version : undefined;
}

const nodeVersion = (): string | undefined => process.versions.node;

function packageVersion(name: string): string | undefined {
  const file = `node_modules/${name}/package.json`;
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")).version : undefined;
}

/** A client of Node, from a package of its own or from Node itself. */
function ofNode(name: string, file: string, version = nodeVersion) {
  const lose = (way: string): Command => [process.execPath, "scripts/clients/lost-body.ts", name, way];
  return {
    name,
    needs: `the package ${name}`,
    version,
    example: [process.execPath, `examples/${file}.ts`],
    chunked: { command: lose("chunked") },
    noLength: { command: lose("no-length") },
  } satisfies Client;
}

/** A client whose fetch lets no GET out that has a body. */
function ofFetch(name: string, file: string, version = nodeVersion): Client {
  const client = ofNode(name, file, version);
  return {
    ...client,
    chunked: { ...client.chunked, throwsItself: true },
    noLength: { ...client.noLength, throwsItself: true },
  };
}

/** Java writes in the encoding of the terminal unless told. */
const JAVA_UTF8 = ["-Dfile.encoding=UTF-8", "-Dstdout.encoding=UTF-8"];

export const CLIENTS: readonly Client[] = [
  {
    name: "curl",
    needs: "curl or bash",
    version: () => versionBy(["bash", "-c", "curl --version"]),
    example: ["bash", "examples/curl.sh"],
    chunked: { command: ["bash", "scripts/clients/lost-body.sh", "chunked"] },
    noLength: { command: ["bash", "scripts/clients/lost-body.sh", "no-length"] },
  },
  {
    name: "Python urllib.request",
    needs: "python3",
    version: () => versionBy(["python3", "--version"]),
    example: ["python3", "examples/urllib_request.py"],
    chunked: { command: ["python3", "scripts/clients/lost_body.py", "urllib.request", "chunked"] },
    noLength: { cannot: "sends every body with a length or in chunks" },
  },
  {
    name: "Python http.client",
    needs: "python3",
    version: () => versionBy(["python3", "--version"]),
    example: ["python3", "examples/http_client.py"],
    chunked: { command: ["python3", "scripts/clients/lost_body.py", "http.client", "chunked"] },
    noLength: { command: ["python3", "scripts/clients/lost_body.py", "http.client", "no-length"] },
  },
  {
    name: "Perl HTTP::Tiny",
    needs: "perl with HTTP::Tiny and JSON::PP",
    version: () => versionBy(["perl", "-MHTTP::Tiny", "-MJSON::PP", "-e", "print HTTP::Tiny->VERSION"]),
    example: ["perl", "examples/http-tiny.pl"],
    chunked: { command: ["perl", "scripts/clients/lost-body.pl"] },
    noLength: { cannot: "sends every body with a length or in chunks" },
  },
  {
    name: "Java HttpClient",
    needs: `a JDK, ${JAVA_MAJOR_MIN} or newer`,
    version: javaVersion,
    example: ["java", ...JAVA_UTF8, "examples/UserGroups.java"],
    chunked: { command: ["java", ...JAVA_UTF8, "scripts/clients/LostBody.java"] },
    noLength: { cannot: "sends every body with a length or in chunks, and lets nobody set Content-Length" },
  },
  ofNode("Node http", "node-http"),
  {
    ...ofNode("undici", "undici", () => packageVersion("undici")),
    noLength: { cannot: "sends every body with a length or in chunks" },
  },
  ofNode("axios", "axios", () => packageVersion("axios")),
  ofNode("got", "got", () => packageVersion("got")),
  ofNode("superagent", "superagent", () => packageVersion("superagent")),
  ofFetch("fetch", "fetch"),
  ofFetch("ky", "ky", () => packageVersion("ky")),
  ofFetch("axios fetch", "axios-fetch", () => packageVersion("axios")),
];

/** Runs a command to its end. What it calls is not to be found through a proxy when it is on this machine. */
function run([program, ...args]: Command, { url, key }: Target, id: string): Promise<Ran> {
  const noProxy = [process.env.NO_PROXY, "localhost,127.0.0.1,::1"].filter(Boolean).join(",");
  const env = { ...process.env, SERVICE_URL: url, API_KEY: key, NO_PROXY: noProxy, no_proxy: noProxy };
  return new Promise((settle) =>
    execFile(program, [...args, id], { env, encoding: "utf8", timeout: RUN_MS_MAX }, (error, stdout, stderr) => {
      const status = error === null ? 0 : error.code;
      settle({ status: typeof status === "number" ? status : undefined, stdout, stderr });
    }),
  );
}

const newId = () => `client-${randomUUID()}`;

const withoutCredentials = (text: string, { key }: Target) => text.replaceAll(key, "…").replaceAll(CREDENTIAL, "…");

function parse(text: string): Answer | undefined {
  try {
    return JSON.parse(text) as Answer;
  } catch {
    return undefined;
  }
}

async function ask({ url, key }: Target, method: string, body: object): Promise<Answer> {
  const response = await fetch(`${url}/api/user`, {
    method: "POST",
    headers: { Authorization: `Token ${key}`, "Content-Type": "application/json", "X-HTTP-Method-Override": method },
    body: JSON.stringify(body),
  });
  return parse(await response.text()) ?? {};
}

/** Whether there is such a group, for all that is known: only the service's own word counts against it. */
async function exists(target: Target, id: string): Promise<boolean> {
  return (await ask(target, "PUT", { user_group_id: id })).error?.code !== "user_group_not_found";
}

/** What came of running a client. `detail` is there when it went wrong, and holds no credential. */
export type Outcome = { ok: boolean; saw: string; detail?: string };

const failed = (detail: string): Outcome => ({ ok: false, saw: "FAILED", detail: detail.trim() });

/** Runs the example of a client on a group. */
export const runExample = (client: Client, target: Target, id = newId()): Promise<Ran> =>
  run(client.example, target, id);

/** Runs the example: a group is created, updated, rotated, viewed with the new token, and deleted. */
export async function walk(client: Client, target: Target): Promise<Outcome> {
  const id = newId();
  const { status, stdout, stderr } = await runExample(client, target, id);
  const said = withoutCredentials(stdout + stderr, target);
  if (said !== stdout + stderr) return failed(`It printed a credential: ${said}`);
  if (status !== 0) return failed(said);
  const expected = { created: true, updated: "Café Acme", rotated: true, viewed: "Café Acme", deleted: true };
  if (!isDeepStrictEqual(parse(stdout), expected)) return failed(`It saw something else: ${said}`);
  return (await exists(target, id)) ? failed("The group is still there.") : { ok: true, saw: "worked" };
}

/**
 * Makes the GET whose body may get lost. Where it does, the service has to say so and may create nothing. What arrives whole
 * is well, too: servers differ in what they read of a GET.
 */
export async function loseBody(loss: Loss, target: Target): Promise<Outcome> {
  if ("cannot" in loss) return { ok: true, saw: "cannot" };
  const id = newId();
  const { stdout, stderr } = await run(loss.command, target, id);
  const answer = parse(stdout);
  const wasCreated = await exists(target, id);
  if (loss.throwsItself && answer?.thrown?.includes("GET") && !wasCreated) return { ok: true, saw: "throws itself" };
  if (answer?.error?.code === "body_required" && !wasCreated) return { ok: true, saw: "body_required" };
  if (answer?.user_group?.provided_id === id && wasCreated) {
    await ask(target, "DELETE", { current_token: answer.user_group.token });
    return { ok: true, saw: "arrives" };
  }
  return failed(withoutCredentials(stdout + stderr, target));
}
