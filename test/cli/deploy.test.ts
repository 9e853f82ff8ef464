import { execFileSync, spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { connect } from "node:tls";
import { gunzipSync, zstdDecompressSync } from "node:zlib";
import { Agent, request } from "undici";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { outcomeOf } from "../support/node/commands.ts";
import { freePort } from "../support/node/free-port.ts";
import { newFolder } from "../support/node/new-folder.ts";
import { printedOn } from "../support/node/printed.ts";
import { endGroup, launcherPidOf, runIn, waitUntil } from "../support/node/service.ts";
import { smallCopy, stageRelease } from "../support/node/staged-release.ts";

const { version }: { version: string } = JSON.parse(readFileSync("package.json", "utf8"));
const canRun = (program: string) => spawnSync(program, ["--version"]).error === undefined;
const SYSTEMD = canRun("systemd-analyze");
const EXPOSURE_MAX = 3.0;
/** What the service survives without: a chown of SQLite, for files that already have their owner, and a hardening of V8. */
const DISPENSABLE = ["fchown", "pkey_alloc"];

const unit = (name: string) => readFileSync(`deploy/user-group-service.${name}`, "utf8");
/** Where the units are installed, as systemd-analyze needs to find their programs. */
const INSTALLED = "/opt/user-group-service/current/bin/ug";

/** The command of the service unit, with its paths in other folders. */
const commandOf = (paths: Record<string, string>): [string, ...string[]] => {
  const [, line = ""] = /^ExecStart=((?:.*\\\n)*.*)$/m.exec(unit("service")) ?? [];
  const [program = "", ...args] = moved(line.replaceAll("\\\n", " "), paths).trim().split(/\s+/);
  return [program, ...args];
};

const moved = (text: string, paths: Record<string, string>): string =>
  Object.entries(paths).reduce((changed, [from, to]) => changed.replaceAll(from, to), text);

describe.skipIf(!SYSTEMD)(`the systemd units${SYSTEMD ? "" : ", skipped: systemd-analyze is missing"}`, () => {
  it("are valid, and expose the machine little", () => {
    const folder = newFolder();
    const names = readdirSync("deploy").filter((name) => /\.(service|socket|timer)$/.test(name));
    expect(names).toHaveLength(5);
    const files = names.map((name) => join(folder, name));
    for (const [index, name] of names.entries())
      writeFileSync(
        files[index] ?? "",
        moved(readFileSync(join("deploy", name), "utf8"), { [INSTALLED]: join(process.cwd(), "cli/ug.mjs") }),
      );
    const verified = spawnSync("systemd-analyze", ["verify", ...files], { encoding: "utf8" });
    expect(verified.stderr.split("\n").filter((line) => line.includes("user-group-service"))).toEqual([]);
    for (const file of files.filter((name) => name.endsWith(".service"))) {
      const rated = execFileSync("systemd-analyze", ["security", "--offline=true", "--no-pager", file], {
        encoding: "utf8",
      });
      const [, exposure] = /Overall exposure level for .*: ([\d.]+)/.exec(rated) ?? [];
      expect(Number(exposure)).toBeLessThanOrEqual(EXPOSURE_MAX);
    }
  });

  it("let the service call others with the drop-in for the sign-in with a company, and change nothing else", () => {
    const folder = newFolder();
    const file = join(folder, "user-group-service.service");
    const socket = join(folder, "user-group-service.socket");
    writeFileSync(file, moved(unit("service"), { [INSTALLED]: join(process.cwd(), "cli/ug.mjs") }));
    writeFileSync(socket, unit("socket"));
    /** What systemd says of each property of the service. */
    const described = (): string[] => {
      const args = ["security", "--offline=true", "--no-pager", "--json=short", file];
      const rated: { name: string; description: string }[] = JSON.parse(
        execFileSync("systemd-analyze", args, { encoding: "utf8" }),
      );
      return rated.map(({ name, description }) => `${name} ${description}`);
    };
    const before = described();
    mkdirSync(`${file}.d`);
    symlinkSync(join(process.cwd(), "deploy/sso.conf"), join(`${file}.d`, "sso.conf"));
    const verified = spawnSync("systemd-analyze", ["verify", file, socket], { encoding: "utf8" });
    expect(verified.stderr.split("\n").filter((line) => line.includes("user-group-service"))).toEqual([]);
    expect(described().filter((line) => !before.includes(line))).toEqual([
      "IPAddressDeny= Service does not define an IP address allow list",
    ]);
  });

  it("are valid as a second deployment, which shares only the release with the first", () => {
    const folder = newFolder();
    const [, part = ""] = readFileSync("docs/operators/one-box.md", "utf8").split(
      /^## (?:A second one on the box|In a container)$/m,
    );
    const here = {
      "/opt/user-group-service/current/deploy": join(process.cwd(), "deploy"),
      "/etc/systemd/system": folder,
    };
    const copied = documented(part).join("\n").replaceAll("sudo ", "");
    execFileSync("bash", ["-euc", moved(copied, here)]);
    const files = readdirSync(folder).map((name) => join(folder, name));
    expect(files.toSorted()).toEqual(["service", "socket"].map((kind) => join(folder, `groups-staging.${kind}`)));
    for (const file of files) {
      const text = readFileSync(file, "utf8");
      expect(text.replaceAll("/opt/user-group-service", "")).not.toMatch(/user-group-service|8787|9788/);
      writeFileSync(file, moved(text, { [INSTALLED]: join(process.cwd(), "cli/ug.mjs") }));
    }
    const { stderr } = spawnSync("systemd-analyze", ["verify", ...files], { encoding: "utf8" });
    expect(stderr.split("\n").filter((line) => line.includes("groups-staging"))).toEqual([]);
  });

  const STRACE = canRun("strace") && spawnSync("strace", ["-e", "trace=none", "true"]).status === 0;
  it.skipIf(!STRACE)(
    `refuse the service no system call that it needs${STRACE ? "" : ", skipped: strace is missing"}`,
    async () => {
      const folder = newFolder();
      const trace = join(folder, "trace");
      const serve = [process.execPath, "--", join(process.cwd(), "cli/src/main.ts"), "serve", "--port", "0"];
      const state = ["--persist-to", join(folder, "state")];
      const child = runIn(folder, ["strace", "-f", "-qq", "-o", trace, ...serve, ...state]);
      const output = printedOn(child.stdout);
      await waitUntil(() => output.text.includes("Ctrl-C"), "the service was ready");
      await endGroup(child, "SIGTERM");
      const used = new Set([...readFileSync(trace, "utf8").matchAll(/^\d+ +([a-z_0-9]+)\(/gm)].map(([, name]) => name));
      const allowed = allowedCalls();
      expect([...used].filter((name) => name && !allowed.has(name) && !DISPENSABLE.includes(name))).toEqual([]);
      expect(used.size).toBeGreaterThan(40);
    },
  );

  /** The system calls that the unit's filters leave. */
  function allowedCalls(): Set<string> {
    const allowed = new Set<string>();
    for (const [, isDenied, names = ""] of unit("service").matchAll(/^SystemCallFilter=(~?)(.*)$/gm))
      for (const name of names.split(" ").flatMap(callsIn))
        if (isDenied) allowed.delete(name);
        else allowed.add(name);
    return allowed;
  }

  function callsIn(name: string): string[] {
    if (!name.startsWith("@")) return [name];
    const listed = execFileSync("systemd-analyze", ["syscall-filter", "--no-pager", name], { encoding: "utf8" });
    return listed
      .split("\n")
      .slice(1)
      .map((line) => line.replace(/#.*/, "").trim())
      .filter((line) => line !== "")
      .flatMap(callsIn);
  }
});

/** The commands of a part of the document, in its order: the indented lines. */
const documented = (part = readFileSync("docs/operators/one-box.md", "utf8")) =>
  part
    .split("\n")
    .filter((line) => line.startsWith("    "))
    .map((line) => line.trim());

const CADDY = canRun("caddy");
const PERL = canRun("perl");
const missing = [...(CADDY ? [] : ["caddy"]), ...(PERL ? [] : ["perl"])].join(" and ");

describe.skipIf(missing !== "")(
  `docs/operators/one-box.md${missing === "" ? "" : `, skipped: ${missing} is missing`}`,
  () => {
    let root: string;
    let paths: Record<string, string>;
    let port: number;
    const children: ReturnType<typeof runIn>[] = [];
    /** Caddy makes a certificate of its own for localhost, which nobody trusts. */
    const client = new Agent({ connect: { rejectUnauthorized: false }, connections: 50 });

    beforeAll(async () => {
      root = mkdtempSync(join(tmpdir(), "user-group-root-"));
      port = await freePort();
      paths = {
        "VERSION=1.2.0": `VERSION=${version}`,
        "linux-x64": `linux-${process.arch}`,
        "/opt/user-group-service": join(root, "opt"),
        "/usr/local/bin": join(root, "bin"),
        "/etc/user-group-service": join(root, "etc"),
        "/var/lib/user-group-service": join(root, "lib"),
        "https://groups.example.com": `https://localhost:${port}`,
        "sudo ": "",
      };
      for (const folder of ["bin", "lib"]) mkdirSync(join(root, folder));
      download(root);
    });
    afterAll(async () => {
      for (const child of children) await endGroup(child, "SIGKILL");
      rmSync(root, { recursive: true, force: true });
    });

    /** Runs lines of the document, moved into this test's folders. */
    const follow = async (lines: readonly string[], env: NodeJS.ProcessEnv = {}) =>
      outcomeOf(
        runIn(root, ["bash", "-euc", moved(lines.join("\n"), paths)], {
          NODE_TLS_REJECT_UNAUTHORIZED: "0",
          PATH: `${join(root, "bin")}:${process.env.PATH}`,
          ...env,
        }),
      );

    it("is followed from an empty directory to a request through TLS, and restarted without a failure", async () => {
      const [installing] = readFileSync("docs/operators/one-box.md", "utf8").split("## Start");
      const installed = documented(installing).filter((line) => !line.includes("useradd"));
      const prepared = await follow(installed);
      expect([prepared.stderr, prepared.status, existsSync(join(root, "etc/env"))]).toEqual(["", 0, true]);
      expect(readFileSync(join(root, "etc/env"), "utf8")).toMatch(/^SIGNING_KEYS=k1:.{44}\nOPERATOR_TOKEN=/);

      const held = runIn(join(root, "lib"), [
        "perl",
        join(process.cwd(), "test/support/node/hold-socket.pl"),
        ...commandOf({
          ...paths,
          ["$" + "{CREDENTIALS_DIRECTORY}"]: join(root, "etc"),
          "--metrics-port 9788": "--metrics-port 0",
        }),
      ]);
      children.push(held);
      const lines: string[] = [];
      createInterface({ input: held.stdout as Readable }).on("line", (line) => lines.push(line));
      const isReady = (times: number) => lines.filter((line) => line.includes("is ready")).length === times;
      await waitUntil(() => isReady(1), "the service was ready");
      const upstream = /^port (\d+)$/.exec(lines[0] ?? "")?.[1];

      const caddyfile = join(root, "Caddyfile");
      const options = `\tauto_https disable_redirects\n\tskip_install_trust\n\tadmin off\n\tstorage file_system ${root}/caddy\n`;
      // The file begins with its own global options, which Caddy takes once.
      writeFileSync(caddyfile, readFileSync("deploy/Caddyfile", "utf8").replace(/^\{\n/m, `{\n${options}`));
      const caddy = runIn(root, ["caddy", "run", "--config", caddyfile, "--adapter", "caddyfile"], {
        UG_HOST: `https://localhost:${port}`,
        UG_PORT: upstream,
        HOME: root,
      });
      children.push(caddy);
      const health = () =>
        request(`https://localhost:${port}/health`, { dispatcher: client }).then(
          async ({ statusCode, body }) => body.dump().then(() => statusCode),
          (error: Error) => error.message,
        );
      await waitUntil(async () => (await health()) === 200, "Caddy answered");

      const [, first = ""] = readFileSync("docs/operators/one-box.md", "utf8").split(
        /^## (?:First keys|Logs and metrics)$/m,
      );
      const keys = await follow(
        // The person copies the key that the command before has printed.
        documented(first).filter((line) => !/^(?:export OPERATOR_KEY|unset)/.test(line)),
        { API_KEY: "" },
      );
      expect(keys.stdout).toMatch(/ugo_[\w-]+/);
      const [apiKey = ""] = /ugk_customer_[\w-]+/.exec(keys.stdout) ?? [];
      expect(apiKey).not.toBe("");

      const call = async (
        method: string,
        path: string,
        body: object | undefined,
        headers: Record<string, string> = {},
      ) => {
        const answer = await request(`https://localhost:${port}${path}`, {
          dispatcher: client,
          method: method as "POST",
          headers: { authorization: `Token ${apiKey}`, "content-type": "application/json", ...headers },
          ...(body && { body: JSON.stringify(body) }),
        });
        // biome-ignore lint/suspicious/noExplicitAny: a test asserts what is in an answer, whatever its type.
        return { status: answer.statusCode, body: (await answer.body.json()) as any };
      };
      expect((await call("POST", "/api/user_groups", { user_group_id: "acme" })).status).toBe(201);
      // A page with the address of its reader, which Caddy compresses, and a file that the service has compressed.
      for (const [path, unpack] of [
        ["/docs/embedding", zstdDecompressSync],
        ["/openapi.json", gunzipSync],
      ] as const) {
        const read = async (headers: Record<string, string>) => {
          const answer = await request(`https://localhost:${port}${path}`, { dispatcher: client, headers });
          return {
            status: answer.statusCode,
            headers: answer.headers,
            bytes: Buffer.from(await answer.body.arrayBuffer()),
          };
        };
        const all = { "accept-encoding": "zstd, gzip" };
        const compressed = await read(all);
        expect(unpack(compressed.bytes).equals((await read({})).bytes), path).toBe(true);
        const { etag } = compressed.headers;
        expect((await read({ ...all, "if-none-match": String(etag) })).status, path).toBe(304);
      }
      expect(await connectVia(port)).toMatch(/^HTTP\/1\.1 405 .*\r\nAllow: GET, /s);
      const minted = await call(
        "POST",
        "/api/viewer_sessions",
        { user_group_id: "acme" },
        { "x-forwarded-proto": "http" },
      );
      const claims = JSON.parse(Buffer.from(minted.body.session.token.split(".")[1], "base64url").toString());
      expect(claims.iss).toBe(`https://localhost:${port}`);

      const statuses: Promise<unknown>[] = [];
      let isLoading = true;
      const load = (async () => {
        while (isLoading) {
          statuses.push(health());
          await delay(5);
        }
      })();
      for (let restart = 1; restart <= 2; restart += 1) {
        const enough = statuses.length + 50;
        await waitUntil(() => statuses.length >= enough, "requests were under way");
        process.kill(launcherPidOf(held), "SIGTERM");
        await waitUntil(() => isReady(restart + 1), "the service was ready again");
      }
      isLoading = false;
      await load;
      expect(new Set(await Promise.all(statuses))).toEqual(new Set([200]));
      expect((await call("POST", "/api/user_groups", { user_group_id: "acme" })).status).toBe(200);
    });

    it("names only files that are there", async () => {
      for (const [file] of documented()
        .join("\n")
        .replaceAll("$unit", "service")
        .matchAll(/\bdeploy\/[\w.-]+/g))
        expect([file, existsSync(file)]).toEqual([file, true]);
    });
  },
);

it("the command of the Containerfile runs the service", async () => {
  const containerfile = readFileSync("deploy/Containerfile", "utf8");
  const [program = "", ...args] = JSON.parse(/^CMD (.*)$/m.exec(containerfile)?.[1] ?? "[]") as string[];
  const folder = newFolder();
  const secrets = join(folder, "env");
  writeFileSync(
    secrets,
    `SIGNING_KEYS=k1:${Buffer.alloc(32, 1).toString("base64")}\nOPERATOR_TOKEN=${"x".repeat(40)}\n`,
  );
  const here: Record<string, string> = {
    "/var/lib/user-group-service": folder,
    "/run/secrets/env": secrets,
    "0.0.0.0": "127.0.0.1",
  };
  expect(program).toBe("ug");
  const child = runIn(process.cwd(), ["cli/ug.mjs", ...args.map((arg) => moved(arg, here)), "--port", "0"]);
  onTestFinished(() => endGroup(child, "SIGKILL"));
  const output = printedOn(child.stdout);
  await waitUntil(() => output.text.includes("Ctrl-C"), "the service was ready");
  const [, url] = /ready at (\S+)/.exec(output.text) ?? [];
  expect((await fetch(`${url}/health`)).status).toBe(200);
});

/** Makes the file of this release, with small programs, and its SHA-256, as a download has them. */
function download(folder: string): void {
  const name = `user-group-service-${version}-linux-${process.arch}.tar.gz`;
  const [staged, small] = [join(folder, "staged"), join(folder, "small")];
  stageRelease(process.cwd(), staged);
  mkdirSync(small);
  smallCopy(staged, join(small, version));
  execFileSync("tar", ["--create", "--gzip", "--file", join(folder, name), "--directory", small, version]);
  writeFileSync(join(folder, `${name}.sha256`), execFileSync("sha256sum", [name], { cwd: folder }));
}

/** The answer to a CONNECT over TLS. */
async function connectVia(port: number): Promise<string> {
  const socket = connect({ port, host: "localhost", servername: "localhost", rejectUnauthorized: false });
  socket.write(`CONNECT localhost:${port} HTTP/1.1\r\nHost: localhost:${port}\r\nConnection: close\r\n\r\n`);
  const chunks: Buffer[] = await Array.fromAsync(socket);
  return Buffer.concat(chunks).toString();
}
