/** What identifies a caller: settings, parts of their JSON, and roles. */

export type Atom =
  | { kind: "setting"; name: string; path: string[] }
  | { kind: "user"; of: "current" | "session" }
  /** The first that has a value. */
  | { kind: "first"; of: Atom[] };

/** Atoms by their keys, each with the column that is compared: alternatives that compare different columns have none in common. */
export type Atoms = ReadonlyMap<string, Atom>;

/** The text by which an atom is known, also to people. */
export function keyOf(atom: Atom): string {
  if (atom.kind === "user") return `${atom.of}_user`;
  if (atom.kind === "first") return atom.of.map(keyOf).join(" or ");
  return [atom.name, ...atom.path].join(" → ");
}

/** What a row is bound to by one of its columns. */
export const boundBy = (column: string, atoms: Iterable<Atom>): Atoms =>
  new Map([...atoms].map((atom) => [`${column} = ${keyOf(atom)}`, atom]));

/** The atom of a part of the JSON that an atom contains. */
export function partOf(atom: Atom, path: readonly string[]): Atom | undefined {
  if (atom.kind === "setting") return { ...atom, path: [...atom.path, ...path] };
  if (atom.kind === "user") return undefined;
  const of = atom.of.map((each) => partOf(each, path));
  return of.every((each) => each !== undefined) ? { kind: "first", of } : undefined;
}

/** What a customer's SQL has set. The values are compared and never printed. */
export type Caller = { role: string; settings: ReadonlyMap<string, string> };

/** The value of an atom for a caller; `undefined` if it has none. */
export function heldValue(atom: Atom, caller: Caller): string | undefined {
  if (atom.kind === "user") return atom.of === "current" ? caller.role : undefined;
  if (atom.kind === "first") return atom.of.map((each) => heldValue(each, caller)).find((value) => value !== undefined);
  let value: unknown = caller.settings.get(atom.name);
  for (const key of atom.path) value = memberOf(typeof value === "string" ? parsed(value) : value, key);
  if (value === undefined || value === null || value === "") return undefined;
  return typeof value === "string" ? value : JSON.stringify(value);
}

function memberOf(value: unknown, key: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
  return Reflect.get(value, key);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The atoms to which a row is bound; `"any"` for what no row fulfils. */
export type Bound = Atoms | "any";

/** The bound of a condition whose form is not known. */
export const NOTHING: Atoms = new Map();

/** The bound of two conditions that AND joins. */
export const both = (one: Bound, other: Bound): Bound =>
  one === "any" || other === "any" ? "any" : new Map([...one, ...other]);

/** The bound of two conditions that OR joins. */
export const either = (one: Bound, other: Bound): Bound => {
  if (one === "any") return other;
  return other === "any" ? one : new Map([...one].filter(([key]) => other.has(key)));
};

/** Whether a condition is not known to bind rows to anything. */
export const isUnbound = (bound: Bound): boolean => bound !== "any" && bound.size === 0;
