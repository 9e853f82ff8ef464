import { randomUUID } from "node:crypto";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { generateX25519Identity, identityToRecipient } from "age-encryption";
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from "vitest";
import { nameAt } from "../../../cli/src/backup/newest-backup.ts";
import { sha256Of } from "../../../tools/package/stage.ts";
import { waitUntil } from "../../support/node/service.ts";
import { stageRelease } from "../../support/node/staged-release.ts";
import { hasSystemd, Systemd, skippedWithoutSystemd } from "../../support/node/systemd.ts";

const isLong = inject("effort").minutes > 0;
const SERVICE = "user-group-service.service";
const BACKUP = "user-group-service-backup.service";
const ROOT = "/opt/user-group-service";
const UNITS = "/etc/systemd/system";
const ENV_FILE = "/etc/user-group-service/env";
const OPERATOR_TOKEN = "x".repeat(40);
const SETTINGS = `SIGNING_KEYS=k1:${Buffer.alloc(32, 1).toString("base64")}
OPERATOR_TOKEN=${OPERATOR_TOKEN}
PUBLIC_URL=https://groups.example.com
`;
const { version }: { version: string } = JSON.parse(readFileSync("package.json", "utf8"));
/** A release that ends at its start. */
const BROKEN = "99.0.0";

describe.skipIf(!hasSystemd)(`under systemd${skippedWithoutSystemd}`, () => {
  let releases: string;

  beforeAll(() => {
    releases = mkdtempSync(join(tmpdir(), "user-group-service-"));
    stageRelease(process.cwd(), join(releases, version));
  });
  afterAll(() => rmSync(releases, { recursive: true, force: true }));

  /** Boots a machine that has the release, these settings, and no unit of the service. */
  async function boot(settings = SETTINGS): Promise<Systemd> {
    const machine = await Systemd.boot(releases);
    onTestFinished(() => machine.stop());
    await machine.run(`${ROOT}/${version}/deploy/switch`);
    await machine.run("mkdir", "--mode=0700", "/etc/user-group-service");
    machine.write(ENV_FILE, settings);
    return machine;
  }

  /** Boots a machine on which the units are installed, but not started. */
  async function install(settings = SETTINGS): Promise<Systemd> {
    const machine = await boot(settings);
    for (const unit of ["user-group-service.socket", SERVICE])
      await machine.systemctl("enable", `${ROOT}/current/deploy/${unit}`);
    for (const unit of [BACKUP, "user-group-service-backup-failed.service"])
      await machine.systemctl("link", `${ROOT}/current/deploy/${unit}`);
    return machine;
  }

  /** Starts it, and waits until it has reported that it is ready. */
  async function start(): Promise<Systemd> {
    const machine = await install();
    await machine.systemctl("start", "user-group-service.socket", SERVICE);
    return machine;
  }

  it("runs on a machine that sees and writes nothing else of this one", async () => {
    const machine = await Systemd.boot(releases);
    onTestFinished(() => machine.stop());
    const file = join(tmpdir(), `user-group-service-${randomUUID()}`);
    writeFileSync(file, "");
    onTestFinished(() => rmSync(file));
    await expect(machine.run("cat", file)).rejects.toThrow("No such file");
    for (const folder of ["/usr", `${ROOT}/${version}`, "/sys/kernel"])
      await expect(machine.run("touch", `${folder}/written`)).rejects.toThrow("Read-only file system");
    expect(await machine.run("cat", "/proc/1/comm")).toBe("systemd");
  });

  it("starts by the commands of one-box.md, none of which fails", async () => {
    const machine = await boot();
    const [, start = ""] = /^## Start$([\s\S]*?)^## /m.exec(readFileSync("docs/operators/one-box.md", "utf8")) ?? [];
    const commands = start.match(/^ {4}.*$/gm) ?? [];
    expect(commands.join()).toContain("systemctl enable --now");
    await machine.run("sh", "-euc", commands.join("\n").replaceAll("sudo ", ""));
    expect(await health(machine)).toBe("200");
  });

  const FAILURES = isLong ? 50 : 6;
  it(`starts the service again after ${FAILURES} failures, until their cause has gone`, async () => {
    const machine = await install(`${SETTINGS}UNDO_DAYS=wrong\n`);
    await giveUpLate(machine);
    if (!isLong) await restartAtOnce(machine);
    await machine.systemctl("daemon-reload");
    await machine.systemctl("start", "--no-block", "user-group-service.socket", SERVICE);

    // A service that waits for its next start is "activating"; one that is "failed" has no next start.
    while ((await restarts(machine)) < FAILURES && (await shown(machine, "ActiveState")) !== "failed") await delay(100);
    expect(await restarts(machine)).toBeGreaterThanOrEqual(FAILURES);
    const log = await machine.journal(SERVICE);
    expect(log.match(/^error: UNDO_DAYS cannot be read/gm)?.length).toBeGreaterThanOrEqual(FAILURES);
    expect(log).toContain("The service has ended by itself: exit-code, exited 1.");

    machine.write(ENV_FILE, SETTINGS);
    await waitUntil(async () => (await health(machine)) === "200", "the service had started");
    await waitUntil(async () => (await shown(machine, "ActiveState")) === "active", "systemd had its report");
  });

  const FULL_DISK =
    "mount -t tmpfs -o size=64k,mode=700,uid=900,gid=900 full /var/lib/user-group-service && cat /dev/zero";
  /** Why the service cannot start: what causes it, what ends it, and what the log then says. */
  const CAUSES = [
    {
      name: "an invalid setting",
      cause: `echo UNDO_DAYS=7d >>${ENV_FILE}`,
      remedy: `sed -i /UNDO_DAYS/d ${ENV_FILE}`,
      sentence: "error: UNDO_DAYS cannot be read",
    },
    {
      name: "a file of another owner",
      cause: "cd /var/lib/user-group-service/state; chown root user-group-service-GroupDirectory/metadata.sqlite",
      remedy: "chown -R user-group-service /var/lib/user-group-service/state",
      sentence:
        "/var/lib/user-group-service/state/user-group-service-GroupDirectory/metadata.sqlite belongs to root (0), and ug runs as " +
        "user-group-service (900): chown user-group-service /var/lib/user-group-service/state/",
    },
    {
      name: "a full disk",
      cause: `${FULL_DISK} >/var/lib/user-group-service/zeros || true; chown -R user-group-service /var/lib/user-group-service`,
      remedy: "umount /var/lib/user-group-service",
      sentence: "The disk is full. Free space on it: /var/lib/user-group-service/state",
    },
  ];

  const proxies = (["caddy", "nginx"] as const).filter(
    (program) => existsSync(`/usr/sbin/${program}`) || existsSync(`/usr/bin/${program}`),
  );
  const left = ["caddy", "nginx"].filter((program) => !(proxies as string[]).includes(program));
  const skipped = left.length === 0 ? "" : `, skipped: behind ${left.join(" and ")}, which is missing`;
  it(`answers within 5 s while it cannot start, directly and behind the proxies of one-box.md${skipped}`, async () => {
    const machine = await start();
    const urls = [
      "http://127.0.0.1:8787",
      ...(await Promise.all(proxies.map((program) => startProxy(machine, program)))),
    ];
    const answers = () => Promise.all(urls.map((url) => answerOf(machine, url)));
    await waitUntil(async () => (await answers()).every(({ status }) => status === "200"), "the proxies answered");
    for (const { name, cause, remedy, sentence } of CAUSES) {
      await machine.systemctl("stop", SERVICE);
      await machine.run("sh", "-euc", cause);
      await machine.systemctl("start", "--no-block", SERVICE);
      await waitUntil(
        async () => (await machine.journal(SERVICE)).includes(sentence),
        `the log had the cause of ${name}`,
      );
      // Some of the calls may come after its end, and before its next start.
      for (const last = (await restarts(machine)) + 1; (await restarts(machine)) < last; )
        for (const { status, code, seconds } of await answers())
          expect([name, status, code, seconds < 5 || seconds]).toEqual([name, "503", "not_ready", true]);
      // It names the file that an operator edits, and not the copy in $CREDENTIALS_DIRECTORY.
      expect(await machine.journal(SERVICE)).not.toContain("/run/credentials");
      await machine.run("sh", "-euc", remedy);
      await waitUntil(async () => (await answers()).every(({ status }) => status === "200"), `${name} was gone`);
    }
  });

  // Each of them waits for times of the units.
  if (!isLong) return;
  describe("in the long form", () => {
    it("fails no call while a release does not start, until the one before is back", async () => {
      breakCopy(releases);
      const machine = await start();
      const calls: Promise<string>[] = [];
      let isCalling = true;
      const calling = (async () => {
        while (isCalling) {
          calls.push(health(machine));
          await delay(200);
        }
      })();
      // The units come with each release.
      expect(await machine.run("readlink", `${UNITS}/${SERVICE}`)).toBe(`${ROOT}/current/deploy/${SERVICE}`);
      await machine.run(`${ROOT}/${BROKEN}/deploy/switch`);
      await machine.systemctl("restart", "--no-block", SERVICE);
      await waitUntil(async () => (await restarts(machine)) >= 3, "the release had failed to start");
      expect(await machine.journal(SERVICE)).toContain("this release is broken");
      await machine.run(`${ROOT}/${version}/deploy/switch`);
      await machine.systemctl("restart", SERVICE);
      isCalling = false;
      await calling;
      expect([...new Set(await Promise.all(calls))]).toEqual(["200"]);
      expect(calls.length).toBeGreaterThan(10);
    });

    it("names a link that leads to no release, and starts when it leads to one again", async () => {
      const machine = await start();
      await machine.run("ln", "-sfn", "nowhere", `${ROOT}/current`);
      await machine.systemctl("restart", "--no-block", SERVICE);
      const says = async () => (await machine.journal(SERVICE)).includes("leads to no release: run deploy/switch");
      await waitUntil(says, "the log named the link");
      await machine.run(`${ROOT}/${version}/deploy/switch`);
      expect(await health(machine)).toBe("200");
    });

    it.for(["workerd", "the launcher"])("starts again when %s stands still", async (program) => {
      const machine = await start();
      const main = await shown(machine, "MainPID");
      const stopped = program === "workerd" ? await workerdOf(machine) : main;
      await machine.run("kill", "-STOP", stopped);
      while ([main, "0"].includes(await shown(machine, "MainPID"))) await delay(100);
      expect(await health(machine)).toBe("200");
      expect(await machine.journal(SERVICE)).toContain("The service has ended by itself: watchdog");
      expect(await machine.run("ls", "/proc")).not.toMatch(new RegExp(`^${stopped}$`, "m"));
    });

    it("reaches the keys of the sign-in with a company with the drop-in, and not without it", async () => {
      const machine = await install(`${SETTINGS}SSO_HEADER=X-Assertion
SSO_ISSUER=https://id.example.com
SSO_AUDIENCE=groups
SSO_JWKS_URL=https://id.example.com:9443/jwks
`);
      const authorities = "/etc/ssl/certs/ca-certificates.crt";
      await machine.run("mkdir", "-p", "/etc/ssl/certs");
      machine.write(authorities, readFileSync(authorities, "utf8"));
      await machine.run("chmod", "644", authorities);
      // An address of the machine that is not that of localhost.
      await machine.run("sh", "-c", "ip addr add 10.9.9.9/32 dev lo; echo 10.9.9.9 id.example.com >>/etc/hosts");
      const listen = 'require("net").createServer((s) => s.end(() => console.log("asked"))).listen(9443, "10.9.9.9")';
      await machine.run("systemd-run", "--unit=provider", `${ROOT}/current/bin/node`, "-e", listen);
      await machine.systemctl("start", "user-group-service.socket", SERVICE);
      const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
      const now = Math.floor(Date.now() / 1000);
      const claims = { iss: "https://id.example.com", aud: "groups", email: "a@example.com", iat: now, exp: now + 600 };
      const assertion = `${part({ alg: "RS256", kid: "k" })}.${part(claims)}.AAAA`;
      const timesAsked = async () => {
        await machine.run("curl", "-s", "-H", `X-Assertion: ${assertion}`, "http://127.0.0.1:8787/console/sign-in");
        return (await machine.journal("provider")).match(/^asked$/gm)?.length ?? 0;
      };
      expect(await timesAsked()).toBe(0);

      await machine.run("mkdir", `${UNITS}/${SERVICE}.d`);
      await machine.run("ln", "-s", `${ROOT}/current/deploy/sso.conf`, `${UNITS}/${SERVICE}.d/sso.conf`);
      await machine.systemctl("daemon-reload");
      await machine.systemctl("restart", SERVICE);
      expect(await timesAsked()).toBe(1);
    });

    it("starts again after it has used the memory that it may", async () => {
      const machine = await start();
      expect(await shown(machine, "MemoryMax")).toBe(String(2 ** 30));
      const main = await shown(machine, "MainPID");
      const cgroup = await shown(machine, "ControlGroup");
      // Of the processes in the cgroup, the kernel ends this one.
      await machine.run("sh", "-c", `echo 1000 >/proc/${await workerdOf(machine)}/oom_score_adj`);
      const eating = machine
        .run(
          ...([
            "sh",
            "-c",
            `for procs in $(ls -d /sys/fs/cgroup${cgroup}/cgroup.procs /sys/fs/cgroup/*${cgroup}/cgroup.procs); do echo $$ >$procs; done
          exec ${ROOT}/current/bin/node -e 'const held = []; setInterval(() => held.push(Buffer.alloc(2 ** 24, 1)), 10)'`,
          ] as const),
        )
        .catch(() => undefined);
      await waitUntil(async () => ![main, "0"].includes(await shown(machine, "MainPID")), "another process ran");
      await eating;
      expect(await health(machine)).toBe("200");
      expect(await machine.journal(SERVICE)).toMatch(/The service has ended by itself: (oom-kill|signal|exit-code)/);
    });

    it("loses none of 60,000 lines that the service logs in a second", async () => {
      const LINES = 60_000;
      const machine = await install();
      await machine.run("mkdir", `${UNITS}/${SERVICE}.d`);
      const write = `[Service]\nExecStartPost=/usr/bin/seq -f "line %%g of many" ${LINES}\n`;
      machine.write(`${UNITS}/${SERVICE}.d/lines.conf`, write);
      await machine.systemctl("daemon-reload");
      await machine.systemctl("start", "user-group-service.socket", SERVICE);
      await machine.run("journalctl", "--sync");
      expect((await machine.journal(SERVICE)).match(/^line \d+ of many$/gm)).toHaveLength(LINES);
    });

    it("takes an encrypted backup by the role that can do nothing else, and reports one that fails", async () => {
      const machine = await start();
      const recipient = await identityToRecipient(await generateX25519Identity());
      machine.write("/etc/user-group-service/backup", `RECIPIENT=${recipient}\nKEEP=1\n`);
      const issue = `OPERATOR_TOKEN=${OPERATOR_TOKEN} ${ROOT}/current/bin/ug operators issue --name backup --role backup --json --url http://127.0.0.1:8787`;
      const issued = JSON.parse(await machine.run("sh", "-c", issue));
      machine.write("/etc/user-group-service/backup-key", `${issued.key}\n`);
      await machine.systemctl("start", BACKUP);
      const folder = "/var/lib/user-group-service-backup";
      const files = await machine.run(
        "sh",
        "-c",
        `ls -R ${folder}; stat -c '%U %a' ${folder} ${folder}/*; head -c 21 ${folder}/*/*`,
      );
      expect(files).toContain("registry.ndjson.age");
      // A second backup of the same second is refused.
      await waitUntil(async () => !files.includes(nameAt(new Date())), "the next second began");
      await machine.systemctl("start", BACKUP);
      // As KEEP says.
      expect((await machine.run("ls", folder)).trim().split("\n")).toHaveLength(1);
      expect(files).toContain("user-group-service-backup 750\nuser-group-service-backup 700");
      expect(files).toContain("age-encryption.org/v1");
      const metrics = await machine.run(`${ROOT}/current/bin/node`, "--eval", READ_METRICS);
      expect(Number(/^ug_newest_backup_age_seconds (\S+)$/m.exec(metrics)?.[1])).toBeLessThan(60);
      expect(metrics).toMatch(/^ug_ready 1$/m);

      machine.write("/etc/user-group-service/backup-key", "ugo_wrong\n");
      await expect(machine.systemctl("start", BACKUP)).rejects.toThrow();
      const failed = () => machine.run("journalctl", "-o", "cat", "-p", "alert");
      await waitUntil(
        async () => (await failed()).includes("backup of the user group service has failed"),
        "it was said",
      );
    });
  });
});

const READ_METRICS = 'fetch("http://127.0.0.1:9788/metrics").then((answer) => answer.text()).then(console.info)';

/** A release whose program ends with a sentence, and which is otherwise whole. */
function breakCopy(releases: string): void {
  const broken = join(releases, BROKEN);
  cpSync(join(releases, version), broken, { recursive: true });
  const script = join(broken, "lib/ug.mjs");
  const before = sha256Of(script);
  // It still has a version, which is all that can be seen of it before it serves.
  writeFileSync(
    script,
    `if (process.argv.includes("serve")) throw new Error("this release is broken");\n${readFileSync(script, "utf8")}`,
  );
  const sums = join(broken, "sha256sums");
  writeFileSync(sums, readFileSync(sums, "utf8").replace(before, sha256Of(script)));
}

/** Lets the service start again at once, which takes less time. All other settings of its unit stay in force. */
async function restartAtOnce(machine: Systemd): Promise<void> {
  await machine.run("mkdir", `${UNITS}/${SERVICE}.d`);
  machine.write(`${UNITS}/${SERVICE}.d/at-once.conf`, "[Service]\nRestartSec=100ms\n");
}

/** systemd gives up a unit without a limit of its own at the sixth start, also where six starts take longer than the usual 10 s. */
async function giveUpLate(machine: Systemd): Promise<void> {
  await machine.run("mkdir", "/etc/systemd/system.conf.d");
  machine.write("/etc/systemd/system.conf.d/late.conf", "[Manager]\nDefaultStartLimitIntervalSec=10min\n");
}

const shown = (machine: Systemd, property: string) =>
  machine.systemctl("show", `--property=${property}`, "--value", SERVICE);

const restarts = async (machine: Systemd) => Number(await shown(machine, "NRestarts"));

/** Starts a proxy on the machine as one-box.md configures it, with a certificate that nobody trusts. Returns its address. */
async function startProxy(machine: Systemd, program: "caddy" | "nginx"): Promise<string> {
  const folder = `/etc/${program}`;
  await machine.run("mkdir", "-p", folder, "/var/log/nginx", "/var/lib/nginx");
  const certificate = ["fullchain.pem", "privkey.pem"].map((name) => join(folder, name));
  const port = { caddy: 8443, nginx: 9443 }[program];
  if (program === "caddy") {
    const options = "\tauto_https disable_redirects\n\tskip_install_trust\n\tadmin off\n";
    machine.write(`${folder}/Caddyfile`, readFileSync("deploy/Caddyfile", "utf8").replace(/^\{\n/m, `{\n${options}`));
    const env = [`--setenv=UG_HOST=https://localhost:${port}`, `--setenv=HOME=${folder}`];
    await machine.run(
      "systemd-run",
      "--unit=caddy",
      ...env,
      "caddy",
      "run",
      "--adapter",
      "caddyfile",
      "--config",
      `${folder}/Caddyfile`,
    );
  } else {
    const [cert = "", key = ""] = certificate;
    const subject = ["-subj", "/CN=localhost", "-days", "2", "-config", "/dev/null"];
    await machine.run(
      "openssl",
      "req",
      "-x509",
      "-newkey",
      "rsa:2048",
      "-nodes",
      "-keyout",
      key,
      "-out",
      cert,
      ...subject,
    );
    const site = readFileSync("deploy/nginx.conf", "utf8")
      .replaceAll("/etc/letsencrypt/live/groups.example.com", folder)
      .replaceAll("groups.example.com", "localhost")
      .replaceAll("443 ssl", `${port} ssl`);
    machine.write(`${folder}/nginx.conf`, `user root;\nevents {}\nhttp {\n${site}\n}\n`);
    await machine.run("systemd-run", "--unit=nginx", "nginx", "-g", "daemon off;", "-c", `${folder}/nginx.conf`);
  }
  return `https://localhost:${port}`;
}

/** The answer to `GET /health`, and the seconds that it took. */
async function answerOf(
  machine: Systemd,
  url: string,
): Promise<{ status: string; code: string | undefined; seconds: number }> {
  const written = ["-w", "\n%{http_code} %{time_total}", "-m", "60"];
  const output = await machine.run("sh", "-c", 'curl -sk "$@" || true', "sh", ...written, `${url}/health`);
  const [, body = "", status = "", seconds = ""] = /^(.*?)\n?(\d+) ([\d.]+)$/s.exec(output) ?? [];
  return { status, code: /"code":"(\w+)"/.exec(body)?.[1], seconds: Number(seconds) };
}

/** The id of the process of workerd. */
const workerdOf = (machine: Systemd) => machine.run("sh", "-c", "grep -lx workerd /proc/[0-9]*/comm | cut -d / -f 3");

/** The status of `/health`. The socket unit holds the connection until the service accepts it. */
const health = (machine: Systemd) =>
  machine.run(
    `${ROOT}/${version}/bin/node`,
    ...[
      "--eval",
      `fetch("http://127.0.0.1:8787/health", { signal: AbortSignal.timeout(120_000) })
      .then(({ status }) => console.info(status))`,
    ],
  );
