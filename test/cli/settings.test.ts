import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import { checkLoaded } from "../../cli/src/doctor/env-file.ts";
import type { Finding } from "../../cli/src/doctor/finding.ts";
import { settingsFileIn } from "../../cli/src/serve/settings-file.ts";
import { SETTING_NAMES, type SettingName } from "../../common/settings/settings.ts";
import { certify, hasOpenssl } from "../support/node/certificate.ts";
import { outcomeOf, runCommand, startCommand } from "../support/node/commands.ts";
import { freePort } from "../support/node/free-port.ts";
import { newFolder } from "../support/node/new-folder.ts";
import { printedOn } from "../support/node/printed.ts";
import { endGroup, runIn, waitUntil } from "../support/node/service.ts";
import { SETTING_TEXTS, secretsIn } from "../support/setting-texts.ts";

const UG = join(process.cwd(), "cli/src/main.ts");

type Texts = Partial<Record<string, string>>;
const GOOD: Texts = { SIGNING_KEYS: SETTING_TEXTS.SIGNING_KEYS.good[0] ?? "", OPERATOR_TOKEN: "x".repeat(32) };

/** A file of settings, whose texts stand in quotation marks, so that each character counts. */
function fileWith(texts: Texts): string {
  const file = join(newFolder(), "env");
  const lines = Object.entries(texts).map(([name, value = ""]) => {
    const mark = value.includes('"') ? "'" : '"';
    return `${name}=${mark}${value}${mark}\n`;
  });
  writeFileSync(file, lines.join(""), { mode: 0o600 });
  return file;
}

/** In a file, Node leaves CR out; in the environment, the system has no NUL. */
const canBeInFile = (value = "") => !value.includes("\r");

/** Runs `ug serve` until it is ready or has ended. */
async function started(file: string, options: readonly string[] = [], env: NodeJS.ProcessEnv = {}) {
  const folder = newFolder();
  const serve = ["--", UG, "serve", "--port", "0", "--persist-to", "state", "--env-file", file];
  const child = runIn(folder, [process.execPath, ...serve, ...options], env);
  const output = printedOn(child.stdout);
  const stderr = text(child.stderr as Readable);
  await waitUntil(() => output.text.includes("Ctrl-C") || child.exitCode !== null, "ug serve was ready or had ended");
  const isReady = output.text.includes("Ctrl-C");
  await endGroup(child, "SIGTERM");
  return { isReady, status: child.exitCode, stderr: await stderr };
}

/** Runs it in this process, where it ends before it starts anything. */
const refused = (file: string, options: readonly string[] = [], env: NodeJS.ProcessEnv = {}) =>
  runCommand("serve", ["--port", "0", "--persist-to", join(newFolder(), "state"), "--env-file", file, ...options], env);

const diagnosed = async (file: string) => {
  const { stdout, stderr } = await runCommand("doctor", ["--json", "--env-file", file]);
  const { checks } = JSON.parse(stdout) as { checks: { check: string; level: string; message: string }[] };
  return { checks, output: stdout + stderr, levels: (level: string) => checks.filter((each) => each.level === level) };
};

/** The mistake with this number in each setting that has as many. */
const mistakesOf = (index: number): [SettingName, string][] =>
  SETTING_NAMES.flatMap((name) => {
    const wrong = SETTING_TEXTS[name].wrong[index];
    return wrong === undefined ? [] : [[name, wrong] as [SettingName, string]];
  });
const MISTAKES = Math.max(...SETTING_NAMES.map((name) => SETTING_TEXTS[name].wrong.length));

it("has ten mistakes or more for each setting", () => {
  for (const name of SETTING_NAMES) expect(SETTING_TEXTS[name].wrong.length).toBeGreaterThanOrEqual(10);
});

describe.for(Array.from({ length: MISTAKES }, (_, index) => index))("mistake %d of each setting", (index) => {
  const mistakes = mistakesOf(index);
  it("stops ug serve, which names each setting and shows no secret", async () => {
    const inFile = mistakes.filter(([, wrong]) => canBeInFile(wrong));
    const inEnvironment = Object.fromEntries(mistakes.filter(([, wrong]) => !canBeInFile(wrong)));
    const good = Object.entries(GOOD).filter(([name]) => !(name in inEnvironment));
    const { status, stdout, stderr } = await refused(
      fileWith(Object.fromEntries([...good, ...inFile])),
      [],
      inEnvironment,
    );
    expect([status, stdout]).toEqual([1, ""]);
    for (const [name] of mistakes) expect(stderr).toContain(`${name} cannot be read: `);
    for (const [name, wrong] of mistakes)
      for (const secret of secretsIn(name, wrong)) expect(stderr).not.toContain(secret);
    expect(stderr).not.toMatch(/^\s+at /m);
  });

  it("is found by ug doctor, which shows no secret", async () => {
    const { levels, output } = await diagnosed(fileWith({ ...GOOD, ...Object.fromEntries(mistakes) }));
    const failures = levels("failed").map(({ message }) => message);
    for (const [name, wrong] of mistakes)
      if (canBeInFile(wrong))
        expect(failures.filter((each) => each.includes(`${name} cannot be read: `))).toHaveLength(1);
    for (const [name, wrong] of mistakes)
      for (const secret of secretsIn(name, wrong)) expect(output).not.toContain(secret);
  });
});

it("starts with each good value", async () => {
  const counts = SETTING_NAMES.map((name) => SETTING_TEXTS[name].good.length);
  for (let index = 0; index < Math.max(...counts); index += 1) {
    const texts = SETTING_NAMES.filter((name) => name !== "JURISDICTION").map((name) => {
      const { good } = SETTING_TEXTS[name];
      return [name, good[index % good.length]] as const;
    });
    expect(await started(fileWith(Object.fromEntries(texts)))).toMatchObject({ isReady: true });
  }
});

it("stops with a part of the settings of the sign-in with the company, which ug doctor finds", async () => {
  const file = fileWith({ ...GOOD, SSO_HEADER: "X-Assertion", SSO_AUDIENCE: "a" });
  const sentence = "SSO_ISSUER and SSO_JWKS_URL are missing. Set all of SSO_HEADER,";
  const { isReady, stderr } = await started(file);
  expect([isReady, stderr]).toEqual([false, expect.stringContaining(sentence)]);
  expect((await diagnosed(file)).levels("failed")).toContainEqual(
    expect.objectContaining({ check: "settings", message: expect.stringContaining(sentence) }),
  );
});

describe("the keys of the company's provider", () => {
  const sso = { SSO_HEADER: "X-Assertion", SSO_AUDIENCE: "a", SSO_ISSUER: "https://id.example.com" };
  const answers: Record<string, (response: ServerResponse) => void> = {
    "/keys": (response) => response.end(JSON.stringify({ keys: [{ kty: "RSA" }] })),
    "/none": (response) => response.end(JSON.stringify({ keys: [] })),
    "/page": (response) => response.end("<h1>Sign in</h1>"),
    "/moved": (response) => response.writeHead(302, { Location: "/keys" }).end(),
  };

  it.for([
    ["/keys", "ok", "SSO_JWKS_URL shows 1 of the provider's keys"],
    ["/none", "failed", "SSO_JWKS_URL shows no public keys (status 200)."],
    ["/page", "failed", "SSO_JWKS_URL shows no public keys (status 200)."],
    ["/moved", "failed", "SSO_JWKS_URL shows no public keys (status 302)."],
    [undefined, "failed", "SSO_JWKS_URL cannot be reached from this machine: connect ECONNREFUSED"],
  ] as const)("are fetched by ug doctor: %s is %s", async ([path, level, message]) => {
    const provider = createServer(({ url = "" }, response) => answers[url]?.(response)).listen(0, "127.0.0.1");
    onTestFinished(() => void provider.close());
    await once(provider, "listening");
    const { port } = provider.address() as AddressInfo;
    if (path === undefined) await new Promise((resolve) => provider.close(resolve));
    const file = fileWith({ ...GOOD, ...sso, SSO_JWKS_URL: `http://127.0.0.1:${port}${path ?? "/keys"}` });
    const { checks } = await diagnosed(file);
    expect(checks).toContainEqual({ check: "sign-in", level, message: expect.stringContaining(message) });
  });

  const skipped = hasOpenssl ? "" : ", skipped: openssl is missing";
  it.skipIf(!hasOpenssl)(`are trusted by the certificates of the machine alone${skipped}`, async () => {
    const { file: certificate, ...tls } = certify(newFolder());
    const provider = createTlsServer(tls, (_, response) => answers["/keys"]?.(response)).listen(0, "localhost");
    onTestFinished(() => void provider.close());
    await once(provider, "listening");
    const { port } = provider.address() as AddressInfo;
    const file = fileWith({ ...GOOD, ...sso, SSO_JWKS_URL: `https://localhost:${port}/keys` });
    const levelWith = async (env: NodeJS.ProcessEnv) => {
      const { stdout } = await outcomeOf(startCommand("doctor", ["--json", "--env-file", file], env));
      return (JSON.parse(stdout) as { checks: Finding[] }).checks.find(({ check }) => check === "sign-in")?.level;
    };
    expect(await levelWith({})).toBe("failed");
    expect(await levelWith({ SSL_CERT_FILE: certificate })).toBe("ok");
  });

  it("are not asked for where operators do not sign in with a company", async () => {
    const { checks } = await diagnosed(fileWith(GOOD));
    expect(checks.map(({ check }) => check)).not.toContain("sign-in");
  });
});

it("stops with a mistake in --var, and in the environment", async () => {
  const file = fileWith(GOOD);
  expect(await started(file, ["--var", "UNDO_DAYS:-3"])).toMatchObject({
    isReady: false,
    status: 1,
    stderr: expect.stringContaining("UNDO_DAYS cannot be read: it is no number from 0 to 36500."),
  });
});

it("warns once of names that are no settings, in serve and in doctor, and shows none that may be a secret", async () => {
  const file = fileWith({ ...GOOD, UNDO_DAYZ: "7", undo_days: "7" });
  writeFileSync(file, `\nk1 c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2U=\n`, { flag: "a" });
  const { isReady, stderr } = await started(file);
  expect(isReady).toBe(true);
  expect(stderr.match(/The service has no setting UNDO_DAYZ, undo_days, a name that is not shown/g)).toHaveLength(1);
  expect(stderr).not.toContain("c2Vj");
  const { levels, output } = await diagnosed(file);
  expect(levels("warning").filter(({ message }) => message.includes("UNDO_DAYZ, undo_days"))).toHaveLength(1);
  expect(output).not.toContain("c2Vj");
});

it("warns of a setting that is in the file twice, in serve and in doctor, and shows no value", async () => {
  const file = fileWith({ ...GOOD, UNDO_DAYS: "7" });
  const other = Buffer.alloc(32, 7).toString("base64");
  writeFileSync(file, `# UNDO_DAYS=3\n export SIGNING_KEYS = k2:${other}\n`, { flag: "a" });
  const sentence = `${file} has SIGNING_KEYS more than once, and only the last line of each counts.`;
  const { isReady, stderr } = await started(file);
  expect([isReady, stderr]).toEqual([true, expect.stringContaining(sentence)]);
  const { levels, output } = await diagnosed(file);
  expect(levels("warning")).toContainEqual(expect.objectContaining({ check: "settings", message: sentence }));
  expect(stderr + output).not.toContain(other);
});

it("warns of an address header that is in the file, where it does nothing", async () => {
  const file = fileWith({ ...GOOD, CLIENT_ADDRESS_HEADER: "X-Real-IP" });
  const sentence = "CLIENT_ADDRESS_HEADER does nothing in";
  expect((await started(file)).stderr).toContain(sentence);
  expect((await diagnosed(file)).levels("warning")).toContainEqual(
    expect.objectContaining({ message: expect.stringContaining(sentence) }),
  );
});

it("invites nobody to make new signing keys where there may be some", async () => {
  const missing = await refused(fileWith({ OPERATOR_TOKEN: "x".repeat(32) }));
  expect(missing.stderr).toContain("SIGNING_KEYS is missing.");
  const folder = newFolder();
  mkdirSync(join(folder, "file"));
  const unreadable = await refused(join(folder, "file"));
  expect([unreadable.status, unreadable.stderr]).toEqual([
    1,
    expect.stringMatching(/cannot be read: EISDIR.* make no new secrets/),
  ]);
  expect(unreadable.stderr).not.toMatch(/is missing|openssl/);
});

describe("settings that were edited after the start", () => {
  /** A service at a port of its own with this file, and how to diagnose it. */
  async function serviceWith(texts: Texts, options: readonly string[] = []) {
    const file = fileWith(texts);
    const port = await freePort();
    const serve = ["--", UG, "serve", "--port", String(port), "--persist-to", "state", "--env-file", file];
    const child = runIn(newFolder(), [process.execPath, ...serve, ...options]);
    onTestFinished(() => endGroup(child, "SIGKILL"));
    const output = printedOn(child.stdout);
    await waitUntil(() => output.text.includes("Ctrl-C"), "the service was ready");
    const loaded = async () => {
      const args = ["--json", "--env-file", file, "--url", `http://127.0.0.1:${port}`];
      const { checks } = JSON.parse((await runCommand("doctor", args)).stdout) as { checks: Finding[] };
      return checks.filter(({ check }) => check === "loaded" || check === "address");
    };
    const edit = (changed: Texts) => writeFileSync(file, readFileSync(fileWith({ ...texts, ...changed })));
    return { loaded, edit };
  }

  it("are named by ug doctor until the service is restarted", async () => {
    const { loaded, edit } = await serviceWith({ ...GOOD, UNDO_DAYS: "7", EVENT_DAYS: "8" }, ["--var", "EVENT_DAYS:9"]);
    expect(await loaded()).toMatchObject([{ level: "ok" }]);
    edit({ UNDO_DAYS: "14", OPERATOR_TOKEN: "y".repeat(40) });
    const [finding] = await loaded();
    expect(finding).toMatchObject({
      level: "failed",
      message: expect.stringMatching(/^The service has not loaded OPERATOR_TOKEN, UNDO_DAYS as .* Restart/),
    });
    expect(finding?.message).not.toContain("yyyy");
  });

  it.for([
    [[], "warning", "share one limit"],
    [["--client-address-header", "X-Real-IP"], "ok", "X-Real-IP"],
  ] as const)("go with the header of the proxy: %j is %s", async ([options, level, part]) => {
    const { loaded } = await serviceWith({ ...GOOD, PUBLIC_URL: "https://groups.example.com" }, options);
    expect(await loaded()).toMatchObject([{ level: "ok" }, { level, message: expect.stringContaining(part) }]);
  });

  it("are found by the public keys, where the process cannot be seen", async () => {
    const { url, folder } = inject("service");
    const { texts = {} } = settingsFileIn(join(folder, ".dev.vars")) ?? {};
    const { keys } = (await (await fetch(`${url}/.well-known/jwks.json`)).json()) as { keys: unknown[] };
    const check = (given: Texts) =>
      checkLoaded({ file: "env", texts: given }, new URL("https://groups.example.com"), keys);
    expect(check(texts)).toMatchObject([{ level: "ok" }]);
    expect(check(GOOD)).toMatchObject([{ level: "failed", message: expect.stringContaining("other SIGNING_KEYS") }]);
  });
});
