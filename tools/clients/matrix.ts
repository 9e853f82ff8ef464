/**
 * The HTTP clients of integrators: the example of each, and the ways in which its GET can lose the body. Each run is a
 * process of its own with a file of `examples/`, which reads the service's address and the key from the environment.
 */
import { execFile, spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { send } from "../call.ts";

const RUN_MS_MAX = 60_000;
const JAVA_MAJOR_MIN = 17;
const CREDENTIAL = /ug[kt]_(?:customer|testing|untagged)_[\w-]{60,154}/g;

/** The service's address, and the API key for it. */
export type Target = { url: string; key: string };

type Command = readonly [program: string, ...args: string[]];

/** A command that makes a GET whose body may get lost, or the reason why there is none. The group's id is the last argument. */
type Loss = { command: Command; throwsItself?: true } | { cannot: string };

export type Client = {
  name: string;
  /** What has to be installed, for the message when `version` finds nothing. */
  needs: string;
  version: () => string | undefined;
  example: Command;
  chunked: Loss;
  noLength: Loss;
};

/** How a process ended. `status` is `undefined` if it had to be killed, or did not start. */
type Exit = { status: number | undefined; stdout: string; stderr: string };

/** The fields that are read of a line that an example prints, and of a response of the service. */
type Printed = {
  error?: { code: string };
  user_group?: { provided_id: string; token: string };
  thrown?: string;
};

/** The first version number that a command prints, if it succeeds. */
export function versionBy([program, ...args]: Command): string | undefined {
  const { status, stdout } = spawnSync(program, args, { encoding: "utf8", timeout: RUN_MS_MAX });
  return status === 0 ? /\d+(\.\d+)*/.exec(stdout)?.[0] : undefined;
}

function javaVersion(): string | undefined {
  const version = versionBy(["java", "--add-modules", "jdk.compiler,java.net.http", "--version"]);
  return Number.parseInt(version ?? "0", 10) >= JAVA_MAJOR_MIN ? version : undefined;
}

const nodeVersion = (): string | undefined => process.versions.node;

/** Finds the version of a package of npm. */
export const ofNpm = (name: string) => (): string | undefined => {
  const file = ["examples/node_modules", "node_modules"]
    .map((folder) => `${folder}/${name}/package.json`)
    .find(existsSync);
  return file && JSON.parse(readFileSync(file, "utf8")).version;
};

const ALWAYS_WHOLE: Loss = { cannot: "sends every body with a length or in chunks" };

/** A client of Node, from a package of its own or from Node itself. */
function ofNode(name: string, file: string, version = nodeVersion) {
  const lose = (way: string): Command => [process.execPath, "examples/lost-body/lost-body.ts", name, way];
  return {
    name,
    needs: `the package ${name}`,
    version,
    example: [process.execPath, `examples/${file}.ts`],
    chunked: { command: lose("chunked") },
    noLength: { command: lose("no-length") },
  } satisfies Client;
}

/** A client of Python, from a module that has to be installed or from Python itself. */
const ofPython = (module: string, file: string, { isInstalled } = { isInstalled: true }): Client => ({
  name: `Python ${module}`,
  needs: isInstalled ? `python3 with the module ${module}` : "python3",
  version: () =>
    versionBy(["python3", ...(isInstalled ? ["-c", `import ${module}; print(${module}.__version__)`] : ["--version"])]),
  example: ["python3", `examples/${file}.py`],
  chunked: { command: ["python3", "examples/lost-body/lost_body.py", module, "chunked"] },
  noLength: ALWAYS_WHOLE,
});

/** A client whose fetch refuses to send a GET with a body. */
function ofFetch(name: string, file: string, version = nodeVersion): Client {
  const client = ofNode(name, file, version);
  return {
    ...client,
    chunked: { ...client.chunked, throwsItself: true },
    noLength: { ...client.noLength, throwsItself: true },
  };
}

/** Java for a short run, which does not pay for a better compiler or more threads, and prints UTF-8 in every terminal. */
export const JAVA = [
  "java",
  "-XX:TieredStopAtLevel=1",
  "-XX:+UseSerialGC",
  "-Dfile.encoding=UTF-8",
  "-Dstdout.encoding=UTF-8",
] as const;

export const CLIENTS: readonly Client[] = [
  {
    name: "curl",
    needs: "curl or bash",
    version: () => versionBy(["bash", "-c", "curl --version"]),
    example: ["bash", "examples/curl.sh"],
    chunked: { command: ["bash", "examples/lost-body/lost-body.sh", "chunked"] },
    noLength: { command: ["bash", "examples/lost-body/lost-body.sh", "no-length"] },
  },
  ofPython("urllib.request", "urllib_request", { isInstalled: false }),
  {
    ...ofPython("http.client", "http_client", { isInstalled: false }),
    noLength: { command: ["python3", "examples/lost-body/lost_body.py", "http.client", "no-length"] },
  },
  ofPython("requests", "requests_session"),
  ofPython("httpx", "httpx_client"),
  ofPython("aiohttp", "aiohttp_client"),
  {
    name: "Perl HTTP::Tiny",
    needs: "perl with HTTP::Tiny and JSON::PP",
    version: () => versionBy(["perl", "-MHTTP::Tiny", "-MJSON::PP", "-e", "print HTTP::Tiny->VERSION"]),
    example: ["perl", "examples/http-tiny.pl"],
    chunked: { command: ["perl", "examples/lost-body/lost-body.pl"] },
    noLength: ALWAYS_WHOLE,
  },
  {
    name: "Java HttpClient",
    needs: `a JDK, ${JAVA_MAJOR_MIN} or newer`,
    version: javaVersion,
    example: [...JAVA, "examples/UserGroups.java"],
    chunked: { command: [...JAVA, "examples/lost-body/LostBody.java"] },
    noLength: { cannot: "sends every body with a length or in chunks, and does not let a program set Content-Length" },
  },
  ofNode("Node http", "node-http"),
  { ...ofNode("undici", "undici", ofNpm("undici")), noLength: ALWAYS_WHOLE },
  ofNode("axios", "axios", ofNpm("axios")),
  ofNode("got", "got", ofNpm("got")),
  ofNode("superagent", "superagent", ofNpm("superagent")),
  ofFetch("fetch", "fetch"),
  ofFetch("ky", "ky", ofNpm("ky")),
  ofFetch("axios fetch", "axios-fetch", ofNpm("axios")),
];

/** Runs a command to its end. A service on this machine is called without a proxy. */
function run([program, ...args]: Command, { url, key }: Target, id: string): Promise<Exit> {
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

function parse(text: string): Printed | undefined {
  try {
    return JSON.parse(text) as Printed;
  } catch {
    return undefined;
  }
}

async function call({ url, key }: Target, method: string, body: object): Promise<Printed> {
  const headers = { "X-HTTP-Method-Override": method };
  const { text } = await send(new URL("/api/user", url), { method: "POST", credential: key, headers, body });
  return parse(text) ?? {};
}

/** Whether there is such a group. It is assumed to exist unless the service answers that it does not. */
async function exists(target: Target, id: string): Promise<boolean> {
  return (await call(target, "PUT", { user_group_id: id })).error?.code !== "user_group_not_found";
}

/** The outcome of running a client. `detail` explains a failure, and holds no credential. */
export type Outcome = { ok: boolean; result: string; detail?: string };

const failed = (detail: string): Outcome => ({ ok: false, result: "FAILED", detail: detail.trim() });

/** Runs the example of a client with a group's id. */
export const runExample = (client: Client, target: Target, id = newId()): Promise<Exit> =>
  run(client.example, target, id);

/** Runs the example: a group is created, updated, rotated, viewed with the new token, and deleted. */
export async function checkExample(client: Client, target: Target): Promise<Outcome> {
  const id = newId();
  const { status, stdout, stderr } = await runExample(client, target, id);
  const output = withoutCredentials(stdout + stderr, target);
  if (output !== stdout + stderr) return failed(`It printed a credential: ${output}`);
  if (status !== 0) return failed(output);
  const expected = { created: true, updated: "Café Acme", rotated: true, viewed: "Café Acme", deleted: true };
  if (!isDeepStrictEqual(parse(stdout), expected)) return failed(`It printed something else: ${output}`);
  return (await exists(target, id)) ? failed("The group is still there.") : { ok: true, result: "worked" };
}

/** A server that does not read the body may respond, and close the connection, before a client has sent its last chunk. */
const CLOSED_EARLY = /broken pipe|EPIPE|ECONNRESET|connection reset/i;
const LOST_BODY_TRIES_MAX = 3;

/** Runs the command again if its client lost the response because the connection was closed early. */
async function runUntilAnswered(command: Command, target: Target, id: string): Promise<Exit> {
  for (let tries = 1; ; tries += 1) {
    const exit = await run(command, target, id);
    const isLost = CLOSED_EARLY.test(exit.stdout + exit.stderr);
    if (!isLost || tries === LOST_BODY_TRIES_MAX) return exit;
  }
}

/**
 * Makes the GET whose body may get lost. If it is lost, the service must refuse the call and create nothing. A body that
 * arrives is correct, too: servers differ in what they read of a GET.
 */
export async function checkLostBody(loss: Loss, target: Target): Promise<Outcome> {
  if ("cannot" in loss) return { ok: true, result: "cannot" };
  const id = newId();
  const { stdout, stderr } = await runUntilAnswered(loss.command, target, id);
  const printed = parse(stdout);
  const wasCreated = await exists(target, id);
  if (loss.throwsItself && printed?.thrown?.includes("GET") && !wasCreated)
    return { ok: true, result: "throws itself" };
  if (printed?.error?.code === "body_required" && !wasCreated) return { ok: true, result: "body_required" };
  if (printed?.user_group?.provided_id === id && wasCreated) {
    await call(target, "DELETE", { current_token: printed.user_group.token });
    return { ok: true, result: "arrives" };
  }
  return failed(withoutCredentials(stdout + stderr, target));
}
