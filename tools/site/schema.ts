/** The fields of requests and answers as Markdown, and examples of them, from their JSON Schemas. */
import { type Document, resolve, type Schema } from "./document.ts";

const DEPTH_MAX = 6;

/** The bounds of a value, in words. */
function boundsOf({ minLength, maxLength, minimum, maximum, minItems, maxItems, maxProperties }: Schema): string[] {
  const between = (min: number | undefined, max: number | undefined, unit: string): string[] => {
    if (max !== undefined && max < Number.MAX_SAFE_INTEGER) return [`${min ?? 0} to ${max}${unit}`];
    return min === undefined ? [] : [`at least ${min}${unit}`];
  };
  return [
    ...between(minLength, maxLength, " characters"),
    ...between(minimum, maximum, ""),
    ...between(minItems, maxItems, " items"),
    ...(maxProperties === undefined ? [] : [`at most ${maxProperties} members`]),
  ];
}

/** The type of a value, in words. */
export function typeOf(document: Document, schema: Schema): string {
  const { type, format, anyOf, oneOf, items, enum: values, ...rest } = resolve(document, schema);
  if ("const" in rest) return JSON.stringify(rest.const);
  if (values) return values.map((value) => JSON.stringify(value)).join(" | ");
  const choices = anyOf ?? oneOf;
  if (choices) return [...new Set(choices.map((choice) => typeOf(document, choice)))].join(" | ");
  const named = items ? `array of ${typeOf(document, items)}` : (format ?? type ?? "any JSON");
  return [named, ...boundsOf(rest)].join(", ");
}

/** The object that a value is, or that an array is of, if it has fields. */
function objectIn(document: Document, schema: Schema): Schema | undefined {
  const found = resolve(document, schema);
  if (found.properties) return found;
  const inner = [...(found.items ? [found.items] : []), ...(found.anyOf ?? found.oneOf ?? [])];
  return inner.map((each) => objectIn(document, each)).find((each) => each !== undefined);
}

/** The fields of an object, and those of the objects in it, as a list. */
export function fieldsText(document: Document, schema: Schema, depth = 0): string {
  const { properties = {}, required = [] } = objectIn(document, schema) ?? {};
  if (depth > DEPTH_MAX) return "";
  const fields = Object.entries(properties).map(([name, field]) => {
    const about = resolve(document, field).description ?? "";
    const inner = fieldsText(document, field, depth + 1);
    const text = fieldText({ name, type: typeOf(document, field), isRequired: required.includes(name), about });
    return inner === "" ? text : `${text}\n${inner.replaceAll(/^/gm, "  ")}`;
  });
  return fields.join("\n");
}

type FieldParts = { name: string; type: string; isRequired: boolean; about: string };

/** One field as an item of a list: its name, its type, and what is said about it. */
export function fieldText({ name, type, isRequired, about }: FieldParts): string {
  const facts = `- \`${name}\` ${type}${isRequired ? ", **required**" : ""}`;
  return about === "" ? facts : `${facts}: ${about.replaceAll(/\s+/g, " ")}`;
}

/** A value with this schema, made of the examples in it. */
export function exampleOf(document: Document, schema: Schema, depth = 0): unknown {
  const found = resolve(document, schema);
  if (found.examples && found.examples.length > 0) return found.examples[0];
  if ("const" in found) return found.const;
  if (found.enum) return found.enum[0];
  const [first] = found.anyOf ?? found.oneOf ?? [];
  if (first && depth < DEPTH_MAX) return exampleOf(document, first, depth + 1);
  if (found.items) return depth < DEPTH_MAX ? [exampleOf(document, found.items, depth + 1)] : [];
  if (found.type === "object")
    return Object.fromEntries(
      Object.entries(found.properties ?? {}).map(([name, field]) => [name, exampleOf(document, field, depth + 1)]),
    );
  return { string: "…", integer: 1, number: 1, boolean: true }[found.type ?? ""] ?? null;
}
