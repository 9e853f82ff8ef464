import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { afterEach, expect, inject, it, onTestFinished, vi } from "vitest";
import { UserGroupClient, ViewerClient } from "../../client/src/index.ts";
import { requireSession, type SessionCheck } from "../../client/src/server.ts";

/** What docs/integrators/going-live.md promises while the service, or the network to it, is away. */

const { url, key } = inject("service");
const page = readFileSync("docs/integrators/going-live.md", "utf8");
const AUDIENCE = "demo/Testing";
const ORIGIN = "https://app.example.com";
const MINUTE_MS = 60_000;
/** The second try is for a connection that the broken network has left. */
const TWICE = { retries: 1, backoffMs: 20 };
/** A call that gets no answer gives up soon. */
const SOON = { ...TWICE, timeoutMs: 400 };

/** The network between the integrator and the service: open, broken, or so that nothing ever comes back. */
type Network = { url: string; set: (state: "open" | "down" | "silent") => void; connections: () => number };

async function newNetwork(): Promise<Network> {
  const { hostname, port } = new URL(url);
  const sockets = new Set<Socket>();
  let state = "open";
  let count = 0;
  const server = createServer((socket) => {
    count += 1;
    sockets.add(socket.on("error", () => undefined));
    if (state === "down") socket.destroy();
    if (state !== "open") return socket.resume();
    const service = connect(Number(port), hostname).on("error", () => socket.destroy());
    sockets.add(service);
    return socket.pipe(service).pipe(socket);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const breakAll = () => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
  };
  onTestFinished(() => {
    breakAll();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    set: (next) => {
      state = next;
      breakAll();
    },
    connections: () => count,
  };
}

/** A customer, a session of it, and your API, which presents sessions to `check`. */
async function newCustomer(expiresInSeconds?: number) {
  const network = await newNetwork();
  const client = new UserGroupClient({ url: network.url, apiKey: key, ...TWICE });
  const hasty = new UserGroupClient({ url: network.url, apiKey: key, ...SOON });
  await client.ensure({ userGroupId: "outages" });
  const session = await client.mintSession({ userGroupId: "outages", expiresInSeconds });
  const own = { audience: AUDIENCE, origins: [ORIGIN] };
  const jwks = `${network.url}/.well-known/jwks.json`;
  const issuer = JSON.parse(Buffer.from(session.token.split(".")[1] ?? "", "base64url").toString()).iss as string;
  const fetchSoon = (input: string, init: RequestInit) => fetch(input, { ...init, signal: AbortSignal.timeout(1500) });
  const outcomeOf = async (check: SessionCheck, token = session.token) => {
    const found = await check(new Request(ORIGIN, { headers: { Authorization: `Bearer ${token}`, Origin: ORIGIN } }));
    return found instanceof Response
      ? `${found.status} ${Object((await found.json()) as object).error.code}`
      : "admitted";
  };
  return {
    network,
    client,
    hasty,
    session,
    view: (options: object = TWICE) => new ViewerClient({ url: network.url, token: session.token, ...options }).view(),
    offline: () => requireSession({ ...own, jwks, issuer, fetch: fetchSoon }),
    online: (by = client) => requireSession({ ...own, client: by }),
    outcomeOf,
  };
}

afterEach(() => {
  vi.useRealTimers();
});

it.for(["down", "silent"] as const)("goes on as its table says while the network is %s", async (state) => {
  const { network, client, hasty, session, view, offline, online, outcomeOf } = await newCustomer();
  const [warm, cold] = [offline(), offline()];
  expect(await outcomeOf(warm)).toBe("admitted");

  network.set(state);
  await expect(view(SOON)).rejects.toThrow();
  await expect(hasty.mintSession({ userGroupId: "outages" })).rejects.toThrow();
  expect(await outcomeOf(online(hasty))).toBe("503 service_unavailable");
  expect(await outcomeOf(warm)).toBe("admitted");
  expect(await outcomeOf(cold)).toBe("503 service_unavailable");

  network.set("open");
  expect((await view()).group.userGroupId).toBe("outages");
  expect(await outcomeOf(online())).toBe("admitted");
  expect((await client.mintSession({ userGroupId: "outages" })).token).not.toBe(session.token);
});

it("verifies offline for 5 minutes after the keys were fetched, and tries again after 5 seconds", async () => {
  const { network, offline, outcomeOf } = await newCustomer(3600);
  const check = offline();
  vi.useFakeTimers({ toFake: ["performance"] });
  expect(await outcomeOf(check)).toBe("admitted");
  network.set("down");
  vi.advanceTimersByTime(5 * MINUTE_MS);
  expect(await outcomeOf(check)).toBe("admitted");
  vi.advanceTimersByTime(1);
  expect(await outcomeOf(check)).toBe("503 service_unavailable");
  network.set("open");
  vi.advanceTimersByTime(4_999);
  expect(await outcomeOf(check)).toBe("503 service_unavailable");
  vi.advanceTimersByTime(1);
  expect(await outcomeOf(check)).toBe("admitted");
});

it("fetches the keys early by the check of any session, also of one that has expired", async () => {
  const { network, session, offline, outcomeOf } = await newCustomer();
  const check = offline();
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 60 * MINUTE_MS });
  expect(await outcomeOf(check)).toMatch(/^401 /);
  vi.useRealTimers();
  network.set("down");
  expect(await outcomeOf(check, session.token)).toBe("admitted");
});

it("shows a page with its old session when its renewal fails, for a fifth of its life", async () => {
  const { client } = await newCustomer();
  let isAway = false;
  let renewals = 0;
  const session = async () => {
    renewals += 1;
    if (isAway) throw new TypeError("The page's own server does not answer.");
    return client.mintSession({ userGroupId: "outages" });
  };
  const viewer = new ViewerClient({ url, session, ...TWICE });
  const { expiresInSeconds } = await client.mintSession({ userGroupId: "outages" });
  vi.useFakeTimers({ toFake: ["performance"] });
  await viewer.view();
  isAway = true;
  vi.advanceTimersByTime(expiresInSeconds * 800 + 1000);
  expect((await viewer.view()).group.userGroupId).toBe("outages");
  expect(renewals).toBeGreaterThan(1);
  vi.advanceTimersByTime(expiresInSeconds * 200 - 2000);
  expect((await viewer.view()).group.userGroupId).toBe("outages");
  vi.advanceTimersByTime(1000);
  await expect(viewer.view()).rejects.toThrow();

  expect(expiresInSeconds / 5).toBe(60);
  for (const sentence of [
    "one minute by default",
    "12 minutes with 3600",
    "We recommend 900, which gives three minutes",
  ])
    expect(page).toContain(sentence);
  expect([3600 / 5 / 60, 900 / 5 / 60]).toEqual([12, 3]);
});

it("retries a lost connection until the network is back", async () => {
  const { network } = await newCustomer();
  const client = new UserGroupClient({ url: network.url, apiKey: key, backoffMs: 200 });
  network.set("down");
  const before = network.connections();
  const ensured = client.ensure({ userGroupId: "outages" });
  await expect.poll(() => network.connections()).toBeGreaterThan(before);
  network.set("open");
  expect((await ensured).group.userGroupId).toBe("outages");
});
