import { IDEMPOTENCY_SECONDS, RESPONSE_BYTES_PER_PURGE_MAX, RESPONSES_PER_PURGE_MAX } from "../../../common/limits.ts";
import { fail, ok, type Result } from "../../../common/result.ts";
import type { StoredResponse } from "../../records.ts";
import type { GroupStore } from "../../storage/group-store.ts";
import { ResponseStore } from "../../storage/response-store.ts";
import type { Chore } from "../chores.ts";
import { sameBytes } from "../credentials/credential.ts";
import type { FailureOf } from "../failure.ts";
import type { ChangeLog } from "../feed/change-log.ts";
import type { IfMatch } from "./entity-tag.ts";
import type { EndedLeases } from "./lease-requests.ts";

/** Identifies a retried call: hashes of its Idempotency-Key and of its request, and the id of the current signing key. */
export type IdempotencyRecord = { key: ArrayBuffer; request: ArrayBuffer; signingId: string };

/** The conditions of a call: the states of the group in which it may run, and the record by which it runs once. */
export type Conditions = { ifMatch?: IfMatch | undefined; idempotency?: IdempotencyRecord | undefined };

/** The outcome of a call that can have an Idempotency-Key: of a repeat, the response to the first one. */
export type Outcome = EndedLeases & { isReplay: boolean };

export type OnceFailure = FailureOf<"idempotency_key_reused" | "environment_full">;

type Kind = StoredResponse["response"]["kind"];
type ResponseOf<K extends Kind> = Extract<StoredResponse["response"], { kind: K }>;

/** A call whose response is of one kind: the API key that makes it, and its work. */
type Call<K extends Kind, Failure> = {
  kind: K;
  keyId: number | null;
  run: () => Result<EndedLeases & { response: ResponseOf<K> }, Failure>;
};

type Responded<K extends Kind> = Outcome & { response: ResponseOf<K>; keyId: number | null };

/** The responses to calls with an Idempotency-Key. They are stored for a day, and end with their group. */
export class Responses {
  readonly #store: ResponseStore;
  readonly #groups: GroupStore;
  readonly #changes: ChangeLog;

  constructor(sql: SqlStorage, groups: GroupStore, changes: ChangeLog) {
    this.#store = new ResponseStore(sql);
    this.#groups = groups;
    this.#changes = changes;
  }

  /**
   * Runs a call and stores its response in the same transaction, or returns the response to the same call before, with the API
   * key that made that one. Without a `record` it only runs the call.
   */
  once<K extends Kind, Failure>(
    record: IdempotencyRecord | undefined,
    { kind, keyId, run }: Call<K, Failure>,
  ): Result<Responded<K>, Failure | OnceFailure> {
    const stored = this.find(record);
    if (!stored.ok) return stored;
    if (stored.value) {
      const { response, keyId: firstKeyId } = stored.value;
      if (!isOfKind(response, kind)) return fail({ code: "idempotency_key_reused" });
      return ok({ response, keyId: firstKeyId, endedLeases: [], isReplay: true });
    }
    if (record && this.#changes.isFull) return fail({ code: "environment_full" });

    const runAndStore = () => {
      const outcome = run();
      if (outcome.ok && record) this.#insert(record, keyId, outcome.value.response);
      return outcome;
    };
    const outcome = record ? this.#changes.transaction(runAndStore) : run();
    return outcome.ok ? ok({ ...outcome.value, keyId, isReplay: false }) : outcome;
  }

  #insert({ key, request }: IdempotencyRecord, keyId: number | null, response: StoredResponse["response"]): void {
    const { teamId } = response.kind === "removed" ? response : response.group;
    const expiresAt = Date.now() + IDEMPOTENCY_SECONDS * 1000;
    this.#store.insert({ key, request, keyId, teamId, response, expiresAt });
    this.#changes.schedule(expiresAt);
  }

  /** The response to the same call, if it was made before. Rows that a chore has not deleted yet do not count. */
  find(record: IdempotencyRecord | undefined): Result<StoredResponse | undefined, FailureOf<"idempotency_key_reused">> {
    const stored = record && this.#store.find(record.key);
    if (!stored || stored.expiresAt <= Date.now() || this.#groups.nameOf(stored.teamId) === undefined)
      return ok(undefined);
    return sameBytes(stored.request, record.request) ? ok(stored) : fail({ code: "idempotency_key_reused" });
  }

  /** Ends the responses about a purged group. They may be millions, so a chore deletes them. */
  end(teamId: number): void {
    if (!this.#store.has(teamId)) return;
    this.#store.addPurgedGroup(teamId);
    this.#changes.schedule(Date.now());
  }

  /** Deletes responses that have expired. */
  readonly purge: Chore = {
    name: "delete expired responses",
    dueAt: () => this.#store.oldest(1)[0]?.expiresAt,
    run: (now) => {
      const expired = this.#store.oldest(RESPONSES_PER_PURGE_MAX).filter(({ expiresAt }) => expiresAt <= now);
      const last = fitting(expired).at(-1);
      if (last) this.#store.deleteUpTo(last.id);
    },
  };

  /** Deletes the responses about purged groups, one group at a time. */
  readonly purgeEnded: Chore = {
    name: "delete responses of purged groups",
    dueAt: (now) => (this.#store.firstPurgedGroup() === undefined ? undefined : now),
    run: () => {
      const teamId = this.#store.firstPurgedGroup();
      if (teamId === undefined) return;
      const responses = this.#store.oldestOf(teamId, RESPONSES_PER_PURGE_MAX);
      const last = fitting(responses).at(-1);
      if (last) this.#store.deleteOfUpTo(teamId, last.id);
      else this.#store.removePurgedGroup(teamId);
    },
  };
}

/** The first responses that one run may delete: large ones take longer. */
function fitting<Item extends { bytes: number }>(responses: Item[]): Item[] {
  let bytes = 0;
  return responses.filter((response, index) => {
    bytes += response.bytes;
    return index === 0 || bytes <= RESPONSE_BYTES_PER_PURGE_MAX;
  });
}

const isOfKind = <K extends Kind>(response: StoredResponse["response"], kind: K): response is ResponseOf<K> =>
  response.kind === kind;
