import type { JsonObject, JsonValue } from "./json.ts";

/** What the wire calls `environment` and `api_environment_tag`; `null` is the environment without a tag. */
export type EnvironmentTag = "Customer" | "Testing" | null;

const isObject = (value: JsonValue | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * Reads the fields of an answer by the wire's names. Each is of the type that was asked for, or `unexpected` makes the error
 * that is thrown: a call never returns what its type does not say. Fields that are not asked for may be there.
 */
export class Answer {
  readonly #fields: JsonObject;
  readonly #unexpected: (what: string) => Error;

  constructor(value: JsonValue | undefined, unexpected: (what: string) => Error) {
    if (!isObject(value)) throw unexpected("is no JSON object");
    this.#fields = value;
    this.#unexpected = unexpected;
  }

  text(name: string): string {
    const value = this.#fields[name];
    return typeof value === "string" ? value : this.#refuse(name);
  }

  textOrNull(name: string): string | null {
    return this.#fields[name] === null ? null : this.text(name);
  }

  number(name: string): number {
    const value = this.#fields[name];
    return typeof value === "number" ? value : this.#refuse(name);
  }

  boolean(name: string): boolean {
    const value = this.#fields[name];
    return typeof value === "boolean" ? value : this.#refuse(name);
  }

  oneOf<const Value extends string>(name: string, values: readonly Value[]): Value {
    return values.find((value) => value === this.#fields[name]) ?? this.#refuse(name);
  }

  environment(name: string): EnvironmentTag {
    return this.#fields[name] === null ? null : this.oneOf(name, ["Customer", "Testing"]);
  }

  json(name: string): JsonObject {
    const value = this.#fields[name];
    return isObject(value) ? value : this.#refuse(name);
  }

  jsonOrNull(name: string): JsonObject | null {
    return this.#fields[name] === null ? null : this.json(name);
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
    const areTexts = (values: JsonValue[]): values is string[] => values.every((value) => typeof value === "string");
    return areTexts(texts) ? texts : this.#refuse(name);
  }

  keys(name: string): (string | number)[] {
    const keys = this.values(name);
    const areKeys = (values: JsonValue[]): values is (string | number)[] =>
      values.every((value) => typeof value === "string" || typeof value === "number");
    return areKeys(keys) ? keys : this.#refuse(name);
  }

  object(name: string): Answer {
    return new Answer(this.json(name), this.#unexpected);
  }

  objects(name: string): Answer[] {
    return this.values(name).map((value) => new Answer(value, this.#unexpected));
  }

  #refuse(name: string): never {
    throw this.#unexpected(`has no good ${name}`);
  }
}
