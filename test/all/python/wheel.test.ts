import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { wheelOf } from "../../../tools/kit/wheel.ts";
import { outcomeOf } from "../../support/node/commands.ts";
import { skippedWithout } from "../../support/node/python.ts";
import { runIn } from "../../support/node/service.ts";
import { standIn } from "../../support/node/stand-in.ts";

const skipped = skippedWithout("pip", "jwt");
const VERSIONS = ["1.2.0", "1.2.0.dev0+abcdef012345"];

describe.for(VERSIONS)("the wheel of %s", (version) => {
  const { name, content } = wheelOf(".")({ npm: version, python: version });
  const sha256 = createHash("sha256").update(content).digest("hex");
  let folder = "";
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "wheel-"));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  /** Installs with pip into a folder of its own, without an index and settings of this machine. Resolves to the version there. */
  async function install(...args: string[]): Promise<string> {
    const target = mkdtempSync(join(folder, "target-"));
    const env = { PIP_CONFIG_FILE: "/dev/null", PIP_FIND_LINKS: "", PIP_NO_INDEX: "1", NO_PROXY: "127.0.0.1" };
    const pip = ["python3", "-m", "pip", "install", "--no-deps", "--quiet", "--target", target] as const;
    const installed = await outcomeOf(runIn(folder, [...pip, ...args], env));
    if (installed.status !== 0) return installed.stderr;
    const show =
      "import user_group_service, importlib.metadata as m; print(user_group_service.__file__, m.version('user-group-service'))";
    const { stdout, stderr } = await outcomeOf(runIn(folder, ["python3", "-c", show], { PYTHONPATH: target }));
    return stderr || stdout.replace(`${target}/user_group_service/__init__.py `, "");
  }

  /** The address of a page with the file, as /kit/ has it. */
  async function serve(): Promise<string> {
    const path = `/kit/${name.replace("+", "%2B")}`;
    const type = { "Content-Type": "text/html" };
    const { url } = await standIn(({ path: asked }) =>
      asked === path
        ? { status: 200, body: content }
        : { status: 200, headers: type, body: `<a href="${path}#sha256=${sha256}">${name}</a>` },
    );
    return `${url}${path}`;
  }

  it("has the same bytes each time, and a version that pip knows", () => {
    expect(name).toBe(`user_group_service-${version}-py3-none-any.whl`);
    expect(wheelOf(".")({ npm: version, python: version }).content).toEqual(content);
  });

  it.skipIf(skipped)(`is installed by pip from its file and from its address${skipped}`, async () => {
    writeFileSync(join(folder, name), content);
    expect(await install(`./${name}`)).toBe(version);
    expect(await install(await serve())).toBe(version);
  });

  it.skipIf(skipped)(`is installed by pip with its hash, and with no other${skipped}`, async () => {
    const requirement = async (hash: string) => {
      const file = join(folder, "requirements.txt");
      writeFileSync(file, `user-group-service @ ${await serve()} --hash=sha256:${hash}\n`);
      return install("--require-hashes", "-r", file);
    };
    expect(await requirement(sha256)).toBe(version);
    expect(await requirement("0".repeat(64))).toContain("DO NOT MATCH THE HASHES");
  });

  it.skipIf(skipped)(`is found by pip on a page that lists it${skipped}`, async () => {
    const page = (await serve()).replace(/[^/]*$/, "");
    expect(await install("--find-links", page, "user-group-service")).toBe(version);
  });
});
