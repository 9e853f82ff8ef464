import { type ChildProcess, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingHttpHeaders } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { certify } from "../../support/node/certificate.ts";
import { environmentsOf, sessionOf } from "../../support/node/environments.ts";
import { freePort } from "../../support/node/free-port.ts";
import { endGroup, runIn, waitUntil } from "../../support/node/service.ts";

/** The recipe for Apache with mod_auth_openidc, before an app that shows what reaches it. */

const { url } = inject("service");
const MODULES = "/usr/lib/apache2/modules";
const isThere = existsSync(join(MODULES, "mod_auth_openidc.so")) && spawnSync("apache2", ["-v"]).status === 0;
const skipped = isThere ? "" : ", skipped: Debian's libapache2-mod-auth-openidc is missing";
const test = it.skipIf(!isThere);

/** What Debian's configuration has besides the recipe, and a certificate that the module trusts. */
const configuration = (recipe: string, folder: string, port: number) => `
  ${["mpm_event", "authn_core", "authz_core", "authz_user", "proxy", "proxy_http", "auth_openidc"]
    .map((name) => `LoadModule ${name}_module ${MODULES}/mod_${name}.so`)
    .join("\n")}
  OIDCCABundlePath ${folder}/certificate.pem
  ServerName localhost
  ServerRoot ${folder}
  DefaultRuntimeDir ${folder}
  User nobody
  Group nogroup
  PidFile ${folder}/pid
  ErrorLog ${folder}/error.log
  Listen 127.0.0.1:${port}
  ${recipe}`;

describe("mod_auth_openidc", () => {
  const folder = mkdtempSync(join(tmpdir(), "apache-"));
  let environments: Awaited<ReturnType<typeof environmentsOf>>;
  let reached: IncomingHttpHeaders[] = [];
  const app = createServer((request, response) => {
    reached.push(request.headers);
    response.end("the app");
  });
  /** The service's keys with TLS, which the module insists on. */
  let keys: ReturnType<typeof createTlsServer> | undefined;
  let apache: ChildProcess | undefined;
  let address = "";

  beforeAll(async () => {
    if (!isThere) return;
    // Apache's processes of an ordinary user read the certificate.
    chmodSync(folder, 0o755);
    environments = await environmentsOf("apache");
    keys = createTlsServer(certify(folder), async ({ url: path = "" }, response) => {
      response.end(await (await fetch(url + path)).text());
    });
    for (const server of [app, keys]) await once(server.listen(0, "127.0.0.1"), "listening");
    const port = await freePort();
    const recipe = readFileSync("examples/consumers/apache.conf", "utf8")
      .replace("https://groups.example.com/", `https://localhost:${Object(keys.address()).port}/`)
      .replace("https://groups.example.com", url)
      .replaceAll("127.0.0.1:3000", `127.0.0.1:${Object(app.address()).port}`)
      .replaceAll("127.0.0.1:8080", `127.0.0.1:${port}`)
      .replaceAll("acme/Customer", environments.audience);
    writeFileSync(join(folder, "apache.conf"), configuration(recipe, folder, port));
    apache = runIn(folder, ["apache2", "-D", "FOREGROUND", "-f", join(folder, "apache.conf")]);
    address = `http://127.0.0.1:${port}/reports`;
    const answers = () =>
      fetch(address).then(
        () => true,
        () => false,
      );
    await waitUntil(answers, "Apache answered");
  });
  afterAll(async () => {
    if (apache) await endGroup(apache, "SIGTERM");
    app.close();
    keys?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Returns the answer's status and, of each request that reached the app, the claims that it can read in any spelling. */
  async function ask(session?: string, headers: Record<string, string> = {}) {
    reached = [];
    const { status } = await fetch(address, {
      headers: { ...headers, ...(session !== undefined && { Authorization: `Bearer ${session}` }) },
    });
    const claim = (name: string) => (found: IncomingHttpHeaders) =>
      Object.entries(found).flatMap(([header, value]) =>
        header.replaceAll("-", "_") === `oidc_claim_${name}` ? [value] : [],
      );
    return { status, teamIds: reached.map(claim("team_id")), viewers: reached.map(claim("viewer_id")) };
  }

  test(`says to the app whose data to show${skipped}`, async () => {
    for (const customer of [environments.own, environments.other])
      expect(await ask(await sessionOf(customer))).toEqual({
        status: 200,
        teamIds: [[String(customer.teamId)]],
        viewers: [["jane"]],
      });
  });

  test(`lets no session of another environment through, and nobody without one${skipped}`, async () => {
    const session = await sessionOf(environments.own);
    for (const forged of [undefined, `${session.slice(0, -6)}AAAAAA`, environments.own.token])
      expect(await ask(forged)).toMatchObject({ status: 401, teamIds: [] });
    for (const [name, customer] of Object.entries(environments.foreign))
      for (const credential of [await sessionOf(customer), customer.token])
        expect(await ask(credential), name).toMatchObject({ status: 401, teamIds: [] });
  });

  test(`removes claims that clients send in headers, in each spelling${skipped}`, async () => {
    const { groups, teamId } = environments.own;
    // Without a person: nothing replaces a forged one.
    const { token } = await groups.mintSession({ userGroupId: "acme" });
    const spellings = ["OIDC_CLAIM_", "OIDC-CLAIM-", "oidc_claim-", "Oidc-Claim_"];
    const forged = spellings.flatMap((prefix) =>
      ["team_id", "team-id", "viewer_id", "Viewer-Id"].map((name) => [prefix + name, "2"]),
    );
    for (const [name = "", value = ""] of forged)
      expect(await ask(token, { [name]: value }), name).toEqual({
        status: 200,
        teamIds: [[String(teamId)]],
        viewers: [[]],
      });
  });
});
