/** Any JSON value. */
export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;

/** A JSON object. */
export type JsonObject = { [key: string]: JsonValue };

/**
 * `Value` where JSON can hold it, and `never` in each place where it cannot, such as a function or a method of a `Date`. A
 * field that may be `undefined` is left out of the JSON.
 */
type JsonCompatible<Value> = Value extends JsonValue | undefined
  ? Value
  : Value extends (...args: never) => unknown
    ? never
    : Value extends object
      ? { [Key in keyof Value]: JsonCompatible<Value[Key]> }
      : never;

/** An object that JSON can hold. Unlike a `JsonObject`, it needs no index signature, so it may have an `interface`. */
export type JsonProperties<Properties extends object> = Properties extends readonly unknown[]
  ? never
  : Properties & { [Key in keyof Properties]: JsonCompatible<Properties[Key]> };
