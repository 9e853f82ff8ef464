import { IDEMPOTENCY_SECONDS, RESPONSE_BYTES_PER_PURGE_MAX, RESPONSES_PER_PURGE_MAX } from "../../limits.ts";
import type { StoredResponse } from "../../records.ts";
import type { GroupStore } from "../../storage/group-store.ts";
import type { ResponseStore } from "../../storage/response-store.ts";
import type { Chore } from "../chores.ts";
import { sameBytes } from "../credentials/credential.ts";
import type { FailureOf } from "../failure.ts";
import { fail, ok, type Result } from "../result.ts";

/** Identifies a retried call: hashes of its Idempotency-Key and of its request, and the id of the current signing key. */
export type IdempotencyRecord = { key: ArrayBuffer; request: ArrayBuffer; signingId: string };

/** The responses to calls with an Idempotency-Key. They are stored for a day, and end with their group. */
export class Responses {
  readonly #store: ResponseStore;
  readonly #groups: GroupStore;

  constructor(store: ResponseStore, groups: GroupStore) {
    this.#store = store;
    this.#groups = groups;
  }

  /** The response to the same call, if it was made before. Rows that a chore has not deleted yet do not count. */
  find(record: IdempotencyRecord | undefined): Result<StoredResponse | undefined, FailureOf<"idempotency_key_reused">> {
    const stored = record && this.#store.find(record.key);
    if (!stored || stored.expiresAt <= Date.now() || !this.#groups.isKept(stored.teamId)) return ok(undefined);
    return sameBytes(stored.request, record.request) ? ok(stored) : fail({ code: "idempotency_key_reused" });
  }

  store({ key, request }: IdempotencyRecord, keyId: number | null, response: StoredResponse["response"]): void {
    const { teamId } = response.kind === "removed" ? response : response.group;
    this.#store.insert({ key, request, keyId, teamId, response, expiresAt: this.nextPurgeAt });
  }

  /** When a response of now will be deleted. */
  get nextPurgeAt(): number {
    return Date.now() + IDEMPOTENCY_SECONDS * 1000;
  }

  /** Ends the responses about a purged group, which may be millions. Returns whether there are any for a chore to delete. */
  end(teamId: number): boolean {
    const hasResponses = this.#store.has(teamId);
    if (hasResponses) this.#store.addPurgedGroup(teamId);
    return hasResponses;
  }

  /** Deletes responses that have expired. */
  get purge(): Chore {
    return {
      name: "delete expired responses",
      dueAt: () => this.#store.oldest(1)[0]?.expiresAt,
      run: (now) => {
        const expired = this.#store.oldest(RESPONSES_PER_PURGE_MAX).filter(({ expiresAt }) => expiresAt <= now);
        const last = fitting(expired).at(-1);
        if (last) this.#store.deleteUpTo(last.id);
      },
    };
  }

  /** Deletes the responses about purged groups, one group at a time. */
  get purgeEnded(): Chore {
    return {
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
}

/** The first responses that one run may delete: large ones take longer. */
function fitting<Item extends { bytes: number }>(responses: Item[]): Item[] {
  let bytes = 0;
  return responses.filter((response, index) => {
    bytes += response.bytes;
    return index === 0 || bytes <= RESPONSE_BYTES_PER_PURGE_MAX;
  });
}
