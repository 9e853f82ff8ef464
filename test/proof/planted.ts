import { setTimeout as delay } from "node:timers/promises";
import type { Service } from "./histories.ts";
import {
  type Answered,
  type Ask,
  CREATED,
  type FeedEvent,
  type Found,
  ID_TAKEN,
  NOT_DELETED,
  NOT_FOUND,
  OK,
  REVOKED,
  SUPERSEDED,
  SUSPENDED,
} from "./linearizability.ts";

/** The faults that a service in memory can have, each of which the checker must find. */
export const FAULTS = [
  "a stale read",
  "a lost update",
  "an update torn in two",
  "an update of nothing",
  "created twice",
  "two creators of one id",
  "two winners of one rotation",
  "a rotation that is not done",
  "a rotation to the same token",
  "a resurrected token",
  "a current token refused",
  "a delete that is not done",
  "a team id given again",
  "a token given again",
  "a conflict where nothing is",
  "not found in place of superseded",
  "a suspension that viewers do not see",
  "a suspension that a rotation ends",
  "a resumption that is not done",
  "a deleted group's token that still views",
  "a restore that two calls win for one id",
  "a restore that changes the token",
  "a restore that ends the suspension",
  "a restore of a purged group",
  "a restore of an active group with an event",
  "a purge of an existing group",
  "a purge that is not done",
  "a change without its event",
  "two events in the wrong order",
  "an ended session that still views",
  "an end of a person that misses a session",
  "an end of a group that is not done",
  "an end that takes a fresh session with it",
  "a session that a rotation does not end",
  "a session of a suspended group that views",
  "a session of a group that was deleted and restored refused",
  "an end of an ended session with an event",
  "a revoked key that mints",
  "a session of a revoked key that views",
  "a valid key refused",
  "a revoked operator admitted",
  "a revocation of an operator that is not done",
  "a search that misses a group",
  "a search that finds the name of before",
  "a search that finds a deleted group",
  "a search for deleted groups that finds a purged one",
  "a search for deleted groups that misses one",
  "a history without its newest event",
  "a history with an event of another group",
  "a history of a purged group that is gone",
] as const;

/** One of the faults. */
export type Fault = (typeof FAULTS)[number];

/** Reads the team id in a token of a `PlantedService`, which is `teamId.version`. */
export const inPlantedToken = (token: string): number => Number(token.split(".")[0]);

type Group = { teamId: number; token: string; name: string; isSuspended: boolean };

const shown = ({ teamId, token, name }: Group): Answered => ({ result: OK, teamId, token, name });

/** A service in memory with one planted fault, or none. */
export class PlantedService {
  readonly feed: FeedEvent[] = [];
  readonly #fault: Fault | undefined;
  readonly #random: (below: number) => number;
  #existing: Group | undefined;
  readonly #deleted = new Map<number, Group>();
  readonly #purged = new Map<number, Group>();
  readonly #retired = new Set<string>();
  readonly #sessions = new Map<string, { teamId: number; viewerId: string; isOfKey: boolean }>();
  #isKeyValid = true;
  #isOperatorValid = true;
  #lastTeamId = 0;
  #lastSession = 0;
  #version = 0;
  #nameBefore = "id";
  #stale: Answered = { result: NOT_FOUND };

  constructor(fault: Fault | undefined, random: (below: number) => number) {
    this.#fault = fault;
    this.#random = random;
  }

  /** Answers after a moment. Without a fault, some answers are lost. */
  readonly call: Service = async (ask) => {
    await delay(this.#random(2));
    const answer = await this.#take(ask);
    await delay(this.#random(2));
    if (this.#fault === undefined && this.#random(12) === 0) throw new Error("The answer was lost.");
    return answer;
  };

  #take(ask: Ask): Answered | Promise<Answered> {
    switch (ask.do) {
      case "ensure":
        return this.#ensure();
      case "update":
        return this.#update(ask.name);
      case "suspend":
      case "resume":
        return this.#setSuspended(ask.do === "suspend");
      case "rotate":
      case "remove":
        return this.#withToken(ask.do, ask.token);
      case "view":
        return this.#view(ask.token);
      case "restore":
        return this.#restore(ask.teamId);
      case "purge":
        return this.#purge(ask.teamId);
      case "mint":
        return this.#mint(ask.viewerId, false);
      case "mint by key":
        return this.#mintByKey(ask.viewerId);
      case "revoke key":
        return this.#revokeKey();
      case "use operator":
        return { result: this.#isOperatorValid || this.#sometimes("a revoked operator admitted") ? OK : REVOKED };
      case "revoke operator":
        if (this.#fault !== "a revocation of an operator that is not done") this.#isOperatorValid = false;
        return { result: OK };
      case "view session":
        return this.#viewSession(ask.session);
      case "end session":
        return this.#endSession(ask.session);
      case "end person":
        return this.#end(ask.viewerId);
      case "end group":
        return this.#end(undefined);
      case "search":
        return { result: OK, groups: this.#search(ask.name) };
      case "search deleted":
        return { result: OK, groups: this.#searchDeleted() };
      case "history":
        return { result: OK, types: this.#history(ask.teamId) };
    }
  }

  #sometimes(fault: Fault): boolean {
    return this.#fault === fault && this.#random(3) === 0;
  }

  #record(type: string, teamId: number): void {
    if (this.#sometimes("a change without its event")) return;
    this.feed.push({ type, teamId });
    if (this.#sometimes("two events in the wrong order")) this.feed.push(...this.feed.splice(-2).toReversed());
  }

  #tokenFor(teamId: number): string {
    this.#version += 1;
    return `${teamId}.${this.#fault === "a token given again" ? 1 : this.#version}`;
  }

  async #ensure(): Promise<Answered> {
    const isNew = this.#existing === undefined;
    const isRaced = this.#fault === "two creators of one id" && isNew;
    if (isRaced) await delay(1);
    if (!this.#existing || isRaced) {
      this.#lastTeamId = this.#fault === "a team id given again" ? 1 : this.#lastTeamId + 1;
      const teamId = this.#lastTeamId;
      this.#existing = { teamId, token: this.#tokenFor(teamId), name: "id", isSuspended: false };
      this.#record("created", teamId);
    }
    const answer = { ...shown(this.#existing), isNew: isNew || this.#sometimes("created twice") };
    if (!isNew && this.#stale.result === OK && this.#sometimes("a stale read")) return this.#stale;
    this.#stale = { ...answer, isNew: false };
    return answer;
  }

  async #update(name: string): Promise<Answered> {
    const before = this.#existing;
    if (!before)
      return this.#fault === "an update of nothing"
        ? { result: OK, name, token: "0.0", teamId: 0 }
        : { result: NOT_FOUND };
    this.#record("updated", before.teamId);
    if (this.#sometimes("a lost update")) return { ...shown(before), name };
    if (this.#fault === "an update torn in two") await delay(1);
    this.#nameBefore = before.name;
    this.#existing = { ...before, name };
    return shown(this.#existing);
  }

  #setSuspended(isSuspended: boolean): Answered {
    const before = this.#existing;
    if (!before) return { result: NOT_FOUND };
    if (before.isSuspended !== isSuspended) this.#record(isSuspended ? "suspended" : "resumed", before.teamId);
    if (!isSuspended && this.#sometimes("a resumption that is not done")) return shown(before);
    this.#existing = { ...before, isSuspended };
    return shown(this.#existing);
  }

  async #withToken(kind: "rotate" | "remove", token: string): Promise<Answered> {
    const held = this.#existing;
    if (held?.teamId !== inPlantedToken(token))
      return { result: this.#fault === "a conflict where nothing is" ? SUPERSEDED : NOT_FOUND };
    if (held.token !== token)
      return { result: this.#fault === "not found in place of superseded" ? NOT_FOUND : SUPERSEDED };
    if (this.#fault === "two winners of one rotation") await delay(1);
    return kind === "remove" ? this.#remove(held) : this.#rotate(held);
  }

  #remove(held: Group): Answered {
    this.#record("deleted", held.teamId);
    if (this.#sometimes("a delete that is not done")) return { result: OK };
    this.#existing = undefined;
    this.#deleted.set(held.teamId, held);
    return { result: OK };
  }

  #rotate(held: Group): Answered {
    this.#retired.add(held.token);
    this.#record("token_rotated", held.teamId);
    const token = this.#fault === "a rotation to the same token" ? held.token : this.#tokenFor(held.teamId);
    if (this.#sometimes("a rotation that is not done")) return { ...shown(held), token };
    const isSuspended = held.isSuspended && this.#fault !== "a suspension that a rotation ends";
    if (this.#fault !== "a session that a rotation does not end") this.#forget(held.teamId);
    this.#existing = { ...held, token, isSuspended };
    return shown(this.#existing);
  }

  #view(token: string): Answered {
    const ended = this.#deleted.get(inPlantedToken(token));
    if (this.#fault === "a deleted group's token that still views" && ended?.token === token)
      return { result: OK, teamId: ended.teamId, name: ended.name };
    const group = this.#existing;
    const isResurrected = this.#fault === "a resurrected token" && this.#retired.has(token);
    if (!group || (group.token !== token && !isResurrected)) return { result: REVOKED };
    if (this.#sometimes("a current token refused")) return { result: REVOKED };
    if (group.isSuspended && !this.#sometimes("a suspension that viewers do not see")) return { result: SUSPENDED };
    return { result: OK, teamId: group.teamId, name: group.name };
  }

  async #restore(teamId: number): Promise<Answered> {
    const existing = this.#existing;
    if (existing?.teamId === teamId) {
      if (this.#fault === "a restore of an active group with an event") this.#record("restored", teamId);
      return { result: OK, teamId, name: existing.name, isSuspended: existing.isSuspended };
    }
    const purged = this.#fault === "a restore of a purged group" ? this.#purged.get(teamId) : undefined;
    const found = this.#deleted.get(teamId) ?? purged;
    if (!found) return { result: NOT_FOUND };
    if (existing) return { result: ID_TAKEN };
    if (this.#fault === "a restore that two calls win for one id") await delay(1);
    const token = this.#fault === "a restore that changes the token" ? this.#tokenFor(teamId) : found.token;
    const isSuspended = found.isSuspended && this.#fault !== "a restore that ends the suspension";
    if (this.#fault === "a session of a group that was deleted and restored refused") this.#forget(teamId);
    this.#deleted.delete(teamId);
    this.#existing = { ...found, token, isSuspended };
    this.#record("restored", teamId);
    return { result: OK, teamId, name: found.name, isSuspended };
  }

  #purge(teamId: number): Answered {
    const isExisting = this.#existing?.teamId === teamId;
    if (isExisting && this.#fault !== "a purge of an existing group") return { result: NOT_DELETED };
    const found = isExisting ? this.#existing : this.#deleted.get(teamId);
    if (!found) return { result: NOT_FOUND };
    if (isExisting) this.#existing = undefined;
    this.#purged.set(teamId, found);
    this.#forget(teamId);
    this.#record("purged", teamId);
    if (!this.#sometimes("a purge that is not done")) this.#deleted.delete(teamId);
    return { result: OK };
  }

  #search(name: string | undefined): Found[] {
    const group = this.#existing;
    if (this.#sometimes("a search that misses a group")) return [];
    if (!group) return this.#fault === "a search that finds a deleted group" ? this.#searchDeleted() : [];
    const known = this.#fault === "a search that finds the name of before" ? this.#nameBefore : group.name;
    return name === undefined || name === known ? [{ ...group, name: known }] : [];
  }

  #searchDeleted(): Found[] {
    const purged = this.#fault === "a search for deleted groups that finds a purged one" ? this.#purged : [];
    const isMissed = this.#sometimes("a search for deleted groups that misses one");
    return [...this.#deleted.values(), ...[...purged].map(([, group]) => group)].slice(isMissed ? 1 : 0);
  }

  #history(teamId: number): string[] {
    if (this.#purged.has(teamId) && this.#fault === "a history of a purged group that is gone") return [];
    const ofAll = this.#fault === "a history with an event of another group";
    const types = this.feed.filter((event) => ofAll || event.teamId === teamId).map(({ type }) => type);
    return types.toReversed().slice(this.#sometimes("a history without its newest event") ? 1 : 0);
  }

  #mintByKey(viewerId: string): Answered {
    const isRefused = !this.#isKeyValid && this.#fault !== "a revoked key that mints";
    return isRefused || this.#sometimes("a valid key refused") ? { result: REVOKED } : this.#mint(viewerId, true);
  }

  #revokeKey(): Answered {
    this.#isKeyValid = false;
    if (this.#fault !== "a session of a revoked key that views")
      for (const [session, { isOfKey }] of this.#sessions) if (isOfKey) this.#sessions.delete(session);
    return { result: OK };
  }

  #mint(viewerId: string, isOfKey: boolean): Answered {
    const group = this.#existing;
    if (!group) return { result: NOT_FOUND };
    if (group.isSuspended) return { result: SUSPENDED };
    this.#lastSession += 1;
    const session = `session ${this.#lastSession}`;
    const isTaken = this.#sometimes("an end that takes a fresh session with it");
    if (!isTaken) this.#sessions.set(session, { teamId: group.teamId, viewerId, isOfKey });
    return { result: CREATED, session };
  }

  #viewSession(session: string): Answered {
    const found = this.#sessions.get(session);
    const group = this.#existing;
    if (!found || group?.teamId !== found.teamId) return { result: REVOKED };
    if (group.isSuspended && this.#fault !== "a session of a suspended group that views") return { result: SUSPENDED };
    return { result: OK, teamId: group.teamId, name: group.name };
  }

  #endSession(session: string): Answered {
    const found = this.#sessions.get(session);
    if (found) this.#record("ended", found.teamId);
    else if (this.#existing && this.#fault === "an end of an ended session with an event")
      this.#record("ended", this.#existing.teamId);
    if (this.#fault !== "an ended session that still views") this.#sessions.delete(session);
    return { result: OK };
  }

  /** Ends the sessions of a person, or of all. */
  #end(viewerId: string | undefined): Answered {
    const group = this.#existing;
    if (!group) return { result: NOT_FOUND };
    this.#record("ended", group.teamId);
    const isMissed =
      viewerId === undefined
        ? this.#fault === "an end of a group that is not done"
        : this.#fault === "an end of a person that misses a session";
    if (!isMissed) this.#forget(group.teamId, viewerId);
    return { result: OK };
  }

  #forget(ofTeam: number, ofViewer?: string): void {
    for (const [session, { teamId, viewerId }] of this.#sessions)
      if (teamId === ofTeam && (ofViewer === undefined || viewerId === ofViewer)) this.#sessions.delete(session);
  }
}
