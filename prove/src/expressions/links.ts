/** Which columns and callers the equalities of a query make the same. */
import type { Relation } from "../catalogue.ts";
import { type Caller, callerKey, type Term } from "./terms.ts";

export class Links {
  readonly #frame: string;
  readonly #classes: Set<string>[] = [];
  readonly #callers = new Map<string, Caller>();
  readonly #equalities: string[] = [];

  /** @param frame the level of the query, with which the names of its columns begin */
  constructor(frame: string) {
    this.#frame = frame;
  }

  /** Notes an equality of two columns, or of one with the caller. */
  join(...terms: readonly Term[]): void {
    const names = terms.flatMap(({ place, caller }) => {
      const name = caller ? `caller ${callerKey(caller)}` : place;
      if (caller && name) this.#callers.set(name, caller);
      return name ?? [];
    });
    if (names.length < 2) return;
    this.#equalities.push(names.toSorted().join(" = "));
    const touched = this.#classes.filter((each) => names.some((name) => each.has(name)));
    for (const each of touched) this.#classes.splice(this.#classes.indexOf(each), 1);
    this.#classes.push(new Set([...names, ...touched.flatMap((each) => [...each])]));
  }

  /** The columns outside of the query. */
  outerPlaces(): string[] {
    const names = this.#classes.flatMap((each) => [...each]);
    return names.filter((name) => !this.#callers.has(name) && !name.startsWith(`${this.#frame}.`));
  }

  areEqual(one: string, other: string): boolean {
    return this.#classes.some((each) => each.has(one) && each.has(other));
  }

  /** The callers to which equalities lead from a column, by way of tables of the query. */
  callersOf(place: string): Caller[] {
    const tableOf = (name: string) => (name.startsWith(`${this.#frame}.`) ? name.replace(/\.\d+$/, "") : name);
    const touches = (each: Set<string>, table: string) => [...each].some((name) => tableOf(name) === table);
    const reached = new Set([place]);
    for (const name of reached) {
      const leads = this.#callers.has(name) ? [] : this.#classes.filter((each) => touches(each, tableOf(name)));
      for (const next of leads.flatMap((each) => [...each])) reached.add(next);
    }
    return [...reached].map((name) => this.#callers.get(name)).filter((caller) => caller !== undefined);
  }

  /** The equalities as a text that is the same for the same query. */
  pathOf(tables: readonly (Relation | undefined)[]): string {
    const column = new RegExp(`\\b${this.#frame}\\.(\\d+)\\.`, "g");
    const nameOf = (_: string, number: string) => `${tables[Number(number) - 1]?.object}#${number}.`;
    return JSON.stringify(this.#equalities.map((each) => each.replaceAll(column, nameOf)).toSorted());
  }
}
