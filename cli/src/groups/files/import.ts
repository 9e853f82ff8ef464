import { isTemporary } from "../../../../client/src/resources/event.ts";
import type { Connection, ServiceResponse } from "../../../../client/src/transport/connection.ts";
import { UserGroupServiceError } from "../../../../client/src/transport/user-group-service-error.ts";
import { CommandError, UsageError } from "../../../../common/command-error.ts";
import { systemErrorCode } from "../../support/errors.ts";
import { inputFailure } from "../../support/input-file.ts";
import { type Refusal, sentenceOf } from "../../support/transport.ts";
import { Progress } from "../progress.ts";
import { onStopSignal } from "../stop-signals.ts";
import { endingError, groupCalls, type Service } from "./group-calls.ts";
import { differencesOf, type GroupLine, type ImportLine } from "./group-line.ts";
import type { ImportSource } from "./source.ts";

/** The options of an import. With `update`, existing groups are changed to match their lines. */
type ImportOptions = { fromLine: number; concurrency: number; update?: boolean; json?: boolean };

/**
 * What an import has counted. Of the groups that it found, some differ from their lines or were updated to them. A conflict is a
 * group that somebody else changed during its update.
 */
type Counts = Record<"created" | "found" | "differs" | "updated" | "conflicts" | "refused", number>;

/** The counts of a complete import, and the same as a sentence. */
export type Imported = { counts: Counts; summary: string };

type Fields = Record<string, unknown>;

/** A group as the service has returned it: its number, and its ETag, which makes a change conditional. */
type SeenGroup = { teamId: number; etag: string };

const CONFLICT: Refusal = {
  code: "revision_mismatch",
  message:
    "Somebody else changed this group during the import, and still it differs from the line. The import did not overwrite it: look at it, and import the line again.",
};

/**
 * Gets or creates the group of each line, with several calls at a time, and returns the summary. Whatever ends the import,
 * groups that were created stay, and a second run finds them. So SIGINT, SIGTERM and SIGHUP may stop it; it then prints the
 * line to continue from.
 */
export const importGroups = (service: Service, source: ImportSource, options: ImportOptions): Promise<Imported> =>
  new Import(service, source, options).run();

class Import {
  readonly #service: Service;
  readonly #source: ImportSource;
  readonly #options: ImportOptions;
  readonly #calls: Connection;
  readonly #progress: Progress;
  readonly #stopping = new AbortController();
  readonly #counts: Counts = { created: 0, found: 0, differs: 0, updated: 0, conflicts: 0, refused: 0 };
  #failure: unknown;
  #lastRead = 0;
  #firstUndone = Number.POSITIVE_INFINITY;
  #isAllRead = false;

  constructor(service: Service, source: ImportSource, options: ImportOptions) {
    this.#service = service;
    this.#source = source;
    this.#options = options;
    this.#calls = groupCalls(service, this.#stopping.signal);
    this.#progress = new Progress(source.total);
  }

  async run(): Promise<Imported> {
    const removeHandlers = onStopSignal(() => {
      this.#progress.note("Stopping when the current calls are complete.");
      this.#stopping.abort();
    });
    const lines = this.#source.lines(this.#stopping.signal, this.#stopFor);
    await Promise.all(
      Array.from({ length: this.#options.concurrency }, () => this.#importLines(lines).catch(this.#stopFor)),
    );
    removeHandlers();
    this.#progress[Symbol.dispose]();
    return this.#result();
  }

  async #importLines(lines: AsyncIterable<ImportLine>): Promise<void> {
    for await (const line of lines) {
      if (this.#stopping.signal.aborted) break;
      this.#lastRead = line.number;
      if (line.number < this.#options.fromLine) continue;
      try {
        await this.#importLine(line);
      } catch (error) {
        this.#firstUndone = Math.min(this.#firstUndone, line.number);
        // Abort before this loop ends: its end waits for the other loops, and these wait for input that may never arrive.
        this.#stopFor(error);
        throw error;
      }
      this.#progress.update(line.end, this.#summary());
    }
    this.#isAllRead ||= !this.#stopping.signal.aborted;
  }

  async #importLine(line: ImportLine): Promise<void> {
    const { group, refusal } = line;
    if (refusal) return this.#refuse(line, refusal);
    if (!group) return;
    try {
      await this.#importGroup(line, group);
    } catch (error) {
      if (!isOfLine(error)) throw endingError(error, this.#service);
      this.#refuse(line, error);
    }
  }

  async #importGroup(line: ImportLine, group: GroupLine): Promise<void> {
    const ensure = { method: "GET", path: "/api/user", body: group.fields } as const;
    const response = await this.#calls.send(ensure).catch((error: unknown) => {
      throw Object(error).status === 404 ? readOnlyKey(error as UserGroupServiceError) : error;
    });
    const isNew = response.body.oneOf("new_user_group", [true, false]);
    this.#counts[isNew ? "created" : "found"] += 1;
    if (!isNew) return this.#updateGroup(line, group, seenIn(response).teamId);
    if (group.suspended) await this.#change(line, group, seenIn(response), { suspended: true });
  }

  /** Changes an existing group to match its line, or counts it as different. */
  async #updateGroup(line: ImportLine, group: GroupLine, teamId: number): Promise<void> {
    const { seen, differences } = await this.#compare(group, teamId);
    if (Object.keys(differences).length === 0) return;
    if (!this.#options.update) this.#counts.differs += 1;
    else if (await this.#change(line, group, seen, differences)) this.#counts.updated += 1;
  }

  /** Reads a group, and returns the fields of a PUT after which it matches its line. */
  async #compare(group: GroupLine, teamId: number): Promise<{ seen: SeenGroup; differences: Fields }> {
    const response = await this.#calls.send({ method: "GET", path: `/api/user_groups/${teamId}` });
    response.body.object("user_group").oneOf("state", ["active", "suspended"]);
    return { seen: seenIn(response), differences: differencesOf(group, response.body.json("user_group")) };
  }

  /**
   * Changes a group if nobody has changed it since it was read, and returns whether it now matches its line. If the first response
   * was lost, the retry is refused although the change was made, so a refused change is compared again.
   */
  async #change(line: ImportLine, group: GroupLine, { teamId, etag }: SeenGroup, body: Fields): Promise<boolean> {
    const put = { method: "PUT", path: `/api/user_groups/${teamId}`, headers: { "If-Match": etag }, body } as const;
    try {
      await this.#calls.send({ ...put, retryable: true });
      return true;
    } catch (error) {
      if (Object(error).status !== 412) throw error;
    }
    const { differences } = await this.#compare(group, teamId);
    if (Object.keys(differences).length === 0) return true;
    this.#counts[this.#options.update ? "conflicts" : "differs"] += 1;
    this.#report(line, CONFLICT);
    return false;
  }

  #refuse(line: ImportLine, refusal: Refusal): void {
    this.#counts.refused += 1;
    this.#report(line, refusal);
  }

  #report(line: ImportLine, refusal: Refusal): void {
    this.#progress.note(`${this.#source.unit} ${line.number}: ${sentenceOf(refusal)}`);
  }

  /** Stops because of an error. Calls of other lines that were sent are completed. */
  readonly #stopFor = (error: unknown): void => {
    this.#failure ??= failureOf(error);
    this.#stopping.abort();
  };

  #summary(): string {
    const { created, found, differs, updated, conflicts, refused } = this.#counts;
    const changed = this.#options.update ? `updated ${updated}, conflicts ${conflicts}` : `differs ${differs}`;
    return `created ${created}, found ${found}, ${changed}, refused ${refused}`;
  }

  #result(): Imported {
    const { fromLine } = this.#options;
    const next = Math.min(
      this.#firstUndone,
      this.#isAllRead ? Number.POSITIVE_INFINITY : Math.max(this.#lastRead + 1, fromLine),
    );
    const failure = this.#failure;
    if (failure !== undefined && !(failure instanceof CommandError)) throw failure;
    if (next !== Number.POSITIVE_INFINITY) {
      if (!this.#options.json) console.info(this.#summary());
      const reason = failure ? `${failure.message}\n` : "";
      const { code, requestId } = failure ?? { code: "stopped", requestId: undefined };
      throw new CommandError(`${reason}Stopped. Continue with: --from-line ${next}`, { code, requestId });
    }
    if (fromLine > this.#lastRead + 1)
      throw new UsageError(`--from-line ${fromLine} is after the last ${this.#source.unit}, ${this.#lastRead}.`);
    const { differs } = this.#counts;
    if (differs > 0) console.error(`Groups that differ from their lines: ${differs}. To change them, add --update.`);
    return { counts: this.#counts, summary: this.#summary() };
  }
}

function seenIn({ body, headers, unexpected }: ServiceResponse): SeenGroup {
  const etag = headers.get("ETag");
  if (etag === null) throw unexpected("has no ETag");
  return { teamId: body.object("user_group").number("team_id"), etag };
}

/** Whether the service has refused one line, so that the import continues with the next one. */
const isOfLine = (error: unknown): error is UserGroupServiceError =>
  error instanceof UserGroupServiceError &&
  ![undefined, 401, 403].includes(error.status) &&
  error.code !== "unexpected_answer" &&
  !isTemporary(error);

/** For an error of every line: the service creates no group, and finds none. */
const readOnlyKey = (error: UserGroupServiceError): CommandError =>
  new CommandError(
    error.code === "user_group_not_found"
      ? "insufficient_access: This API key may only read. Use a key with write access."
      : sentenceOf(error),
    error,
  );

/** The reason why the import ends; `undefined` if it was stopped. */
function failureOf(error: unknown): unknown {
  if (error instanceof Error && error.name === "AbortError") return undefined;
  const code = systemErrorCode(error);
  return code === undefined ? error : inputFailure(code);
}
