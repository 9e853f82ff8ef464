/**
 * The type of a placeholder of ClickHouse, which a value cannot have by itself
 * (https://clickhouse.com/docs/sql-reference/syntax#defining-and-using-query-parameters). `undefined` for a list whose items have no
 * common type.
 */
export function clickHouseTypeOf(value: unknown): string | undefined {
  return Array.isArray(value) ? arrayTypeOf(value) : scalarTypeOf(value);
}

function arrayTypeOf(items: unknown[]): string | undefined {
  const types = new Set(items.filter((item) => item !== null).map(scalarTypeOf));
  // A number without a fraction fits into a list of others.
  if (types.has("Float64")) types.delete("Int64");
  const [type = "String", ...others] = types;
  if (others.length > 0) return undefined;
  return items.includes(null) ? `Array(Nullable(${type}))` : `Array(${type})`;
}

function scalarTypeOf(value: unknown): string {
  if (value === null) return "Nullable(String)";
  if (typeof value === "boolean") return "Bool";
  if (typeof value === "number") return isInt64(value) ? "Int64" : "Float64";
  return "String";
}

/** The doubles of 2^63 and -2^63 are printed as larger numbers than they are. */
const isInt64 = (value: number): boolean => Number.isInteger(value) && Math.abs(value) < 2 ** 63;
