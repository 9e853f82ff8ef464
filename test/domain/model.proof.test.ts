import { evictAllDurableObjects } from "cloudflare:test";
import { env } from "cloudflare:workers";
import fc from "fast-check";
import { expect, it, vi } from "vitest";
import {
  allowsRole,
  type LadderRole,
  ROLES,
  type Role,
  SCOPES,
  type Scope,
} from "../../src/domain/credentials/rights.ts";
import { report, runs } from "../proof/effort.ts";
import { runAlarm } from "../support/alarm.ts";
import { type Answer, call } from "../support/client.ts";
import { limiter } from "../support/limiter.ts";
import { issueOperator, operator } from "../support/states.ts";

// Far ahead, so that no alarm of the runtime, whose clock goes on, is due before the test runs it.
const NOW = Date.parse("2035-01-01T00:00:00.000Z");
const HOUR = 3_600_000;
const UNDO_MS = 30 * 24 * HOUR;
const NEVER = Number.POSITIVE_INFINITY;
const SECRETS = [1, 2, 3].map((byte) => new Uint8Array(32).fill(byte).toBase64());

/** The lists that each run reads with a key of its own: its events, and its groups that exist and that are deleted. */
const LISTS_OF_RUN = 3;
/** A long proof makes as many runs as the machine can: no credential that all of them share may have a limit. */
const LIMITS = { LIST_LIMIT: limiter(LISTS_OF_RUN), OPERATOR_LIMIT: limiter(Number.POSITIVE_INFINITY) };

/** All that the model knows of a group; of a token it knows only which group it is of, and since when it is none. */
type Group = {
  id: string;
  teamId: number;
  name: string;
  properties: unknown;
  mapping: Record<string, string> | null;
  isSuspended: boolean;
  deletedAt: number;
  etag: string;
};
type Token = { text: string; teamId: number; goodUntil: number; isCurrent: boolean };
type Key = { text: string; id: number; may: May; expiresAt: number; revokedAt: number; signedBy: number };
/** What a caller may do: an API key by its scopes, an operator by the role. */
type May = { scopes: readonly Scope[]; role?: never } | { role: Role; scopes?: never };

/** The service as its users understand it: some lists. */
class Model {
  workspace: string;
  groups: Group[] = [];
  /** In the order of their deletion. */
  deleted: Group[] = [];
  tokens: Token[] = [];
  keys: Key[] = [];
  /** The types of the events that the changes so far have caused. */
  events: string[] = [];
  lastTeamId = 0;
  signing = [0];
  monthsWaited = 0;
  constructor(workspace: string) {
    this.workspace = workspace;
  }

  get env(): Env {
    return { ...env, ...LIMITS, SIGNING_KEYS: this.signing.map((index) => `k${index}:${SECRETS[index]}`).join(",") };
  }

  /** What the service says of a key before all else, or nothing if it is good for what needs this scope or role. */
  refusalOf(key: Key, scope: Scope, role: LadderRole = "admin"): unknown[] | undefined {
    if (!this.signing.includes(key.signedBy)) return [401, "unauthenticated"];
    if (Date.now() >= key.revokedAt) return [401, "credential_revoked"];
    if (Date.now() >= key.expiresAt) return [401, "credential_expired"];
    const { may } = key;
    if (may.scopes ? !may.scopes.includes(scope) : !allowsRole(may.role, role)) return [403, "insufficient_access"];
    return undefined;
  }

  /** Notes the token that an answer showed; whatever was current before is current no more. */
  learn(group: Group, text: string): void {
    const known = this.tokens.find((token) => token.isCurrent && token.teamId === group.teamId);
    if (known) known.text = text;
    else this.tokens.push({ text, teamId: group.teamId, goodUntil: NEVER, isCurrent: true });
  }

  add({ body }: Answer, { may, expiresAt }: Pick<Key, "may" | "expiresAt">): void {
    const { key: text, api_key: shown } = body;
    this.keys.push({ text, id: shown.id, may, expiresAt, revokedAt: NEVER, signedBy: this.signing[0] ?? 0 });
  }

  /** Deletes a group. Its tokens stay as they are: without their group they are good for nothing. */
  delete(group: Group): void {
    this.groups = this.groups.filter((each) => each !== group);
    this.deleted.push(Object.assign(group, { deletedAt: Date.now() }));
    this.events.push("user_group.deleted");
  }

  /** Purges those that can no longer be restored. Of those deleted at one time, the lowest number comes first. */
  purgeOld(): void {
    const isOld = ({ deletedAt }: Group) => deletedAt + UNDO_MS <= Date.now();
    this.events.push(...this.deleted.filter(isOld).map(() => "user_group.purged"));
    this.deleted = this.deleted.filter((group) => !isOld(group));
  }

  isTaken(id: string): boolean {
    return this.groups.some((each) => each.id === id);
  }

  end(teamId: number, graceSeconds: number): void {
    for (const token of this.tokens.filter((each) => each.teamId === teamId)) {
      token.goodUntil = Math.min(token.goodUntil, Date.now() + (token.isCurrent ? graceSeconds * 1000 : 0));
      token.isCurrent = false;
    }
  }
}

/** How often each outcome came up, so that a proof that has tried nothing shows. */
const tally: Record<string, number> = {};

const outcomeOf = ({ status, body }: Answer) => {
  const code = body.error?.code ?? String(status);
  tally[code] = (tally[code] ?? 0) + 1;
  return [status, body.error?.code];
};
/** Notes a group's ETag, which a change makes another one, and nothing else. */
function see(group: Group, { headers }: Answer, isChanged: boolean): void {
  const etag = headers.get("ETag") ?? "";
  expect(etag !== group.etag).toBe(isChanged);
  group.etag = etag;
}

const OK = [200, undefined];
const OUTCOMES = [
  "200",
  "unauthenticated",
  "credential_expired",
  "credential_revoked",
  "insufficient_access",
  "user_group_not_found",
  "user_group_id_taken",
  "user_group_mismatch",
  "revision_mismatch",
  "token_superseded",
  "user_group_suspended",
  "user_group_not_deleted",
];

type Run = (model: Model, pick: <Value>(list: Value[], index: number) => Value | undefined) => Promise<unknown>;

/** A command that prints as the call that it makes. */
class Command implements fc.AsyncCommand<Model, object> {
  readonly label: string;
  readonly perform: Run;
  constructor(label: string, perform: Run) {
    this.label = label;
    this.perform = perform;
  }
  check = () => true;
  run = async (model: Model) => {
    await this.perform(model, (list, index) => list[index % Math.max(1, list.length)]);
  };
  toString = () => this.label;
}

const command = <Args>(name: string, args: fc.Arbitrary<Args>, perform: (args: Args) => Run) =>
  args.map((drawn) => new Command(`${name}(${JSON.stringify(drawn)})`, perform(drawn)));

const ids = fc.constantFrom("a", "b", "c");
const index = fc.nat({ max: 7 });
const properties = fc.option(
  fc.dictionary(fc.constantFrom("x", "y", "__proto__"), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 2 }),
);
const mapping = fc.option(fc.dictionary(fc.constantFrom("m", "n"), fc.constantFrom("d1", "d2"), { maxKeys: 2 }));
/** What a key may do: mostly everything, or few calls would succeed. */
const grants = fc.oneof(
  fc.constant({ access: "write" }),
  fc.constant({ access: "read" }),
  fc.subarray([...SCOPES], { minLength: 1 }).map((scopes) => ({ scopes })),
);
const READ: Scope[] = ["groups:read", "events:read"];
const maySee = ({ may }: Key): boolean => may.scopes?.includes("tokens:read") === true;
const exact = (value: unknown) => JSON.parse(JSON.stringify(value));

const manage = (model: Model, method: string, path: string, body?: object) =>
  call(method, path, { credential: operator, body, env: model.env });
const inEnvironment = (model: Model) => `?workspace=${model.workspace}&environment=Testing`;

/** What a group's viewers see. */
const viewOf = ({ teamId, id, name, properties: own, mapping: mapped }: Group) => ({
  team_id: teamId,
  name,
  provided_id: id,
  properties: own,
  mapping: mapped,
  api_environment_tag: "Testing",
});

/** The type of the event of an update. */
const updateOf = (group: Group, isSuspended: boolean): string =>
  group.isSuspended === isSuspended ? "user_group.updated" : `user_group.${isSuspended ? "suspended" : "resumed"}`;

/** The acts on a group by its number: method, path and body. */
const ACTS = {
  suspend: () => ["PUT", "", { suspended: true }],
  resume: () => ["PUT", "", { suspended: false }],
  rename: (id) => ["PUT", "", { new_user_group_id: id }],
  rotate: () => ["POST", "/rotate", { grace_seconds: 3600 }],
  delete: () => ["DELETE", "", undefined],
  restore: () => ["POST", "/restore", undefined],
  "restore as": (id) => ["POST", "/restore", { new_user_group_id: id, rotate_token: true }],
  purge: () => ["POST", "/purge", undefined],
} satisfies Record<string, (id: string) => [method: string, path: string, body: object | undefined]>;
type Act = keyof typeof ACTS;
const RESTORED_SUSPENDED = "restore of a suspended group";

/** The scope and the role that each act needs. */
const NEEDS: Record<Act, [Scope, LadderRole]> = {
  suspend: ["groups:write", "support"],
  resume: ["groups:write", "support"],
  rename: ["groups:write", "admin"],
  rotate: ["tokens:rotate", "support"],
  delete: ["groups:delete", "admin"],
  restore: ["groups:write", "support"],
  "restore as": ["groups:write", "admin"],
  purge: ["groups:delete", "admin"],
};

/** An operator of each role, whose keys are signed by the first signing key. */
const operators: Key[] = [];

/** What the service says of an act on the group with this number, or nothing if it succeeds. */
function refusalByNumber(model: Model, act: Act, teamId: number, id: string): unknown[] | undefined {
  const group = model.groups.find((each) => each.teamId === teamId);
  const deleted = model.deleted.find((each) => each.teamId === teamId);
  const claimed = act === "rename" || act === "restore as" ? id : deleted?.id;
  const isTaken = claimed !== undefined && claimed !== group?.id && model.isTaken(claimed);
  const isRestore = act === "restore" || act === "restore as";
  if (act === "purge" && group) return [409, "user_group_not_deleted"];
  if (!group && !(deleted && (isRestore || act === "purge"))) return [404, "user_group_not_found"];
  return isTaken && ((act === "rename" && group) || (isRestore && deleted)) ? [409, "user_group_id_taken"] : undefined;
}

/** Makes an act that succeeds in the model, and compares its answer. */
function applyByNumber(model: Model, act: Act, { teamId, id, answer }: { teamId: number; id: string; answer: Answer }) {
  tally[act] = (tally[act] ?? 0) + 1;
  const group = model.groups.find((each) => each.teamId === teamId);
  const deleted = model.deleted.find((each) => each.teamId === teamId);
  if (act === "purge") {
    model.deleted = model.deleted.filter((each) => each !== deleted);
    model.events.push("user_group.purged");
    return;
  }
  const found = group ?? deleted;
  if (!found) throw new Error("The model has no such group.");
  let isChanged = true;
  if (act === "delete") model.delete(found);
  else if (act === "rotate") {
    model.end(teamId, 3600);
    model.events.push("user_group.token_rotated");
  } else if (act === "restore" || act === "restore as") {
    isChanged = deleted !== undefined;
    if (deleted) restoreInModel(model, deleted, act === "restore as" ? id : undefined);
  } else {
    const next = {
      id: act === "rename" ? id : found.id,
      isSuspended: act === "rename" ? found.isSuspended : act === "suspend",
    };
    isChanged = next.id !== found.id || next.isSuspended !== found.isSuspended;
    if (isChanged) model.events.push(updateOf(found, next.isSuspended));
    Object.assign(found, next);
  }
  see(found, answer, isChanged);
  const state = act === "delete" ? "deleted" : found.isSuspended ? "suspended" : "active";
  expect(answer.body.user_group).toMatchObject({ ...viewOf(found), state });
}

function restoreInModel(model: Model, deleted: Group, newId: string | undefined): void {
  model.deleted = model.deleted.filter((each) => each !== deleted);
  model.groups.push(deleted);
  model.events.push("user_group.restored");
  if (deleted.isSuspended) tally[RESTORED_SUSPENDED] = (tally[RESTORED_SUSPENDED] ?? 0) + 1;
  if (newId === undefined) return;
  deleted.id = newId;
  model.end(deleted.teamId, 0);
}

const commands = [
  command(
    "GET",
    fc.record({ key: index, id: ids, properties, mapping }),
    ({ key, id, ...fields }) =>
      async (model, pick) => {
        const caller = pick(model.keys, key);
        if (!caller) return;
        const body = { user_group_id: id, properties: exact(fields.properties), mapping: exact(fields.mapping) };
        const answer = await call("GET", "/api/user", { credential: caller.text, body, env: model.env });
        const refusal = model.refusalOf(caller, "groups:read");
        if (refusal) return expect(outcomeOf(answer)).toEqual(refusal);
        let group = model.groups.find((each) => each.id === id);
        if (!group && !caller.may.scopes?.includes("groups:write"))
          return expect(outcomeOf(answer)).toEqual([404, "user_group_not_found"]);
        expect(outcomeOf(answer)).toEqual(OK);
        const isNewGroup = group === undefined;
        expect(answer.body.new_user_group).toBe(isNewGroup);
        if (!group) {
          model.lastTeamId += 1;
          group = {
            id,
            teamId: model.lastTeamId,
            name: id,
            properties: body.properties,
            mapping: body.mapping,
            isSuspended: false,
            deletedAt: NEVER,
            etag: "",
          };
          model.groups.push(group);
          model.events.push("user_group.created");
        }
        const { token, ...shown } = answer.body.user_group;
        expect(shown).toEqual({
          team_id: group.teamId,
          name: group.name,
          provided_id: id,
          properties: group.properties,
        });
        see(group, answer, isNewGroup);
        if (maySee(caller)) return model.learn(group, token);
        expect(token).toBeUndefined();
      },
  ),

  command(
    "PUT",
    fc.record({
      key: index,
      id: ids,
      newId: fc.option(ids),
      properties,
      mapping,
      suspended: fc.option(fc.boolean()),
      match: fc.constantFrom("none", "right", "wrong"),
    }),
    ({ key, id, newId, suspended, match, ...fields }) =>
      async (model, pick) => {
        const caller = pick(model.keys, key);
        if (!caller) return;
        const group = model.groups.find((each) => each.id === id);
        const headers = match === "none" ? {} : { "If-Match": match === "right" ? (group?.etag ?? "*") : '"0.0"' };
        const changes = {
          properties: exact(fields.properties),
          mapping: exact(fields.mapping),
          ...(newId && { new_user_group_id: newId }),
          ...(suspended !== null && { suspended }),
        };
        const body = { user_group_id: id, ...changes };
        const answer = await call("PUT", "/api/user", { credential: caller.text, body, headers, env: model.env });
        const refusal = model.refusalOf(caller, "groups:write");
        if (refusal) return expect(outcomeOf(answer)).toEqual(refusal);
        if (!group) return expect(outcomeOf(answer)).toEqual([404, "user_group_not_found"]);
        if (match === "wrong") return expect(outcomeOf(answer)).toEqual([412, "revision_mismatch"]);
        if (newId && newId !== id && model.groups.some((each) => each.id === newId))
          return expect(outcomeOf(answer)).toEqual([409, "user_group_id_taken"]);
        expect(outcomeOf(answer)).toEqual(OK);
        const isSuspended = suspended ?? group.isSuspended;
        const isChanged =
          JSON.stringify([group.id, group.properties, group.mapping, group.isSuspended]) !==
          JSON.stringify([newId ?? id, changes.properties, changes.mapping, isSuspended]);
        if (isChanged) model.events.push(updateOf(group, isSuspended));
        const { properties, mapping } = changes;
        Object.assign(group, { id: newId ?? id, properties, mapping, isSuspended });
        see(group, answer, isChanged);
        const { token, ...shown } = answer.body.user_group;
        expect(shown).toEqual({
          team_id: group.teamId,
          name: group.name,
          provided_id: group.id,
          properties: group.properties,
          api_environment_tag: "Testing",
        });
        if (maySee(caller)) return model.learn(group, token);
        expect(token).toBeUndefined();
      },
  ),

  command(
    "POST",
    fc.record({ key: index, token: index, grace: fc.constantFrom(0, 3600) }),
    ({ key, token, grace }) =>
      async (model, pick) => {
        const [caller, current] = [pick(model.keys, key), pick(model.tokens, token)];
        if (!caller || !current) return;
        const body = { current_token: current.text, grace_seconds: grace };
        const answer = await call("POST", "/api/user", { credential: caller.text, body, env: model.env });
        const refusal = model.refusalOf(caller, "tokens:rotate");
        if (refusal) return expect(outcomeOf(answer)).toEqual(refusal);
        const group = model.groups.find((each) => each.teamId === current.teamId);
        if (!group || !signedByKnown(model, current))
          return expect(outcomeOf(answer)).toEqual([404, "user_group_not_found"]);
        if (!current.isCurrent) return expect(outcomeOf(answer)).toEqual([409, "token_superseded"]);
        expect(outcomeOf(answer)).toEqual(OK);
        model.end(group.teamId, grace);
        model.events.push("user_group.token_rotated");
        see(group, answer, true);
        expect(model.tokens.map(({ text }) => text)).not.toContain(answer.body.user_group.token);
        model.learn(group, answer.body.user_group.token);
      },
  ),

  command(
    "DELETE",
    fc.record({ key: index, token: index, id: fc.option(ids), source: fc.option(fc.constantFrom("d1", "d2")) }),
    ({ key, token, id, source }) =>
      async (model, pick) => {
        const [caller, current] = [pick(model.keys, key), pick(model.tokens, token)];
        if (!caller || !current) return;
        const body = {
          current_token: current.text,
          ...(id && { user_group_id: id }),
          ...(source && { data_source_provided_id: source }),
        };
        const answer = await call("DELETE", "/api/user", { credential: caller.text, body, env: model.env });
        const refusal = model.refusalOf(caller, "groups:delete");
        if (refusal) return expect(outcomeOf(answer)).toEqual(refusal);
        const group = model.groups.find((each) => each.teamId === current.teamId);
        if (!group || !signedByKnown(model, current))
          return expect(outcomeOf(answer)).toEqual([404, "user_group_not_found"]);
        if (!current.isCurrent) return expect(outcomeOf(answer)).toEqual([409, "token_superseded"]);
        if ((id && id !== group.id) || (source && !Object.values(group.mapping ?? {}).includes(source)))
          return expect(outcomeOf(answer)).toEqual([409, "user_group_mismatch"]);
        expect(outcomeOf(answer)).toEqual(OK);
        model.delete(group);
      },
  ),

  command(
    "BY NUMBER",
    fc.record({
      key: index,
      number: fc.nat({ max: 2 }),
      // Several on one group, because most states are reached by more than one act.
      acts: fc.array(fc.constantFrom(...(Object.keys(ACTS) as Act[])), { minLength: 1, maxLength: 5 }),
      id: ids,
    }),
    ({ key, number, acts, id }) =>
      async (model, pick) => {
        const caller = pick([...model.keys, ...operators], key);
        if (!caller) return;
        const teamId = Math.max(1, model.lastTeamId - number);
        for (const act of acts) {
          const [method, path, body] = ACTS[act](id);
          const url = `/api/user_groups/${teamId}${path}${caller.may.role ? inEnvironment(model) : ""}`;
          const answer = await call(method, url, { credential: caller.text, body, env: model.env });
          const refusal = model.refusalOf(caller, ...NEEDS[act]) ?? refusalByNumber(model, act, teamId, id);
          expect(outcomeOf(answer)).toEqual(refusal ?? OK);
          if (refusal) continue;
          applyByNumber(model, act, { teamId, id, answer });
          if (caller.may.role) tally[caller.may.role] = (tally[caller.may.role] ?? 0) + 1;
        }
      },
  ),

  command("VIEW", fc.record({ token: index, stale: fc.boolean() }), ({ token, stale }) => async (model, pick) => {
    const shown = pick(model.tokens, token);
    if (!shown) return;
    const headers = stale ? { "Cache-Control": "max-age=60" } : {};
    const answer = await call("GET", "/api/viewer", { credential: shown.text, headers, env: model.env });
    if (!signedByKnown(model, shown)) return expect(outcomeOf(answer)).toEqual([401, "unauthenticated"]);
    // The index may be behind, and then says what was true.
    if (answer.headers.get("X-Answered-By") === "index")
      return expect(answer.body.user_group.team_id).toBe(shown.teamId);
    const group = model.groups.find((each) => each.teamId === shown.teamId);
    if (!group || Date.now() >= shown.goodUntil) return expect(outcomeOf(answer)).toEqual([401, "credential_revoked"]);
    if (group.isSuspended) return expect(outcomeOf(answer)).toEqual([403, "user_group_suspended"]);
    expect(outcomeOf(answer)).toEqual(OK);
    expect(answer.body.user_group).toEqual(viewOf(group));
  }),

  command(
    "ISSUE KEY",
    fc.record({ grant: grants, hours: fc.option(fc.constantFrom(1, 3)) }),
    ({ grant, hours }) =>
      async (model) => {
        const body = {
          workspace: model.workspace,
          environment: "Testing",
          name: "k",
          ...grant,
          ...(hours && { expires_in_seconds: hours * 3600 }),
        };
        const answer = await manage(model, "POST", "/api/keys", body);
        expect(answer.status).toBe(201);
        model.events.push("api_key.issued");
        const scopes = "scopes" in grant ? grant.scopes : grant.access === "write" ? SCOPES : READ;
        model.add(answer, { may: { scopes }, expiresAt: hours ? Date.now() + hours * HOUR : NEVER });
      },
  ),

  command("REVOKE KEY", index, (key) => async (model, pick) => {
    const revoked = pick(model.keys, key);
    if (!revoked) return;
    expect((await manage(model, "DELETE", `/api/keys/${revoked.id}${inEnvironment(model)}`)).status).toBe(200);
    if (Date.now() < revoked.revokedAt) model.events.push("api_key.revoked");
    revoked.revokedAt = Math.min(revoked.revokedAt, Date.now());
  }),

  command(
    "ROLL KEY",
    fc.record({ key: index, grace: fc.constantFrom(0, 3600) }),
    ({ key, grace }) =>
      async (model, pick) => {
        const rolled = pick(model.keys, key);
        if (!rolled) return;
        const answer = await manage(model, "POST", `/api/keys/${rolled.id}/roll${inEnvironment(model)}`, {
          grace_seconds: grace,
        });
        if (Date.now() >= Math.min(rolled.expiresAt, rolled.revokedAt))
          return expect(outcomeOf(answer)).toEqual([404, "api_key_not_found"]);
        expect(answer.status).toBe(201);
        model.events.push("api_key.rolled");
        model.add(answer, rolled);
        rolled.revokedAt = Math.min(rolled.revokedAt, Date.now() + grace * 1000);
      },
  ),

  command("ROTATE SIGNING KEYS", fc.constantFrom<number[]>([0], [1, 0], [0, 1], [1]), (signing) => async (model) => {
    model.signing = signing;
  }),
  command("WAIT", fc.constantFrom(1, 61, 3601), (seconds) => async () => {
    vi.setSystemTime(Date.now() + seconds * 1000);
  }),
  command("WAIT A MONTH", fc.constant(null), () => async (model) => {
    // Events are kept for three months, and all of them are compared at the end.
    if (model.monthsWaited === 2) return;
    model.monthsWaited += 1;
    vi.setSystemTime(Date.now() + UNDO_MS);
  }),
  command("EVICT", fc.constant(null), () => () => evictAllDurableObjects()),
  command("ALARM", fc.constant(null), () => async (model) => {
    await runAlarm(`${model.workspace}/Testing`);
    model.purgeOld();
  }),
];

/** What changes groups comes up more often than what ends keys, or nearly all calls would be refused. */
const weighted = [
  ...Array(4)
    .fill([...commands.slice(0, 6), commands[4] ?? []])
    .flat(),
  commands[6] ?? [],
  ...commands.slice(6),
].flat();

/** Whether the token's own signing key is still in the ring; its id stands in the payload. */
function signedByKnown(model: Model, { text }: Token): boolean {
  const bytes = Uint8Array.fromBase64(text.split("_").slice(2).join("_"), { alphabet: "base64url" });
  return model.signing.some((each) => `k${each}` === new TextDecoder().decode(bytes.slice(2, 4)));
}

/** Issues a fresh key, with which to read what a run has done. */
async function readerOf(model: Model): Promise<string> {
  const body = { workspace: model.workspace, environment: "Testing", name: "reader" };
  return (await manage(model, "POST", "/api/keys", body)).body.key;
}

/** The types of all events in the model's environment, without that of the reader's own key. */
async function eventTypesOf(model: Model, reader: string): Promise<string[]> {
  const answer = await call("GET", "/api/events?limit=1000", { credential: reader, env: model.env });
  return answer.body.events.slice(0, -1).map(({ type }: { type: string }) => type);
}

/** The state of each group by its number, and its id, as the lists show them. */
async function statesOf(model: Model, reader: string): Promise<unknown[]> {
  const pages = ["", "&state=deleted"].map((filter) =>
    call("GET", `/api/user_groups?limit=1000${filter}`, { credential: reader, env: model.env }),
  );
  return (await Promise.all(pages)).flatMap(({ body }) =>
    body.user_groups.map((group: Record<string, unknown>) => [group.team_id, group.provided_id, group.state]),
  );
}

const statesInModel = ({ groups, deleted }: Model): unknown[] =>
  [
    ...groups.map(({ teamId, id, isSuspended }) => [teamId, id, isSuspended ? "suspended" : "active"] as const),
    ...deleted.map(({ teamId, id }) => [teamId, id, "deleted"] as const),
  ].toSorted(([one, , a], [other, , b]) => Number(a === "deleted") - Number(b === "deleted") || one - other);

it("does what a model of a few lists does, call by call", async () => {
  vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
  let run = 0;
  let last: Model | undefined;
  const { env: first } = new Model("operators");
  for (const role of ROLES) {
    const text = await issueOperator(role, {}, first);
    operators.push({ text, id: 0, may: { role }, expiresAt: NEVER, revokedAt: NEVER, signedBy: 0 });
  }
  const property = fc.asyncProperty(fc.commands(weighted, { maxCommands: 60, size: "max" }), async (plan) => {
    run += 1;
    vi.setSystemTime(NOW);
    await fc.asyncModelRun(async () => {
      const model = new Model(`run-${run}`);
      // A key that may do everything, and one with other scopes in each run.
      for (const scopes of [SCOPES, SCOPES.filter((_, at) => ((1 + (run % 127)) >> at) & 1)]) {
        const body = { workspace: model.workspace, environment: "Testing", name: "first", scopes };
        model.add(await manage(model, "POST", "/api/keys", body), { may: { scopes }, expiresAt: NEVER });
        model.events.push("api_key.issued");
      }
      last = model;
      return { model, real: {} };
    }, plan);
    if (last) {
      const reader = await readerOf(last);
      expect(await eventTypesOf(last, reader)).toEqual(last.events);
      expect(await statesOf(last, reader)).toEqual(statesInModel(last));
    }
  });
  await fc.assert(property, runs(40, 20_000, 0.15));
  report("model", { runs: run, ...tally });
  for (const code of [...OUTCOMES, ...Object.keys(ACTS), RESTORED_SUSPENDED, "support", "admin"])
    expect(tally[code] ?? 0, code).toBeGreaterThan(0);
});
