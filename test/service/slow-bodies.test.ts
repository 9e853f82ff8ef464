import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { Agent, request } from "undici";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import {
  SIGN_IN_BYTES_MAX,
  UNFINISHED_BODIES_MAX,
  UNFINISHED_BODIES_OF_CREDENTIAL_MAX,
  UNFINISHED_SIGN_INS_MAX,
  UNFINISHED_SIGN_INS_OF_ADDRESS_MAX,
} from "../../common/limits.ts";
import { ACCESS, type Access } from "../../src/http/access.ts";
import { BODIES, type RouteWithBody } from "../support/bodies.ts";
import type { Answer } from "../support/node/client.ts";
import { canMeasureMemory, residentBytesOf } from "../support/node/memory.ts";
import { type OpenCall, openCall } from "../support/node/open-call.ts";
import { type PlainService, startPlainService } from "../support/node/plain-workerd.ts";

const KIB = 1024;
const STALLED_BODIES = 2000;
const STALLED_BODY_BYTES = 60 * KIB;
const GROWTH_BYTES_MAX = 100 * KIB * KIB;

let service: PlainService;

beforeAll(async () => {
  service = await startPlainService();
});

afterAll(async () => {
  await service.stop();
});

const ACME = "?workspace=acme&environment=Testing";

/** Makes a whole call. Without a credential, the bootstrap token makes it. */
async function call(method: string, path: string, body: object = {}, credential = service.operatorToken) {
  const { socket, answer } = await open(method, path, JSON.stringify(body).length, credential);
  socket.write(JSON.stringify(body));
  return answer;
}

/** Sends the headers of a call whose body has so many bytes. */
async function open(method: string, path: string, bytes: number, credential: string): Promise<OpenCall> {
  const headers = {
    Authorization: `Token ${credential}`,
    "Content-Length": String(bytes),
    ...(path.startsWith("/api/restore") && { "Content-Type": "application/x-ndjson" }),
  };
  const opened = await openCall({ url: service.url, method, path }, headers);
  onTestFinished(() => void opened.socket.destroy());
  return opened;
}

/** A call whose body lacks its end, once the service has made other calls meanwhile. `finish` sends the end. */
async function stall(method: string, path: string, body: object, credential: string) {
  const text = JSON.stringify(body);
  const { socket, answer } = await open(method, path, text.length, credential);
  await new Promise((sent) => socket.write(text.slice(0, -1), sent));
  for (let made = 0; made < 3; made += 1) await call("GET", `/api/user_groups${ACME}`);
  return {
    finish: () => {
      socket.write(text.slice(-1));
      return answer;
    },
  };
}

const codeOf = ({ status, body }: Answer) => [status, body.error?.code];

const newName = () => randomUUID();

const newKey = async () => {
  const { body } = await call("POST", "/api/keys", { workspace: "acme", environment: "Testing", name: newName() });
  return { secret: body.key as string, id: body.api_key.id as number };
};

const newOperator = async () => {
  const { body } = await call("POST", "/api/operators", { name: newName(), role: "admin" });
  return { secret: body.key as string, id: body.operator.id as number };
};

const newGroup = async () => {
  const providedId = newName();
  const { body } = await call("GET", "/api/user", { user_group_id: providedId }, service.key);
  const { token, team_id: teamId } = body.user_group as { token: string; team_id: number };
  return { providedId, token, teamId };
};

/** What the environment and the deployment have recorded. */
const events = async () => {
  const answers = [await call("GET", `/api/events${ACME}&limit=1000`), await call("GET", "/api/events?limit=1000")];
  return answers.map(({ body }) => body.events);
};

/** The calls with a body that a kind of caller may make, with a body that the service takes. */
const callsOf = (isTaken: (access: Access) => boolean) =>
  (Object.keys(BODIES) as RouteWithBody[]).filter((name) => isTaken(ACCESS[name]));

/** The path and body of a call about a new group, which exists unless the call restores it. */
async function aboutNewGroup(name: RouteWithBody) {
  const { providedId, token, teamId } = await newGroup();
  if (name.endsWith("/restore")) await call("DELETE", `/api/user_groups/${teamId}${ACME}`);
  const [method = "", pattern = ""] = name.split(" ");
  const given = {
    ...BODIES[name],
    ...("user_group_id" in BODIES[name] && { user_group_id: providedId }),
    ...("current_token" in BODIES[name] && { current_token: token }),
  };
  return { method, path: pattern.replace(":team_id", String(teamId)), body: given };
}

describe("a call whose body ends after its credential has been revoked", () => {
  it.for(callsOf(({ scope }) => scope !== undefined))("is refused to an API key: %s", async (name) => {
    const { secret, id } = await newKey();
    const { method, path, body } = await aboutNewGroup(name);
    const stalled = await stall(method, path, body, secret);
    await call("DELETE", `/api/keys/${id}${ACME}`);
    const before = await events();
    expect(codeOf(await stalled.finish())).toEqual([401, "credential_revoked"]);
    expect(await events()).toEqual(before);
  });

  it.for(callsOf(({ role }) => role !== undefined))("is refused to an operator: %s", async (name) => {
    const { secret, id } = await newOperator();
    const { method, path, body } = await aboutNewGroup(name);
    // Rolled by number: the key of another, so that only the caller is revoked.
    const other = name.startsWith("POST /api/keys/") ? await newKey() : await newOperator();
    const query = ACCESS[name] && "names" in ACCESS[name] ? ACME : "";
    const stalled = await stall(method, path.replace(":id", String(other.id)) + query, body, secret);
    await call("DELETE", `/api/operators/${id}`);
    const before = await events();
    expect(codeOf(await stalled.finish())).toEqual([401, "credential_revoked"]);
    expect(await events()).toEqual(before);
  });

  describe.for(callsOf(({ isForViewers }) => isForViewers === true))("%s", (name) => {
    const [method = "", path = ""] = name.split(" ");

    it.for([
      ["the rotation", 401, "credential_revoked"],
      ["the deletion", 401, "credential_revoked"],
      ["the suspension", 403, "user_group_suspended"],
    ] as const)("is refused to a token and a session after %s of the group", async ([change, ...refusal]) => {
      const { providedId, token, teamId } = await newGroup();
      const minted = await call("POST", "/api/viewer_sessions", { user_group_id: providedId }, service.key);
      const stalled = [
        await stall(method, path, BODIES[name], token),
        await stall(method, path, BODIES[name], minted.body.session.token),
      ];
      const group = `/api/user_groups/${teamId}`;
      if (change === "the rotation") await call("POST", `${group}/rotate${ACME}`);
      if (change === "the deletion") await call("DELETE", group + ACME);
      if (change === "the suspension") await call("PUT", group + ACME, { suspended: true });
      for (const { finish } of stalled) expect(codeOf(await finish())).toEqual(refusal);
    });

    it("is refused to a session whose API key was revoked", async () => {
      const { secret, id } = await newKey();
      const { providedId } = await newGroup();
      const minted = await call("POST", "/api/viewer_sessions", { user_group_id: providedId }, secret);
      const { finish } = await stall(method, path, BODIES[name], minted.body.session.token);
      await call("DELETE", `/api/keys/${id}${ACME}`);
      expect(codeOf(await finish())).toEqual([401, "credential_revoked"]);
    });
  });
});

/** Longer than the first read. */
const LONG = { user_group_id: "acme", properties: { text: "x".repeat(2 * KIB) } };

/** Makes calls with a long body until one is answered with `status`. */
async function untilStatus(status: number, credential: string): Promise<Answer> {
  for (;;) {
    const answer = await call("GET", "/api/user", LONG, credential);
    if (answer.status === status) return answer;
  }
}

/** Calls whose bodies lack their last byte. */
const stallMany = async (count: number, credential: string): Promise<OpenCall[]> => {
  const calls: OpenCall[] = [];
  while (calls.length < count) {
    const opened = await open("GET", "/api/user", STALLED_BODY_BYTES, credential);
    opened.socket.write(Buffer.alloc(STALLED_BODY_BYTES - 1, " "));
    calls.push(opened);
  }
  return calls;
};

const newKeys = (count: number) => Promise.all(Array.from({ length: count }, async () => (await newKey()).secret));

describe("unfinished bodies", () => {
  it("of one credential are 128, and stop no other credential", async () => {
    const { secret } = await newKey();
    const calls = await stallMany(UNFINISHED_BODIES_OF_CREDENTIAL_MAX, secret);
    const refused = await untilStatus(429, secret);
    expect(codeOf(refused)).toEqual([429, "rate_limited"]);
    expect(refused.headers["retry-after"]).toMatch(/^\d+$/);
    expect((await call("GET", "/api/user", LONG, service.key)).status).toBe(200);

    for (const { socket } of calls) socket.destroy();
    await untilStatus(200, secret);
  });

  it("of all credentials are 512, and stop neither short bodies nor calls without one", async () => {
    const keys = await newKeys(UNFINISHED_BODIES_MAX / UNFINISHED_BODIES_OF_CREDENTIAL_MAX);
    const calls = (await Promise.all(keys.map((key) => stallMany(UNFINISHED_BODIES_OF_CREDENTIAL_MAX, key)))).flat();
    const refused = await untilStatus(503, service.key);
    expect(codeOf(refused)).toEqual([503, "overloaded"]);
    expect(refused.headers["retry-after"]).toMatch(/^\d+$/);
    expect((await call("GET", "/api/user", { user_group_id: "acme" }, service.key)).status).toBe(200);
    expect((await call("GET", "/api/user_groups", {}, service.key)).status).toBe(200);

    for (const { socket } of calls) socket.destroy();
    await untilStatus(200, service.key);
  });

  it.skipIf(!canMeasureMemory)("take less than 100 MB, if one credential opens 2,000 of 60 KB", async () => {
    await untilStatus(200, service.key);
    const before = residentBytesOf(service.pid);
    const calls = await stallMany(STALLED_BODIES, service.key);
    // On a slow machine, the first are timed out before the last arrive.
    let answeredCount = 0;
    const isFull = new Promise<void>((resolve) => {
      for (const { answer } of calls)
        void answer.then(() => {
          answeredCount += 1;
          if (answeredCount === STALLED_BODIES - UNFINISHED_BODIES_OF_CREDENTIAL_MAX) resolve();
        }, resolve);
    });
    await isFull;
    expect(residentBytesOf(service.pid) - before).toBeLessThan(GROWTH_BYTES_MAX);
  });
});

describe("clients that go away at once", () => {
  it("leave nothing behind that refuses their key", async () => {
    const { secret } = await newKey();
    const body = JSON.stringify({ user_group_id: "acme", properties: { text: "x".repeat(6 * KIB) } });
    for (let round = 0; round < 12; round += 1) {
      const calls = Array.from({ length: 100 }, async () => {
        const { socket } = await open("GET", "/api/user", body.length, secret);
        await new Promise((sent) => socket.write(body, sent));
        socket.resetAndDestroy();
      });
      await Promise.all(calls);
    }
    const answered = async () => (await call("GET", "/api/user", JSON.parse(body), secret)).status;
    await expect.poll(answered).toBe(200);
  });
});

/** The address of the client, of which loopback has many. */
type Form = { bytes: number; sent: string; from?: string };

/** Sends the headers of a form with which somebody signs in, and a part of it. Resolves to the status of the answer. */
function signIn({ bytes, sent, from = "127.0.0.1" }: Form): { status: Promise<number>; socket: Socket } {
  const { hostname, port, origin } = new URL(service.url);
  const socket = connect({ host: hostname, port: Number(port), localAddress: from });
  onTestFinished(() => void socket.destroy());
  const headers = {
    Host: `${hostname}:${port}`,
    Origin: origin,
    "Sec-Fetch-Site": "same-origin",
    "Content-Type": "application/x-www-form-urlencoded",
    "Content-Length": bytes,
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`POST /console/sign-in HTTP/1.1\r\n${lines.join("")}\r\n${sent}`);
  const status = once(socket, "data").then(([data]) => Number(String(data).split(" ")[1]));
  status.catch(() => undefined);
  return { status, socket };
}

describe("the form of a sign-in, for which nobody needs a credential", () => {
  const STALLED = { bytes: 60_000, sent: "o" };

  it("stops no call with a credential, however many do not end", async () => {
    const forms = Array.from({ length: 520 }, (_, index) => signIn({ ...STALLED, from: `127.0.0.${1 + (index % 4)}` }));
    const statuses = Promise.all(forms.map(({ status }) => status));
    expect((await call("GET", "/api/user", LONG, service.key)).status).toBe(200);
    const counts = Map.groupBy(await statuses, (status) => status);
    expect([...counts.keys()].toSorted()).toEqual([408, 503]);
    expect(counts.get(408)).toHaveLength(4 * UNFINISHED_SIGN_INS_OF_ADDRESS_MAX);
    expect((await call("GET", "/api/user", LONG, service.key)).status).toBe(200);
  });

  it("has 32 places, of which one address takes 4", async () => {
    const addresses = Array.from({ length: 12 }, (_, index) => `127.0.1.${index + 1}`);
    const forms = addresses.flatMap((from) => Array.from({ length: 5 }, () => signIn({ ...STALLED, from })));
    const counts = Map.groupBy(await Promise.all(forms.map(({ status }) => status)), (status) => status);
    expect(counts.get(408)).toHaveLength(UNFINISHED_SIGN_INS_MAX);
    expect(counts.get(503)).toHaveLength(forms.length - UNFINISHED_SIGN_INS_MAX);
  });

  it("is 413 beyond 1 KiB", async () => {
    const fields = (length: number) => `operator_key=${"x".repeat(length - "operator_key=".length)}`;
    for (const [length, status] of [
      [SIGN_IN_BYTES_MAX, 401],
      [SIGN_IN_BYTES_MAX + 1, 413],
    ] as const)
      expect(await signIn({ bytes: length, sent: fields(length), from: "127.0.2.1" }).status).toBe(status);
  });
});

it("takes several hundred short bodies of one credential at once", async () => {
  const count = 3 * UNFINISHED_BODIES_OF_CREDENTIAL_MAX;
  // undici writes the headers and the body at once, so that a busy machine does not part them.
  const dispatcher = new Agent({ connections: count });
  onTestFinished(() => dispatcher.destroy());
  const sent = {
    dispatcher,
    method: "PUT",
    headers: { Authorization: `Token ${service.key}`, "Content-Type": "application/json" },
    body: JSON.stringify({ user_group_id: "acme" }),
  } as const;
  const answers = Array.from({ length: count }, () => request(`${service.url}/api/user`, sent));
  const statuses = (await Promise.all(answers)).map(({ statusCode }) => statusCode);
  expect(new Set(statuses)).toEqual(new Set([200]));
});
