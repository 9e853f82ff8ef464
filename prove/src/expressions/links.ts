/** Which columns and callers the equalities of a query make the same. */
import type { Relation } from "../catalogue.ts";
import { type Caller, callerKey, type Operand } from "./terms.ts";

export class Links {
  readonly #frame: string;
  readonly #classes: Set<string>[] = [];
  readonly #callers = new Map<string, Caller>();
  readonly #equalities: string[] = [];

  /** @param frame the level of the query, with which the names of its columns begin */
  constructor(frame: string) {
    this.#frame = frame;
  }

  join(one: Operand, other: Operand): void {
    const names = [one, other].map((operand) => {
      if ("place" in operand) return operand.place;
      const name = `caller ${callerKey(operand.caller)}`;
      this.#callers.set(name, operand.caller);
      return name;
    });
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
    return [...reached].flatMap((name) => {
      const caller = this.#callers.get(name);
      return caller ? [caller] : [];
    });
  }

  /** The equalities as a text that is the same for the same query. */
  pathOf(tables: readonly (Relation | undefined)[]): string {
    const column = new RegExp(`\\b${this.#frame}\\.(\\d+)\\.`, "g");
    const nameOf = (_: string, number: string) => `${tables[Number(number) - 1]?.object}#${number}.`;
    return JSON.stringify(this.#equalities.map((each) => each.replaceAll(column, nameOf)).toSorted());
  }
}
