import { execFileSync, spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from "vitest";
import { sbomOf } from "../../../tools/package/components.ts";
import { sha256Of, stage } from "../../../tools/package/stage.ts";
import { newFolder } from "../../support/node/new-folder.ts";
import { smallCopy } from "../../support/node/staged-release.ts";

const isLong = inject("effort").minutes > 0;
const { version }: { version: string } = JSON.parse(readFileSync("package.json", "utf8"));
const NOBODY = 65_534;

/** The folder of all releases, and the one of this project in it. */
let root: string;
let release: string;
let components: ReturnType<typeof stage>;

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "user-group-service-"));
  chmodSync(root, 0o755);
  release = join(root, version);
  components = stage(release);
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** A release of another version. */
function releaseIn(folder: string, name: string): string {
  smallCopy(release, join(folder, name));
  return join(folder, name);
}

const switchTo = (folder: string, env: NodeJS.ProcessEnv = process.env) =>
  spawnSync(join(folder, "deploy/switch"), { encoding: "utf8", env });

describe("the folder of a release", () => {
  it("has what its units, its documents and its sums name, and nothing of the machine that made it", () => {
    expect(readdirSync(release).toSorted()).toEqual(
      [
        "CHANGELOG.md",
        "README.md",
        "SECURITY.md",
        "bin",
        "deploy",
        "docs",
        "lib",
        "licences",
        "sha256sums",
        "worker",
      ].toSorted(),
    );
    expect(readdirSync(join(release, "bin")).toSorted()).toEqual(["node", "ug", "workerd"]);
    const texts = ["lib/ug.mjs", "worker/index.js", "worker/settings.json", "licences", "bin/ug"];
    for (const file of texts) expect(readFileSync(join(release, file), "utf8")).not.toContain(process.cwd());
    expect(readFileSync(join(release, "lib/ug.mjs"), "utf8")).not.toContain("node_modules/wrangler/");
  });

  it("has the licence of each work of others, and the SBOM names each once", () => {
    const licences = readFileSync(join(release, "licences"), "utf8");
    const names = components.map((each) => `${each.name}@${each.version}`);
    expect(names).toEqual([...new Set(names)].toSorted());
    for (const name of ["hono", "zod", "pg", "workerd", "node", "commander", "age-encryption"])
      expect(components.map((each) => each.name)).toContain(name);
    for (const { name, version: its, licence } of components) expect(licences).toContain(`${name}@${its} (${licence})`);
    const sbom = sbomOf({ version, committedAt: 0, components });
    expect(JSON.stringify(sbom)).toContain('"pkg:npm/%40noble/hashes@');
  });

  it("the packages have the licence that the documents say", () => {
    const fields = ["package.json", "client/package.json"].map(
      (file) => JSON.parse(readFileSync(file, "utf8")).license,
    );
    expect([...new Set(fields)]).toEqual(["UNLICENSED"]);
    expect(readFileSync("README.md", "utf8")).toMatch(/## Licence\n\n.*`UNLICENSED`, and all rights are reserved/);
  });

  it("names ug in what it prints, as its user types it", () => {
    const ug = (...args: string[]) => spawnSync(join(release, "bin/ug"), args, { encoding: "utf8" });
    const help = [[], ["serve", "--help"], ["groups", "--help"], ["backup", "--help"], ["prove", "--help"]].map(
      (args) => ug(...args).stdout,
    );
    expect(help.join("")).toContain("ug serve --demo");
    expect(help.join("")).not.toMatch(/\bnp[mx] /);
    expect(ug("doctor", "--url", "http://localhost:1").stdout).not.toMatch(/\bnp[mx] /);
  });

  it("names no file of a clone, and where a box has its secrets", () => {
    const folder = newFolder();
    mkdirSync(join(folder, "state/objects"), { recursive: true });
    for (const file of ["state/ug-serve.lock", "state/objects/a.sqlite"]) writeFileSync(join(folder, file), "");
    const printed = [
      ["--help"],
      ["serve", "--help"],
      ["doctor", "--help"],
      ["backup", "verify", "--help"],
      ["doctor", "--url", "http://127.0.0.1:1"],
      ["operators", "list", "--url", "http://127.0.0.1:1"],
      ["operators", "list", "--url", "https://groups.example.com"],
      ["serve", "--port", "0", "--persist-to", "state"],
    ].map((args) => {
      const env = { PATH: "/usr/bin:/bin", XDG_CONFIG_HOME: folder };
      const { stdout, stderr } = spawnSync(join(release, "bin/ug"), args, { encoding: "utf8", cwd: folder, env });
      return [args.join(" "), stdout + stderr] as const;
    });
    expect(printed.filter(([, text]) => /\.dev\.vars|\.demo-keys/.test(text))).toEqual([]);
    const naming = printed.filter(([, text]) => text.includes("/etc/user-group-service/env")).map(([args]) => args);
    expect(naming).toEqual([
      "--help",
      "backup verify --help",
      "doctor --url http://127.0.0.1:1",
      "operators list --url http://127.0.0.1:1",
      "serve --port 0 --persist-to state",
    ]);
  });
});

const canIsolate =
  process.getuid?.() === 0 && spawnSync("unshare", ["--mount", "--net", "sh", "-c", "ip link set lo up"]).status === 0;

it.skipIf(!canIsolate)(
  `a release serves, backs up, proves and restores without a network, as another user, from a folder that nobody may write${canIsolate ? "" : ", skipped: unshare or ip is missing, or this user is not root"}`,
  () => {
    const folder = newFolder();
    execFileSync("chown", [String(NOBODY), folder]);
    // Nothing of this project and its packages is there: its folder is empty.
    const script = `set -eu
      mount --make-rprivate / && mount --bind ${release} ${release} && mount -o remount,bind,ro ${release}
      mount -t tmpfs none ${process.cwd()} && ip link set lo up && cd ${folder}
      exec setpriv --reuid ${NOBODY} --regid ${NOBODY} --clear-groups sh -euc '
        ! touch ${release}/written 2>/dev/null
        ug=${release}/bin/ug
        $ug serve --demo --port 0 >log 2>&1 & pid=$!
        until grep -qs "^Ctrl-C" log; do kill -0 $pid; sleep 0.1; done
        export SERVICE_URL=$(sed -n "s/^The user group service is ready at //p" log) OPERATOR_KEY=$(cat .demo-keys/default.operator)
        $ug keys issue --workspace acme --environment Customer --name backend --create >/dev/null
        $ug backup --all backups
        kill $pid; wait $pid
        $ug backup verify backups --env-file .dev.vars
        DATABASE_URL=postgresql://127.0.0.1:1/none $ug prove --as "SELECT 1" --as "SELECT 2" 2>&1 || echo prove $?
        $ug serve --port 0 --persist-to other >log2 2>&1 & pid=$!
        until grep -qs "^Ctrl-C" log2; do kill -0 $pid; sleep 0.1; done
        unset OPERATOR_KEY
        export SERVICE_URL=$(sed -n "s/^The user group service is ready at //p" log2)
        $ug restore backups
        kill $pid; wait $pid'`;
    const { stdout, stderr, status } = spawnSync("unshare", ["--mount", "--net", "sh", "-c", script], {
      encoding: "utf8",
      env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" },
    });
    expect([stderr.replaceAll(/^(?:The newest backup is|At http) ?.*\n/gm, ""), status]).toEqual(["", 0]);
    expect(stdout.match(/Proven: it was restored.*; signature checked\./g)).toHaveLength(3);
    expect(stdout).toMatch(/Restored the registry, acme\/Customer, demo\/Testing\./);
    expect(stdout).toMatch(/cannot be reached|could not be reached|ECONNREFUSED/);
  },
);

describe("deploy/switch", () => {
  it("leads the link to its release, and back", () => {
    const folder = newFolder();
    const [one, two] = [releaseIn(folder, "1.1.0"), releaseIn(folder, "1.2.0")];
    expect(switchTo(one)).toMatchObject({
      status: 0,
      stdout: expect.stringContaining("current is now 1.1.0. Load it"),
    });
    expect(switchTo(two).stdout).toContain("current is now 1.2.0; before it was 1.1.0.");
    expect(readlinkSync(join(folder, "current"))).toBe("1.2.0");
    expect(execFileSync(join(folder, "current/bin/ug"), ["--version"], { encoding: "utf8" })).toBe(`${version}\n`);
    expect(switchTo(one).status).toBe(0);
    expect(readlinkSync(join(folder, "current"))).toBe("1.1.0");
    expect(readdirSync(folder).toSorted()).toEqual(["1.1.0", "1.2.0", "current"]);
  });

  it("makes a link that is lost, or leads nowhere", () => {
    const folder = newFolder();
    const one = releaseIn(folder, "1.1.0");
    symlinkSync("nowhere", join(folder, "current"));
    expect(switchTo(one).status).toBe(0);
    expect(readlinkSync(join(folder, "current"))).toBe("1.1.0");
  });

  /** What makes a release unfit, and what the sentence about it says. */
  const UNFIT: [string, RegExp, (folder: string) => NodeJS.ProcessEnv | undefined][] = [
    [
      "a file that was cut",
      /is not what its file contains\. Delete the folder, free space if the disk is full, and unpack the file again/,
      (folder) => {
        const file = join(folder, "lib/ug.mjs");
        const text = readFileSync(file);
        rmSync(file);
        writeFileSync(file, text.subarray(0, text.length / 2));
        return undefined;
      },
    ],
    [
      "a file that is missing, as after an interrupted tar",
      /is not what its file contains/,
      (folder) => {
        rmSync(join(folder, "worker/settings.json"));
        return undefined;
      },
    ],
    [
      "no list of its files",
      /is not what its file contains/,
      (folder) => {
        rmSync(join(folder, "sha256sums"));
        return undefined;
      },
    ],
    [
      "another architecture",
      /this release is for Linux on \w+, and this machine is Linux riscv64\. Take the file of the release for it/,
      () => {
        const bin = newFolder();
        writeFileSync(join(bin, "uname"), "#!/bin/sh\necho Linux riscv64\n", { mode: 0o755 });
        return { ...process.env, PATH: `${bin}:${process.env.PATH}` };
      },
    ],
    [
      "a folder in the place of the link",
      /current is no link\. Move it away/,
      (folder) => {
        rmSync(join(folder, "../current"));
        mkdirSync(join(folder, "../current"));
        return undefined;
      },
    ],
  ];
  it.for(UNFIT)("refuses %s with a sentence, and leaves the link as it was", ([, sentence, spoil]) => {
    const folder = newFolder();
    switchTo(releaseIn(folder, "1.1.0"));
    const two = releaseIn(folder, "1.2.0");
    const env = spoil(two);
    const isLink = lstatSync(join(folder, "current")).isSymbolicLink();
    const { status, stderr } = switchTo(two, env);
    expect([status, stderr]).toEqual([1, expect.stringMatching(sentence)]);
    expect(stderr).toMatch(/Nothing was switched\.\n$/);
    if (isLink) expect(readlinkSync(join(folder, "current"))).toBe("1.1.0");
    expect(existsSync(join(folder, ".new"))).toBe(false);
  });
});

if (isLong)
  describe("npm run package", () => {
    /** A clone of this project at its newest commit, with a copy of its packages. */
    function cloneIn(folder: string): string {
      const clone = join(folder, "clone");
      execFileSync("git", ["clone", "--quiet", process.cwd(), clone]);
      execFileSync("cp", ["-a", join(process.cwd(), "node_modules"), clone]);
      rmSync(join(clone, "node_modules/.cache"), { recursive: true, force: true });
      return clone;
    }

    const packIn = (clone: string, umask: string) => {
      execFileSync("sh", ["-c", `umask ${umask}; npm run --silent package`], { cwd: clone, stdio: "pipe" });
      return join(clone, "dist");
    };

    it("gives the same bytes from two clones, whatever the umask and the folder", () => {
      const [one, two] = [packIn(cloneIn(newFolder()), "022"), packIn(cloneIn(newFolder()), "077")];
      const files = readdirSync(one).toSorted();
      expect(files).toHaveLength(3);
      expect(readdirSync(two).toSorted()).toEqual(files);
      for (const file of files) expect([file, sha256Of(join(two, file))]).toEqual([file, sha256Of(join(one, file))]);
      const archive = files.find((file) => file.endsWith(".tar.gz")) ?? "";
      expect(statSync(join(one, archive)).size).toBeLessThan(100e6);
      expect(execFileSync("sha256sum", ["-c", `${archive}.sha256`], { cwd: one, encoding: "utf8" })).toContain("OK");

      const [, steps = ""] =
        /\n( +sha256sum -c [\s\S]*?deploy\/switch)\n/.exec(readFileSync("docs/operators/one-box.md", "utf8")) ?? [];
      /** Takes the steps of the document in the folder of the download. */
      const install = (download: string, root: string) => {
        const here = steps
          .replaceAll("sudo ", "")
          .replaceAll("/opt/user-group-service", root)
          .replaceAll("linux-x64", `linux-${process.arch}`);
        return spawnSync("sh", ["-c", `VERSION=${version}\n${here}`], { cwd: download, encoding: "utf8" });
      };
      const disk = newFolder();
      execFileSync("mount", ["-t", "tmpfs", "-o", "size=150m", "tmpfs", disk]);
      onTestFinished(() => void execFileSync("umount", [disk]));
      const full = install(one, disk);
      expect([full.status, full.stderr]).toEqual([2, expect.stringContaining("No space left on device")]);
      expect(readdirSync(disk)).toEqual([version]);
      const room = newFolder();
      expect(install(one, room)).toMatchObject({
        status: 0,
        stderr: "",
        stdout: expect.stringContaining("current is now"),
      });
      truncateSync(join(two, archive), 50e6);
      const cut = newFolder();
      expect(install(two, cut)).toMatchObject({ status: 1, stdout: expect.stringContaining("FAILED") });
      expect(readdirSync(cut)).toEqual([]);
    });
  });
