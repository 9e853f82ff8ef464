import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, globSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import { UserGroupClient } from "../../client/src/index.ts";
import { hasChromium, skippedWithoutChromium, startChromium } from "../../tools/browser.ts";
import { recordKit, writeKit } from "../../tools/kit/kit.ts";
import { checkHostileHosts, checkKit, checkOrigins, kitAt } from "../support/node/kit-checks.ts";
import { newFolder } from "../support/node/new-folder.ts";
import { PACKAGE } from "../support/node/packed-client.ts";
import { standIn } from "../support/node/stand-in.ts";

const { url, key, folder } = inject("service");

const PACKAGE_BYTES_MAX = 300 * 1024;
const WITH_A_VERSION = /^(user-group-service|viewer)-.*\.(js|tgz)$/;

it("/kit/ has each file with its hashes, types and caching, and names what is there in place of another", async () => {
  await checkKit(expect, url, { isClone: true });
});

it("pages show the origin of their reader's address, and no host that a stranger makes up", async () => {
  await checkOrigins(expect, url);
  await checkHostileHosts(expect, url);
});

/** A copy of the sources of the kit, in a folder of its own. */
function sources(): string {
  const root = newFolder();
  for (const name of [
    "client",
    "cli",
    "common",
    "prove",
    "python",
    "src",
    "package.json",
    "tsconfig.json",
    "CHANGELOG.md",
  ])
    cpSync(name, join(root, name), { recursive: true, filter: (path) => !/\/(dist|node_modules)$/.test(path) });
  symlinkSync(resolve("node_modules"), join(root, "node_modules"));
  return root;
}

/** The files with a version in their names, as the kit of a project has them. */
const builtFrom = async (root: string) => {
  const output = join(root, "built");
  await writeKit(root, output);
  const names = globSync("kit/*", { cwd: output }).map((name) => name.slice("kit/".length));
  return { names: names.filter((name) => WITH_A_VERSION.test(name)).toSorted(), output };
};

describe("the files of the kit", () => {
  it("have the same bytes from another folder, and no path of the machine", async () => {
    const root = sources();
    await builtFrom(root);
    const { files } = JSON.parse(readFileSync(join(root, "built/kit/files.json"), "utf8"));
    expect(files).toEqual((await kitAt(url)).files);

    const unpacked = newFolder();
    execFileSync("tar", ["-xzf", PACKAGE, "-C", unpacked]);
    const texts = globSync(["**/*.*", "**/licences"], { cwd: unpacked }).map((name) => join(unpacked, name));
    expect(texts.length).toBeGreaterThan(40);
    const places = [root, folder, process.cwd(), homedir(), key];
    for (const file of [...texts, ...globSync(join(folder, "public/kit/*.{html,js,json}"))]) {
      const content = readFileSync(file, "utf8");
      expect(
        places.filter((place) => content.includes(place)),
        file,
      ).toEqual([]);
    }
    expect(readFileSync(PACKAGE).length).toBeLessThanOrEqual(PACKAGE_BYTES_MAX);
  });

  it("have the version alone once they are recorded, and a hash after any change", async () => {
    const root = sources();
    writeFileSync(join(root, "CHANGELOG.md"), "# Changes\n\n## 7.0.0\n");
    expect(await recordKit(root)).toBe("7.0.0");
    const released = await builtFrom(root);
    const older = globSync("viewer-*.js", { cwd: "client/releases" }).toSorted();
    expect(released.names).toEqual(["user-group-service-7.0.0.tgz", ...older, "viewer-7.0.0.js"]);
    const viewer = readFileSync(join(released.output, "kit/viewer-7.0.0.js"));

    writeFileSync(join(root, "CHANGELOG.md"), "# Changes\n\n## 7.1.0\n");
    writeFileSync(join(root, "client/README.md"), "Another.\n");
    const later = await builtFrom(root);
    const dev = expect.stringMatching(/^\S+-7\.1\.0-dev\.[a-f]\w{11}\.(js|tgz)$/);
    expect(later.names).toEqual([dev, ...older, "viewer-7.0.0.js", dev]);
    expect(readFileSync(join(later.output, "kit/viewer-7.0.0.js"))).toEqual(viewer);

    writeFileSync(join(root, "client/releases/viewer-7.0.0.js"), "changed");
    await expect(builtFrom(root)).rejects.toThrow(
      "viewer-7.0.0.js in client/releases is not the one that was released.",
    );
  });
});

describe("ug of the package", () => {
  const unpacked = () => {
    const project = newFolder();
    mkdirSync(join(project, "package"));
    execFileSync("tar", ["-xzf", PACKAGE, "-C", project]);
    return join(project, "package/bin/ug.cjs");
  };
  const ug = (program: string, ...args: string[]) => {
    const env = { ...process.env, SERVICE_URL: url, API_KEY: key, OPERATOR_KEY: "", XDG_CONFIG_HOME: "/nonexistent" };
    const { status, stdout, stderr } = spawnSync(process.execPath, ["--", program, ...args], { encoding: "utf8", env });
    return { status, stdout: stdout.trim(), stderr: stderr.trim() };
  };

  it("calls the service, and has the version of the kit", async () => {
    const program = unpacked();
    const { version } = await kitAt(url);
    expect(ug(program, "--version")).toEqual({ status: 0, stdout: version, stderr: "" });
    expect(ug(program, "whoami").stdout).toContain("demo");
    expect(ug(program, "prove", "--help").status).toBe(0);
    expect(ug(program, "--help").stdout).not.toMatch(/^ {2}serve |npm start/m);
  });

  it.for(["backup", "erase", "restore", "serve"])("says where %s runs", (name) => {
    const sentence = `ug ${name} runs on the machine of the service, from its release. This ug is of the npm package, for those who call the service.`;
    expect(ug(unpacked(), name, "--all", "x")).toEqual({ status: 1, stdout: "", stderr: `error: ${sentence}` });
  });
});

it.skipIf(!hasChromium)(
  `a page of another origin imports the viewer under a strict CSP, and only with the right hash${skippedWithoutChromium}`,
  async () => {
    const { files } = await kitAt(url);
    const { name = "", integrity = "" } = files.find((file) => file.name.startsWith("viewer-")) ?? {};
    const viewer = `${url}/kit/${name}`;
    const groups = new UserGroupClient({ url, apiKey: key });
    await groups.ensure({ userGroupId: "imported", name: "Imported Inc." });

    const browser = await startChromium();
    onTestFinished(() => browser.close());
    const shownWith = async (hash: string) => {
      const map = { imports: { "user-group-service/viewer": viewer }, integrity: { [viewer]: hash } };
      let session = {};
      const { url: site } = await standIn(() => ({
        status: 200,
        headers: {
          "Content-Type": "text/html",
          "Content-Security-Policy": `default-src 'none'; script-src 'nonce-n' ${viewer}; connect-src ${url}; base-uri 'none'`,
        },
        body: `<!doctype html><title>waiting</title><script type="importmap" nonce="n">${JSON.stringify(map)}</script>
<script type="module" nonce="n">
import("user-group-service/viewer")
  .then(({ ViewerClient }) => new ViewerClient({ url: "${url}", session: async () => (${JSON.stringify(session)}) }).view())
  .then(({ group }) => { document.title = group.name; }, () => { document.title = "refused"; });
</script>`,
      }));
      session = await groups.mintSession({ userGroupId: "imported", origins: [site] });
      const page = await browser.newPage();
      await page.goto(site);
      await expect.poll(() => page.title()).not.toBe("waiting");
      return page.title();
    };
    expect(await shownWith(integrity)).toBe("Imported Inc.");
    expect(await shownWith(`sha384-${Buffer.alloc(48).toString("base64")}`)).toBe("refused");
  },
);
