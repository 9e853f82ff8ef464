import { fail, ok, type Result } from "../../common/result.ts";
import type { BackupPage, BackupPosition } from "./backup/backup.ts";
import type { Admitted, CallerFailure } from "./credentials/admission.ts";
import type { Caller, Operator } from "./credentials/caller.ts";
import type { KeyPage, KeyQuery } from "./credentials/keys.ts";
import type { Scope } from "./credentials/rights.ts";
import type { DirectoryParts } from "./directory-parts.ts";
import type { FailureOf, Idempotent } from "./failure.ts";
import type { EventPage, EventQuery, NewestPage, NewestQuery } from "./feed/event.ts";
import { GroupHistory, type HistoryFailure, type HistoryPage, type HistoryQuery } from "./feed/group-history.ts";
import { GroupCount, type GroupCounts, GroupSearch, type SearchQuery } from "./search/group-scans.ts";
import { type Step, type TurnFailure, Turns, type Waited } from "./turns.ts";
import type { GroupPage, PageQuery } from "./user-groups/group-page.ts";
import type { EnvironmentOverview } from "./user-groups/overview.ts";

/** What a list answers when its turns are over. */
export type Listed<Page, Failure = never> = Promise<Idempotent<Waited<Page>, Failure | CallerFailure | TurnFailure>>;

type Admit = (caller: Caller, scope: Scope | undefined) => Result<Admitted, CallerFailure>;

/** The reads of a directory that may be long. They take turns, so that viewers are answered between them. */
export class Lists {
  readonly #turns = new Turns();
  readonly #parts: () => DirectoryParts;
  readonly #admit: Admit;

  /** `parts` returns those of the present database, and `admit` admits a caller in each turn. */
  constructor(parts: () => DirectoryParts, admit: Admit) {
    this.#parts = parts;
    this.#admit = admit;
  }

  list(caller: Caller, query: PageQuery): Listed<GroupPage> {
    return this.#inTurns(caller, "groups:read", ({ groups }) => ok(groups.list(query)));
  }

  search(caller: Caller, query: SearchQuery): Listed<GroupPage> {
    const search = new GroupSearch(query);
    return this.#inTurns(caller, "groups:read", ({ stores }) => ok(search.turn(stores.groups)));
  }

  /** For `withGroups` the caller needs `groups:read` too. */
  async events(caller: Caller, query: EventQuery): Listed<EventPage, FailureOf<"cursor_expired">> {
    const admitted = query.withGroups ? this.#admit(caller, "groups:read") : undefined;
    if (admitted && !admitted.ok) return admitted;
    return this.#inTurns(caller, "events:read", ({ changes, groups }) => {
      const read = changes.read(query);
      return read.ok && query.withGroups ? ok(groups.addTo(read.value)) : read;
    });
  }

  newestEvents(caller: Caller, query: NewestQuery): Listed<NewestPage> {
    return this.#inTurns(caller, "events:read", ({ changes }) => ok(changes.readNewest(query)));
  }

  /** The events of a group that exists or has existed. */
  history(caller: Caller, teamId: number, query: HistoryQuery): Listed<HistoryPage, HistoryFailure> {
    const history = new GroupHistory(teamId, query);
    return this.#inTurns(caller, "events:read", ({ stores }) =>
      stores.groups.wasUsed(teamId) ? history.turn(stores.events) : fail({ code: "user_group_not_found" }),
    );
  }

  overview(operator: Operator): Listed<EnvironmentOverview> {
    return this.#inTurns(operator, undefined, ({ overview }) => ok(overview.read(Date.now())));
  }

  counts(operator: Operator): Listed<GroupCounts> {
    const count = new GroupCount();
    return this.#inTurns(operator, undefined, ({ stores }) => ok(count.turn(stores.groups)));
  }

  async keys(caller: Caller, query: KeyQuery): Listed<KeyPage> {
    if (!this.#parts().schema.exists) return ok({ keys: [], next: null, hasWaited: false });
    return this.#inTurns(caller, undefined, ({ keys }) => ok(keys.list(query)));
  }

  backup(operator: Operator, position: BackupPosition | undefined): Listed<BackupPage, FailureOf<"cursor_expired">> {
    return this.#inTurns(operator, undefined, ({ backup }) => backup.read(position));
  }

  /** Reads for a caller in one turn or several. An operator who has waited has to be admitted by the registry again. */
  async #inTurns<Page extends object, Failure>(
    caller: Caller,
    scope: Scope | undefined,
    step: (parts: DirectoryParts) => Result<Step<Page>, Failure>,
  ): Listed<Page, Failure> {
    return this.#turns.takeSteps(
      nameOf(caller),
      () => this.#admit(caller, scope),
      () => step(this.#parts()),
    );
  }
}

/** Under which name a caller takes turns. */
const nameOf = ({ kind, id }: Caller): string => `${kind} ${id}`;
