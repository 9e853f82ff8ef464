/** Clients that write without a pause, and a gate that holds their calls while the service is exchanged. */
import { Agent, request } from "undici";

const CLIENTS = 6;

type Answer = {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: a test asserts what is in an answer, whatever its type.
  body: any;
};

/** What one client knows of its group, by what was acknowledged. */
type Known = {
  teamId: number;
  name: string;
  token: string;
  changes: number;
  /** A session that answers for itself, of the round before, and perhaps of another release. */
  stale?: string;
};

/** The load on a service. It goes on over exchanges of the service, until it stops. */
export type Load = {
  /** How many calls were answered. */
  counts: { calls: number; views: number; rotations: number; restores: number; sessions: number; keys: number };
  /** Holds new calls, and resolves when every call was answered. */
  hold: () => Promise<void>;
  /** Lets calls through, to the service at this address. */
  release: (url: string) => void;
  /** Resolves when the clients have stopped, to what was not answered as it must be. */
  stop: () => Promise<string[]>;
};

/** Starts the clients in an environment. Each changes a group of its own, and views with its present and its past credentials. */
export function startLoad(firstUrl: string, { key, operatorToken }: { key: string; operatorToken: string }): Load {
  const dispatcher = new Agent({ pipelining: 0 });
  const failures: string[] = [];
  const counts = { calls: 0, views: 0, rotations: 0, restores: 0, sessions: 0, keys: 0 };
  /** Credentials of viewers that a rotation or an end has made invalid. */
  const revoked: string[] = [];
  let url = firstUrl;
  let isStopping = false;
  let inFlight = 0;
  let gate = Promise.withResolvers<void>();
  gate.resolve();
  let drained = Promise.withResolvers<void>();

  const call = async (line: string, credential: string, expected: number, body?: object): Promise<Answer> => {
    for (let passed: typeof gate | undefined; passed !== gate; ) {
      passed = gate;
      await passed.promise;
    }
    const [method = "", path = ""] = line.split(" ");
    inFlight += 1;
    try {
      const answer = await request(url + path, {
        dispatcher,
        method: method as "GET",
        headers: { authorization: `Token ${credential}`, "content-type": "application/json" },
        ...(body && { body: JSON.stringify(body) }),
      });
      const result = { status: answer.statusCode, body: await answer.body.json() } as Answer;
      counts.calls += 1;
      if (result.status !== expected)
        failures.push(`${line}: ${result.status} ${result.body.error?.code ?? ""} in place of ${expected}`);
      return result;
    } finally {
      inFlight -= 1;
      if (inFlight === 0) drained.resolve();
    }
  };
  const view = (credential: string, expected: number) => {
    counts.views += 1;
    return call("GET /api/viewer", credential, expected);
  };
  const asAcme = "?workspace=acme&environment=Testing";

  /** The types of all events of a group. */
  const typesOf = async (id: string): Promise<string[]> => {
    const types: string[] = [];
    for (let cursor = "", hasMore = true; hasMore; ) {
      const query = `user_group_id=${encodeURIComponent(id)}&limit=1000${cursor && `&cursor=${cursor}`}`;
      const { body } = await call(`GET /api/events?${query}`, key, 200);
      types.push(...body.events.map(({ type }: { type: string }) => type));
      [cursor, hasMore] = [body.next_cursor, body.has_more];
    }
    return types;
  };

  /** One round of a client: each kind of change once, with what it must show at once. */
  const round = async (id: string, number: number, known: Known): Promise<void> => {
    const byNumber = `/api/user_groups/${known.teamId}`;
    const renamed = await call("PUT /api/user", key, 200, { user_group_id: id, name: `name ${number}` });
    known.name = renamed.body.user_group?.name;
    const before = known.token;
    const rotated = await call("POST /api/user", key, 200, { current_token: before });
    known.token = rotated.body.user_group?.token;
    revoked.push(before);
    counts.rotations += 1;
    await Promise.all([view(before, 401), view(known.token, 200)]);
    const minted = await call("POST /api/viewer_sessions", key, 201, { user_group_id: id, viewer_id: "ann" });
    const session = minted.body.session?.token;
    await view(session, 200);
    if (known.stale !== undefined) await view(known.stale, 200);
    const stale = { user_group_id: id, max_stale_seconds: 300, expires_in_seconds: 3600 };
    known.stale = (await call("POST /api/viewer_sessions", key, 201, stale)).body.session?.token;
    await call("POST /api/viewer_sessions/end", key, 200, { session });
    await view(session, 401);
    revoked.push(session);
    counts.sessions += 1;
    await call(`DELETE ${byNumber}`, key, 200);
    await view(known.token, 401);
    await call(`POST ${byNumber}/restore`, key, 200, {});
    await view(known.token, 200);
    counts.restores += 1;
    const named = { workspace: "acme", environment: "Testing", name: `${id} ${number}` };
    const issued = await call("POST /api/keys", operatorToken, 201, named);
    await call(`DELETE /api/keys/${issued.body.api_key?.id}${asAcme}`, operatorToken, 200);
    await call("GET /api/whoami", issued.body.key, 401);
    counts.keys += 1;
    known.changes += 4;
    const shown = await call(`GET ${byNumber}`, key, 200);
    if (shown.body.user_group?.name !== known.name) failures.push(`${id}: the name ${known.name} is lost`);
  };

  const client = async (id: string) => {
    const created = await call("POST /api/user_groups", key, 201, { user_group_id: id });
    const { team_id: teamId, name, token } = created.body.user_group;
    const known: Known = { teamId, name, token, changes: 1 };
    for (let number = 0; !isStopping; number += 1) await round(id, number, known);
    const types = await typesOf(id);
    const changes = types.filter((type) => type.startsWith("user_group.")).length;
    if (changes !== known.changes) failures.push(`${id}: ${changes} events of ${known.changes} changes`);
  };
  const clients = Array.from({ length: CLIENTS }, (_, index) =>
    client(`client ${index}`).catch((error: Error) => void failures.push(error.message)),
  );

  return {
    counts,
    hold: async () => {
      gate = Promise.withResolvers<void>();
      drained = Promise.withResolvers<void>();
      if (inFlight > 0) await drained.promise;
    },
    release: (next) => {
      url = next;
      gate.resolve();
    },
    stop: async () => {
      isStopping = true;
      await Promise.all(clients);
      for (const credential of revoked) await view(credential, 401);
      await dispatcher.close();
      return failures;
    },
  };
}
