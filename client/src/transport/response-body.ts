import type { JsonObject, JsonValue } from "./json.ts";

/** What the wire calls `environment` and `api_environment_tag`; `null` is the environment without a tag. */
export type EnvironmentTag = "Customer" | "Testing" | null;

type Field = JsonValue | undefined;

const isText = (value: Field) => typeof value === "string";
const isNumber = (value: Field) => typeof value === "number";
const isArray = (value: Field): value is JsonValue[] => Array.isArray(value);
const isObject = (value: Field): value is JsonObject => Object(value) === value && !isArray(value);
const areTexts = (value: Field): value is string[] => isArray(value) && value.every(isText);
const areKeys = (value: Field): value is (string | number)[] =>
  isArray(value) && value.every((key) => isText(key) || isNumber(key));
const hasTexts = (value: Field): value is Record<string, string> => isObject(value) && areTexts(Object.values(value));

/**
 * Reads fields of a response by their names on the wire. Each has the type of the method that reads it; otherwise the method
 * throws the error that `unexpected` makes, so that a call never returns what its type does not say. Unknown fields are
 * ignored, and a field that can be `null` may be missing: a service of another release has other fields.
 */
export class ResponseBody {
  readonly #fields: JsonObject;
  readonly #unexpected: (what: string) => Error;

  constructor(value: JsonValue | undefined, unexpected: (what: string) => Error) {
    if (!isObject(value)) throw unexpected("is no object");
    this.#fields = value;
    this.#unexpected = unexpected;
  }

  /** Whether the response has this field, which only some responses have. */
  has = (name: string): boolean => this.#fields[name] !== undefined;
  text = (name: string): string => this.#read(name, isText);
  textOrNull = (name: string): string | null => this.#readOrNull(name, isText);
  number = (name: string): number => this.#read(name, isNumber);
  numberOrNull = (name: string): number | null => this.#readOrNull(name, isNumber);
  oneOf = <const Value extends string | boolean | null>(name: string, values: readonly Value[]): Value =>
    this.#read(name, (value): value is Value => values.includes(value as Value));
  /** It must be there: without it, the response would be about the environment without a tag. */
  environment = (name: string): EnvironmentTag => this.oneOf(name, ["Customer", "Testing", null]);
  json = (name: string): JsonObject => this.#read(name, isObject);
  jsonOrNull = (name: string): JsonObject | null => this.#readOrNull(name, isObject);
  textsOrNull = (name: string): Record<string, string> | null => this.#readOrNull(name, hasTexts);
  values = (name: string): JsonValue[] => this.#read(name, isArray);
  texts = (name: string): string[] => this.#read(name, areTexts);
  keys = (name: string): (string | number)[] => this.#read(name, areKeys);
  object = (name: string): ResponseBody => new ResponseBody(this.json(name), this.#unexpected);
  objects = (name: string): ResponseBody[] =>
    this.values(name).map((value) => new ResponseBody(value, this.#unexpected));

  #read<Value extends JsonValue>(name: string, isValid: (value: Field) => value is Value): Value {
    const value = this.#fields[name];
    if (isValid(value)) return value;
    throw this.#unexpected(`has no valid ${name}`);
  }

  #readOrNull<Value extends JsonValue>(name: string, isValid: (value: Field) => value is Value): Value | null {
    return this.#fields[name] == null ? null : this.#read(name, isValid);
  }
}
