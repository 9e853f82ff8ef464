/** Two callers, and SQL for what identifies them. */
import { type Bound, isList } from "./expressions/forms.ts";
import { type Caller, keyOf, type Source } from "./expressions/terms.ts";
import type { Setup } from "./setup.ts";

/** A customer's role, without quotes, and the settings of the customer's SQL. */
export type Identity = { role: string; settings: ReadonlyMap<string, string> };

/** What the SQL of a customer makes of a login. */
export const identityOf = ({ assignments }: Setup, login: string): Identity => ({
  role: assignments.findLast(({ name }) => name === "role")?.value ?? login,
  settings: new Map(assignments.filter(({ name }) => name !== "role").map(({ name, value }) => [name, value])),
});

/** The value of a setting or of a part of its JSON; undefined if it is not set, or empty. */
function valueAt({ path }: Source, text: string | undefined): string | undefined {
  let value: unknown = text === "" ? undefined : text;
  for (const key of path) {
    const json = typeof value === "string" ? jsonOf(value) : value;
    value = isObject(json) ? json[key] : undefined;
  }
  if (value === undefined || value === null) return undefined;
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** The elements of a list: of a JSON array, of a text, by its commas or as a whole, or the keys of a JSON object. */
function elementsOf(text: string): string[] {
  const value = jsonOf(text);
  if (Array.isArray(value)) return value.map((each) => (typeof each === "string" ? each : JSON.stringify(each)));
  return isObject(value) ? Object.keys(value) : [text, ...text.split(",")];
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A value as every type of PostgreSQL reads it: equal numbers and uuids have several spellings. */
function canonical(value: string): string {
  const plain = value.trim().toLowerCase();
  if (/^[-+]?\d+$/.test(plain)) return String(BigInt(plain.replace("+", "")));
  if (/^[{}\da-f-]{32,38}$/.test(plain)) return plain.replaceAll(/[{}-]/g, "");
  return plain !== "" && Number.isFinite(Number(plain)) ? String(Number(plain)) : plain;
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;

export const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;

/** SQL for the value of one setting or of a part of its JSON; NULL, which is equal to nothing, if nobody has set it. */
export function sourceSql({ setting, path }: Source): string {
  const text = `nullif(current_setting(${quoted(setting)}, true), '')`;
  const keys = path.map((key, index) => `${index === path.length - 1 ? "->>" : "->"} ${quoted(key)}`);
  return keys.length === 0 ? text : `(${text}::jsonb ${keys.join(" ")})`;
}

const isPersonal = ({ path }: Source): boolean => path.includes("viewer_properties");

export class Callers {
  readonly #both: readonly [Identity, Identity];

  constructor(both: readonly [Identity, Identity]) {
    this.#both = both;
  }

  /** The value of each of the two, of the first part that is set. */
  valuesOf(caller: Caller): (string | undefined)[] {
    return this.#both.map(({ settings }) =>
      caller.map((source) => valueAt(source, settings.get(source.setting))).find((value) => value !== undefined),
    );
  }

  /** Whether a row that is bound to a caller belongs to one of the two at most. */
  areSeparatedBy(bound: Bound): boolean {
    // Another person, of another customer, may have the same properties.
    if (bound.caller.some(isPersonal) && !this.differences().every(isPersonal)) return false;
    const [one = [], other = []] = this.#both.map(({ settings }) => {
      const set = bound.caller.filter(({ setting }) => settings.has(setting));
      const values = set.map((source) => valueAt(source, settings.get(source.setting)));
      // A part is surely NULL only if its setting is not set: the null of JSON is nothing here, and something in PostgreSQL.
      const known = values.every((value) => value !== undefined) ? values : [];
      if (isList(bound)) return known.flatMap(elementsOf).map(canonical);
      // Equal objects may be written in several ways.
      return known.some((value) => isObject(jsonOf(value))) ? [] : known.map(canonical);
    });
    return one.length > 0 && other.length > 0 && !one.some((value) => other.includes(value));
  }

  areSame(caller: Caller): boolean {
    const [one, other] = this.valuesOf(caller);
    return one !== undefined && one === other;
  }

  /** What the SQL of the callers has set differently. */
  differences(): Source[] {
    return [...this.#both[0].settings.keys()].flatMap((setting) => this.#partsOf({ setting, path: [] }));
  }

  /** The environment that the sessions of both callers name, such as `acme/Customer`. */
  environmentIn(setting: string): string | undefined {
    const [one, other] = this.valuesOf([{ setting, path: ["aud"] }]);
    return one !== undefined && one === other && one.includes("/") ? one : undefined;
  }

  /** The parts of JSON that differ, or the setting itself. */
  #partsOf(source: Source): Source[] {
    const [value, other] = this.valuesOf([source]);
    if (value === undefined || other === undefined || value === other) return [];
    const json = jsonOf(value);
    const keys = isObject(json) && !Array.isArray(json) ? Object.keys(json) : [];
    // Broken JSON identifies nobody.
    if (keys.length === 0 && value.startsWith("{")) return [];
    const parts = keys.flatMap((key) => this.#partsOf({ ...source, path: [...source.path, key] }));
    return keys.length > 0 ? parts : [source];
  }

  /** The names of what a caller reads, and one of the two has not set. */
  unsetIn(callers: readonly Caller[]): string[] {
    const missing = callers.filter((caller) => this.valuesOf(caller).includes(undefined));
    return [...new Set(missing.flatMap((caller) => caller.slice(-1).map(keyOf)))];
  }
}
