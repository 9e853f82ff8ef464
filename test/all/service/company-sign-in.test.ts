import { rmSync } from "node:fs";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { expect, it, onTestFinished } from "vitest";
import { type Bundle, bundleOf } from "../../../cli/src/serve/bundle.ts";
import { OperatorClient } from "../../../client/src/index.ts";
import { recorded } from "../../support/node/releases.ts";
import { newState, type SkewedService, type State, startSkewed } from "../../support/node/skewed-workerd.ts";

/** The sign-in with a company over sockets, also while releases follow one another. */

const ADA = "ada@example.com";
const SSO = { SSO_HEADER: "X-Assertion", SSO_ISSUER: "https://sso.example.com", SSO_AUDIENCE: "user-groups" };
const PAGE = "/console/sessions";

const now = (): Bundle => bundleOf({ isNew: () => undefined });
/** The last release that does not know this sign-in. */
const before = (): Bundle => recorded("1.0.0").worker;

/** A provider on this machine: its keys, how to sign, and the state of services that are set up for it. */
async function newProvider() {
  const { privateKey, publicKey } = await generateKeyPair("RS256", { extractable: true });
  const jwks = { keys: [{ ...(await exportJWK(publicKey)), kid: "k" }] };
  const server = createServer((_, response) => {
    response.setHeader("Content-Type", "application/json").end(JSON.stringify(jwks));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const state: State = newState();
  onTestFinished(() => rmSync(state.folder, { recursive: true, force: true }));
  Object.assign(state.secrets, { ...SSO, SSO_JWKS_URL: `http://${address}/jwks` });
  const assertion = (email: string) =>
    new SignJWT({ email })
      .setProtectedHeader({ alg: "RS256", kid: "k" })
      .setIssuer(SSO.SSO_ISSUER)
      .setAudience(SSO.SSO_AUDIENCE)
      .setIssuedAt()
      .setExpirationTime("10m")
      .sign(privateKey);
  return { state: { ...state, jwksAddress: address }, assertion };
}

/** A request as a browser makes it, from this origin. `fetch` of Node would say that it is none of a browser. */
async function visit(
  { url }: SkewedService,
  path: string,
  { headers, fields }: { headers: Record<string, string>; fields?: Record<string, string> },
) {
  const form = fields && { Origin: url, "Content-Type": "application/x-www-form-urlencoded" };
  const sent = request(new URL(path, url), { method: fields ? "POST" : "GET", headers: { ...form, ...headers } });
  sent.end(fields && new URLSearchParams(fields).toString());
  const response = await new Promise<import("node:http").IncomingMessage>((resolve, reject) => {
    sent.on("response", resolve).on("error", reject);
  });
  const [cookie] = response.headers["set-cookie"]?.[0]?.split(";") ?? [];
  return { status: response.statusCode, cookie, body: await text(response) };
}

it("works with the keys of a provider on another host, over an upgrade, a rollback and an upgrade again", async () => {
  const { state, assertion } = await newProvider();
  const header = { "X-Assertion": await assertion(ADA) };
  let cookie = "";
  let adaId = 0;
  const at = async (workers: Bundle[], objects: Bundle, run: (service: SkewedService) => Promise<void>) => {
    const service = await startSkewed(workers, objects, state);
    await run(service).finally(() => service.stop());
  };
  const clientOf = ({ url, operatorToken }: SkewedService) => new OperatorClient({ url, operatorKey: operatorToken });
  const statusWith = async (service: SkewedService, headers: Record<string, string>) =>
    (await visit(service, PAGE, { headers: { Cookie: `console-${new URL(service.url).port}=${cookie}`, ...headers } }))
      .status;
  const signedIn = async (service: SkewedService) => [
    await statusWith(service, header),
    await statusWith(service, {}),
    await statusWith(service, { "X-Assertion": await assertion("eve@example.com") }),
  ];

  await at([now()], now(), async (service) => {
    const operator = clientOf(service);
    adaId = (await operator.issueOperatorWithoutKey({ name: "ada", role: "admin", email: ADA })).id;
    await operator.issueOperator({ name: "ben", role: "admin", email: "ben@example.com" });
    const page = await visit(service, "/console/sign-in", { headers: header });
    expect(page.body).toContain("Continue as <bdi>ada</bdi>");
    const started = await visit(service, "/console/sign-in/company", { headers: header, fields: { email: ADA } });
    expect(started.status).toBe(303);
    cookie = started.cookie?.split("=")[1] ?? "";
    expect(await signedIn(service)).toEqual([200, 303, 303]);
  });

  // While the deployment is gradual, no Worker admits the session without an assertion, and none loses an address.
  await at([now()], before(), async (service) => {
    expect(await signedIn(service)).toEqual([200, 303, 303]);
    const draft = { name: "x", role: "viewer", email: "x@example.com" } as const;
    await expect(clientOf(service).issueOperator(draft)).rejects.toMatchObject({ status: 503 });
  });
  await at([before()], now(), async (service) => expect(await signedIn(service)).toEqual([303, 303, 303]));

  // After the rollback. The stored row of an operator without a key is one that 1.0 can back up, restore and roll.
  await at([before()], before(), async (service) => {
    expect(await signedIn(service)).toEqual([303, 303, 303]);
    const operator = clientOf(service);
    const [, ben] = await Array.fromAsync(operator.listOperators());
    await operator.rollOperator({ id: ben?.id ?? 0 });
    const headers = { Authorization: `Token ${service.operatorToken}` };
    const backup = await (await fetch(`${service.url}/api/backup`, { headers })).text();
    const empty = newState();
    const fresh = await startSkewed([before()], before(), { ...empty, secrets: state.secrets });
    onTestFinished(async () => {
      await fresh.stop();
      rmSync(empty.folder, { recursive: true, force: true });
    });
    const restored = await fetch(`${fresh.url}/api/restore`, {
      method: "POST",
      headers: { ...headers, "Content-Type": "application/x-ndjson" },
      body: backup,
    });
    expect(restored.status).toBe(200);
  });

  await at([now()], now(), async (service) => {
    expect(await signedIn(service)).toEqual([200, 303, 303]);
    const operators = await Array.fromAsync(clientOf(service).listOperators());
    expect(operators.map(({ name, email, hasKey }) => [name, email, hasKey])).toEqual([
      ["ada", ADA, false],
      ["ben", "ben@example.com", true],
      ["ben", null, true],
    ]);
    expect(operators[0]?.id).toBe(adaId);
  });
});
