/** Clients that write without a pause, and a gate that holds their calls while the service is exchanged. */
import { Agent, request } from "undici";

const CLIENTS = 3;
/** How many of the credentials that have ended last are presented after each exchange. All of them are at the end. */
const ENDED_PRESENTED = 40;
const OF_ACME = "?workspace=acme&environment=Testing";

type Answer = {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: a test asserts what is in an answer, whatever its type.
  body: any;
};

/** What one client knows of its group, by what was acknowledged. */
type Known = {
  id: string;
  teamId: number;
  name: string;
  token: string;
  /** How many changes and ends of sessions were acknowledged. */
  changes: number;
  ends: number;
  /** How many rounds it has made from their start to their end in the present step. */
  rounds: number;
  /** A session that answers for itself. */
  stale?: string;
};

/** The outcomes of calls that 1.0.0 does not have, or its Durable Objects do not: the changelog names them. */
const REFUSED_BY_OLDER = ["404 route_not_found", "422 invalid_body", "503 directory_unavailable"];

/** The service as it is in one step of a deployment. */
type Served = {
  url: string;
  /** Whether it has a Worker or Durable Objects of a release that lacks calls of this one. */
  isOlder: boolean;
};

/** The load on a service. It goes on over exchanges of the service, until it stops. */
export type Load = {
  /** How many calls of a kind were answered, and how many that the older release lacks were refused. */
  counts: Record<"calls" | "views" | "rotations" | "restores" | "sessions" | "keys" | "added" | "refused", number>;
  /** How many whole rounds the slowest client has made in this step. */
  rounds: () => number;
  /** Holds new calls, and resolves when every call was answered. */
  hold: () => Promise<void>;
  /** Lets calls through, to the service of the next step. */
  release: (served: Served) => void;
  /** Resolves when the clients have stopped, to what was not answered as it must be. */
  stop: () => Promise<string[]>;
};

/** Starts the clients in the environment acme/Testing. Each changes a group of its own, and views with its present and past credentials. */
export function startLoad(first: Served, { key, operatorToken }: { key: string; operatorToken: string }): Load {
  const dispatcher = new Agent({ pipelining: 0 });
  const failures: string[] = [];
  const counts = { calls: 0, views: 0, rotations: 0, restores: 0, sessions: 0, keys: 0, added: 0, refused: 0 };
  /** Credentials that a rotation, an end, a revocation or a purge has made invalid. */
  const ended: string[] = [];
  const clients: Known[] = [];
  let served = first;
  let isStopping = false;
  let inFlight = 0;
  let gate = Promise.withResolvers<void>();
  gate.resolve();
  let drained = Promise.withResolvers<void>();

  const send = async (line: string, credential: string, body?: object): Promise<Answer> => {
    for (let passed: typeof gate | undefined; passed !== gate; ) {
      passed = gate;
      await passed.promise;
    }
    const [method = "", path = ""] = line.split(" ");
    inFlight += 1;
    try {
      const answer = await request(served.url + path, {
        dispatcher,
        method: method as "GET",
        headers: { authorization: `Token ${credential}`, "content-type": "application/json" },
        ...(body && { body: JSON.stringify(body) }),
      });
      const text = await answer.body.text();
      counts.calls += 1;
      return { status: answer.statusCode, body: text === "" ? {} : JSON.parse(text) };
    } finally {
      inFlight -= 1;
      if (inFlight === 0) drained.resolve();
    }
  };
  const outcomeOf = ({ status, body }: Answer) => `${status} ${body.error?.code ?? ""}`.trim();
  /** A call that every release has. */
  const call = async (line: string, credential: string, expected: number, body?: object): Promise<Answer> => {
    const answer = await send(line, credential, body);
    if (answer.status !== expected) failures.push(`${line}: ${outcomeOf(answer)} in place of ${expected}`);
    return answer;
  };
  /** A call that the older release lacks. Returns nothing if that is why it was refused. */
  const added = async (line: string, credential: string, expected: number, body?: object) => {
    const wasOlder = served.isOlder;
    const answer = await send(line, credential, body);
    const isRefused = (wasOlder || served.isOlder) && REFUSED_BY_OLDER.includes(outcomeOf(answer));
    counts[isRefused ? "refused" : "added"] += 1;
    if (isRefused) return undefined;
    if (answer.status !== expected) failures.push(`${line}: ${outcomeOf(answer)} in place of ${expected}`);
    return answer;
  };
  const view = (credential: string, expected: number) => {
    counts.views += 1;
    return call("GET /api/viewer", credential, expected);
  };
  const mint = async (fields: object): Promise<string> => {
    counts.sessions += 1;
    return (await call("POST /api/viewer_sessions", key, 201, fields)).body.session?.token;
  };
  /** Notes that credentials have ended, and presents them at once. */
  const end = async (...credentials: string[]) => {
    ended.push(...credentials);
    await Promise.all(credentials.map((credential) => view(credential, 401)));
  };

  const changeGroup = async (known: Known, name: string) => {
    // Of the round before, and perhaps of another release.
    if (known.stale !== undefined) await view(known.stale, 200);
    const renamed = await call("PUT /api/user", key, 200, { user_group_id: known.id, name });
    known.name = renamed.body.user_group?.name;
    const before = known.token;
    const ofToken = await mint({ user_group_id: known.id });
    const rotated = await call("POST /api/user", key, 200, { current_token: before });
    known.token = rotated.body.user_group?.token;
    counts.rotations += 1;
    await end(before, ofToken);
    await view(known.token, 200);
    for (const [suspended, expected] of [
      [true, 403],
      [false, 200],
    ] as const) {
      await call("PUT /api/user", key, 200, { user_group_id: known.id, suspended });
      await view(known.token, expected);
    }
    await call(`DELETE /api/user_groups/${known.teamId}`, key, 200);
    await view(known.token, 401);
    await call(`POST /api/user_groups/${known.teamId}/restore`, key, 200, {});
    await view(known.token, 200);
    counts.restores += 1;
    known.changes += 6;
  };

  const changeSessions = async (known: Known) => {
    const ofGroup = { user_group_id: known.id };
    known.stale = await mint({ ...ofGroup, viewer_id: "eve", max_stale_seconds: 300, expires_in_seconds: 3600 });
    const [one, ann, again, ben] = await Promise.all(
      ["one", "ann", "ann", "ben"].map((viewer_id) => mint({ ...ofGroup, viewer_id, expires_in_seconds: 3600 })),
    );
    if (!one || !ann || !again || !ben) return;
    await Promise.all([one, ann, again, ben].map((session) => view(session, 200)));
    await call("POST /api/viewer_sessions/end", key, 200, { session: one });
    await call("POST /api/viewer_sessions/end", key, 200, { ...ofGroup, viewer_id: "ann" });
    await end(one, ann, again);
    await view(ben, 200);
    await call("POST /api/viewer_sessions/end", key, 200, { ...ofGroup, viewer_id: "ben" });
    await end(ben);
    known.ends += 3;
  };

  /** The calls that this release has added. */
  const useAdded = async (known: Known) => {
    const events = await added(`GET /api/user_groups/${known.teamId}/events?limit=1`, key, 200);
    const [newest] = events?.body.events ?? [];
    if (events && newest?.type !== "viewer_sessions.ended")
      failures.push(`${known.id}: its last event is ${newest?.type}`);
    const search = await added(`GET /api/user_groups?search=${encodeURIComponent(known.name)}`, key, 200);
    const isFound = search?.body.user_groups.some(
      ({ team_id: teamId }: { team_id: number }) => teamId === known.teamId,
    );
    if (search && !isFound) failures.push(`${known.id}: a search for ${known.name} does not find it`);
    await added("GET /api/viewer?audience=acme/Testing", known.token, 200);
    await added("GET /api/viewer/check?audience=acme/Testing", known.token, 204);
    const refused = await added("POST /api/credentials/explain", operatorToken, 200, { credential: ended.at(-1) });
    if (refused?.body.credential.valid) failures.push("A credential that has ended is explained as valid.");
    const person = { team_id: known.teamId, viewer_id: "dan" };
    const claims = { role: "reader" };
    const minted = await added("POST /api/viewer_sessions", key, 201, { ...person, claims });
    if (!minted) return;
    const session = minted.body.session.token;
    counts.views += 1;
    const viewed = await send("GET /api/viewer", session);
    // The older release, which may have come since, refuses a session with claims.
    const isRefused = served.isOlder && outcomeOf(viewed) === "401 unauthenticated";
    if (viewed.status !== 200 && !isRefused) failures.push(`GET /api/viewer: ${outcomeOf(viewed)} in place of 200`);
    const isEnded = await added("POST /api/viewer_sessions/end", key, 200, person);
    if (!isEnded) return;
    known.ends += 1;
    await end(session);
  };

  /** Ends credentials for good: a key, and a group with its token. */
  const discard = async (known: Known, name: string) => {
    const issued = await call("POST /api/keys", operatorToken, 201, {
      workspace: "acme",
      environment: "Testing",
      name,
    });
    const minted = await call("POST /api/viewer_sessions", issued.body.key, 201, { user_group_id: known.id });
    await call(`DELETE /api/keys/${issued.body.api_key?.id}${OF_ACME}`, operatorToken, 200);
    await call("GET /api/whoami", issued.body.key, 401);
    counts.keys += 1;
    const created = await call("POST /api/user_groups", key, 201, { user_group_id: `gone ${name}` });
    const { team_id: teamId, token } = created.body.user_group ?? {};
    await call(`DELETE /api/user_groups/${teamId}`, key, 200);
    await call(`POST /api/user_groups/${teamId}/purge`, key, 200, {});
    await end(minted.body.session?.token, token);
  };

  const client = async (id: string) => {
    const created = await call("POST /api/user_groups", key, 201, { user_group_id: id });
    const { team_id: teamId, name, token } = created.body.user_group;
    const known: Known = { id, teamId, name, token, changes: 1, ends: 0, rounds: 0 };
    clients.push(known);
    for (let number = 0; !isStopping; number += 1) {
      const step = served;
      await discard(known, `${id} ${number}`);
      await changeGroup(known, `name ${id} ${number}`);
      await changeSessions(known);
      await useAdded(known);
      const shown = await call(`GET /api/user_groups/${teamId}`, key, 200);
      if (shown.body.user_group?.name !== known.name) failures.push(`${id}: the name ${known.name} is lost`);
      if (step === served) known.rounds += 1;
    }
    const types = await typesOf(id);
    const ends = types.filter((type) => type === "viewer_sessions.ended").length;
    if (ends !== known.ends) failures.push(`${id}: ${ends} events of ${known.ends} ends`);
    if (types.length - ends !== known.changes)
      failures.push(`${id}: ${types.length - ends} events of ${known.changes} changes`);
  };

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

  const running = Array.from({ length: CLIENTS }, (_, index) =>
    client(`client ${index}`).catch((error: Error) => void failures.push(error.message)),
  );

  return {
    counts,
    rounds: () => (clients.length < CLIENTS ? 0 : Math.min(...clients.map(({ rounds }) => rounds))),
    hold: async () => {
      gate = Promise.withResolvers<void>();
      drained = Promise.withResolvers<void>();
      if (inFlight > 0) await drained.promise;
    },
    release: (next) => {
      served = next;
      for (const known of clients) known.rounds = 0;
      for (const credential of ended.slice(-ENDED_PRESENTED)) void view(credential, 401);
      gate.resolve();
    },
    stop: async () => {
      isStopping = true;
      await Promise.all(running);
      await Promise.all(ended.map((credential) => view(credential, 401)));
      await dispatcher.close();
      return failures;
    },
  };
}
