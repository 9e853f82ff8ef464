import { GROUPS_PER_PURGE_MAX, IDEMPOTENCY_SECONDS, RESPONSES_PER_PURGE_MAX } from "../limits.ts";
import type { StoredResponse } from "../records.ts";
import type { GroupStore } from "../storage/group-store.ts";
import type { ResponseStore } from "../storage/response-store.ts";
import type { Chore } from "./chores.ts";
import { sameBytes } from "./credential.ts";
import type { FailureOf } from "./failure.ts";
import { fail, ok, type Result } from "./result.ts";

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
  find({ key, request }: IdempotencyRecord): Result<StoredResponse | undefined, FailureOf<"idempotency_key_reused">> {
    const stored = this.#store.find(key);
    if (!stored || stored.expiresAt <= Date.now() || !this.#groups.isKept(stored.teamId)) return ok(undefined);
    return sameBytes(stored.request, request) ? ok(stored) : fail({ code: "idempotency_key_reused" });
  }

  store({ key, request }: IdempotencyRecord, response: Pick<StoredResponse, "keyId" | "teamId" | "rotated">): void {
    this.#store.insert({ key, request, ...response, expiresAt: this.nextPurgeAt });
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
        const expired = this.#store.oldest(RESPONSES_PER_PURGE_MAX).findLast(({ expiresAt }) => expiresAt <= now);
        if (expired) this.#store.deleteUpTo(expired.id);
      },
    };
  }

  /** Deletes the responses about purged groups. */
  get purgeEnded(): Chore {
    return {
      name: "delete responses of purged groups",
      dueAt: () => (this.#store.purgedGroups(1).length > 0 ? Date.now() : undefined),
      run: () => {
        let left = RESPONSES_PER_PURGE_MAX;
        for (const teamId of this.#store.purgedGroups(GROUPS_PER_PURGE_MAX)) {
          left -= this.#store.deleteOf(teamId, left);
          if (left === 0) return;
          this.#store.removePurgedGroup(teamId);
        }
      },
    };
  }
}
