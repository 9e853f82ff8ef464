/** The types whose values are equal only if they are the same, and the casts that keep different values apart. */
import type { TypeName } from "./sql-tree.ts";

/** A domain or an enum of the integrator. */
export type UserType = {
  schema: string;
  name: string;
  base: { schema: string; name: string; array: boolean } | null;
  /** Whether texts that differ are never equal. */
  deterministic: boolean;
  /** Whether the domain has a length or precision: a cast to it cuts or rounds. */
  limited: boolean;
  /** Whether a type of another kind has the same name, which a name without a schema could mean. */
  hidden: boolean;
};

/** A type that the prover knows, such as `int8`, `text[]` or `enum public.kind`. */
export type KnownType = string;

const NUMBERS = ["int2", "int4", "int8", "oid"];
const TEXTS = ["text", "varchar"];
const KNOWN = [...NUMBERS, ...TEXTS, "numeric", "name", "uuid", "json", "jsonb", "bool"];

/** Whether a type of the integrator neither folds nor cuts. */
const isExact = ({ deterministic, limited }: UserType, isStored: boolean): boolean =>
  deterministic && (isStored || !limited);

/**
 * A type under the name by which the prover knows it; `undefined` for those that round, fold, pad or cut. What is in a column
 * (`isStored`) has been cut before.
 */
export function knownType(type: TypeName, types: readonly UserType[], isStored = false): KnownType | undefined {
  const { name, schema, limited, array } = type;
  if (limited) return undefined;
  const found = types.filter((each) => each.name === name && (schema === undefined || each.schema === schema));
  const isBuiltIn = schema === undefined || schema === "pg_catalog";
  const suffix = array ? "[]" : "";
  if (found.length === 0) return isBuiltIn && KNOWN.includes(name) ? name + suffix : undefined;
  const only = found.find((each) => isExact(each, isStored));
  if (!only || found.length > 1 || (schema === undefined && (KNOWN.includes(name) || only.hidden))) return undefined;
  if (only.base === null) return `enum ${only.schema}.${only.name}${suffix}`;
  const base = knownType({ ...only.base, limited: false }, types, isStored);
  return base === undefined || (array && base.endsWith("[]")) ? undefined : base + suffix;
}

export const elementOf = (type: KnownType): KnownType | undefined =>
  type.endsWith("[]") ? type.slice(0, -2) : undefined;

function familyOf(type: KnownType): string | undefined {
  if (NUMBERS.includes(type) || type === "numeric") return "number";
  if (TEXTS.includes(type) || type === "name") return "text";
  return type === "uuid" || (type.startsWith("enum ") && !type.endsWith("[]")) ? type : undefined;
}

/** Whether `=` of these types is true for the same value alone. */
export const areComparable = (one: KnownType, other: KnownType): boolean =>
  familyOf(one) !== undefined && familyOf(one) === familyOf(other);

/** Whether a cast of a column keeps all values apart: '01' and '1' are one number. */
export const isInjective = (from: KnownType, to: KnownType): boolean =>
  from === to ||
  (TEXTS.includes(to) && familyOf(from) !== undefined) ||
  (NUMBERS.includes(from) && (NUMBERS.includes(to) || to === "numeric"));

/** Whether a cast of what identifies the caller rounds, folds and cuts nothing: it keeps the value, or fails. */
export function keepsApart(from: KnownType, to: KnownType): boolean {
  const [element, wanted] = [elementOf(from), elementOf(to)];
  if (wanted !== undefined) return element === undefined ? TEXTS.includes(from) : keepsApart(element, wanted);
  if (element !== undefined) return false;
  if (from === to || TEXTS.includes(to)) return true;
  if (NUMBERS.includes(to)) return TEXTS.includes(from) || NUMBERS.includes(from);
  if (to === "numeric") return TEXTS.includes(from) || NUMBERS.includes(from);
  if (to === "json" || to === "jsonb") return TEXTS.includes(from) || from === "json" || from === "jsonb";
  return (to === "uuid" || to.startsWith("enum ")) && TEXTS.includes(from);
}
