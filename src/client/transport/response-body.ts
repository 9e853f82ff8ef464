import type { JsonObject, JsonValue } from "./json.ts";

/** What the wire calls `environment` and `api_environment_tag`; `null` is the environment without a tag. */
export type EnvironmentTag = "Customer" | "Testing" | null;

const isObject = (value: JsonValue | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * Reads fields of a response by their names on the wire. Each has the type of the method that reads it; otherwise the method
 * throws the error that `unexpected` makes, so that a call never returns what its type does not say. Unknown fields are
 * ignored, and a field that can be `null` may be missing: a service of another release has other fields.
 */
export class ResponseBody {
  readonly #fields: JsonObject;
  readonly #unexpected: (what: string) => Error;

  constructor(value: JsonValue | undefined, unexpected: (what: string) => Error) {
    if (!isObject(value)) throw unexpected("is not a JSON object");
    this.#fields = value;
    this.#unexpected = unexpected;
  }

  /** Whether the response has this field, which only some responses have. */
  has(name: string): boolean {
    return this.#fields[name] !== undefined;
  }

  text(name: string): string {
    const value = this.#fields[name];
    return typeof value === "string" ? value : this.#refuse(name);
  }

  textOrNull(name: string): string | null {
    return this.#isNull(name) ? null : this.text(name);
  }

  number(name: string): number {
    const value = this.#fields[name];
    return typeof value === "number" ? value : this.#refuse(name);
  }

  numberOrNull(name: string): number | null {
    return this.#isNull(name) ? null : this.number(name);
  }

  oneOf<const Value extends string | boolean>(name: string, values: readonly Value[]): Value {
    return values.find((value) => value === this.#fields[name]) ?? this.#refuse(name);
  }

  oneOfOrNull<const Value extends string>(name: string, values: readonly Value[]): Value | null {
    return this.#isNull(name) ? null : this.oneOf(name, values);
  }

  /** It must be there: without it, the response would be about the environment without a tag. */
  environment(name: string): EnvironmentTag {
    return this.#fields[name] === null ? null : this.oneOf(name, ["Customer", "Testing"]);
  }

  json(name: string): JsonObject {
    const value = this.#fields[name];
    return isObject(value) ? value : this.#refuse(name);
  }

  jsonOrNull(name: string): JsonObject | null {
    return this.#isNull(name) ? null : this.json(name);
  }

  textsOrNull(name: string): Record<string, string> | null {
    const value = this.jsonOrNull(name);
    const isOfTexts = (object: JsonObject): object is Record<string, string> =>
      Object.values(object).every((item) => typeof item === "string");
    return value === null || isOfTexts(value) ? value : this.#refuse(name);
  }

  values(name: string): JsonValue[] {
    const value = this.#fields[name];
    return Array.isArray(value) ? value : this.#refuse(name);
  }

  texts(name: string): string[] {
    const texts = this.values(name);
    return texts.every((text) => typeof text === "string") ? texts : this.#refuse(name);
  }

  keys(name: string): (string | number)[] {
    const keys = this.values(name);
    return keys.every((key) => typeof key === "string" || typeof key === "number") ? keys : this.#refuse(name);
  }

  object(name: string): ResponseBody {
    return new ResponseBody(this.json(name), this.#unexpected);
  }

  objects(name: string): ResponseBody[] {
    return this.values(name).map((value) => new ResponseBody(value, this.#unexpected));
  }

  #isNull(name: string): boolean {
    return (this.#fields[name] ?? null) === null;
  }

  #refuse(name: string): never {
    throw this.#unexpected(`has no valid ${name}`);
  }
}
