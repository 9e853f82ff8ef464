/**
 * What stability.md promises to keep, a line for each fact, derived from the code and the documents. `npm run record` stores the lines
 * of a release, and later releases are tested for each of them.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { ugCommand } from "../../../cli/src/grammar.ts";
import { EXIT } from "../../../cli/src/run-ug.ts";
import * as client from "../../../client/src/index.ts";
import * as postgres from "../../../client/src/postgres.ts";
import * as server from "../../../client/src/server.ts";
import * as viewer from "../../../client/src/viewer.ts";
import openapi from "../../../public/openapi.json" with { type: "json" };
import { DIRECTORY_MIGRATIONS, REGISTRY_MIGRATIONS } from "../../../src/storage/schema.ts";
import {
  type Call,
  callsOf,
  type Document,
  type Parameter,
  type Response,
  resolve,
  type Schema,
} from "../../../tools/site/document.ts";

const document = openapi as unknown as Document;
const resolved = <Value extends object>(value: Value | { $ref: string }): Value => resolve(document, value);

/** The fields below a schema by their paths, and the values that a field may have if they are listed. */
function fieldsOf(schema: Schema, path = ""): string[] {
  const {
    properties = {},
    items,
    anyOf = [],
    oneOf = [],
    allOf = [],
    enum: values = [],
    const: value,
  } = resolved(schema);
  const listed = [...values, ...(value === undefined ? [] : [value])].map(
    (each) => `${path} = ${JSON.stringify(each)}`,
  );
  const named = Object.entries(properties).flatMap(([name, each]) => {
    const at = path === "" ? name : `${path}.${name}`;
    return [at, ...fieldsOf(each, at)];
  });
  const nested = [...anyOf, ...oneOf, ...allOf].flatMap((each) => fieldsOf(each, path));
  return [...listed, ...named, ...nested, ...(items ? fieldsOf(items, `${path}[]`) : [])];
}

const schemasOf = ({ content = {} }: Pick<Response, "content">): Schema[] =>
  Object.values(content).flatMap(({ schema }) => schema ?? []);

/** What a call takes, needs, answers and refuses. */
function ofCall({ method, path, operation: { parameters, requestBody, responses } }: Call): string[] {
  const call = `${method.toUpperCase()} ${path}`;
  const query = parameters.map((each) => resolved<Parameter>(each));
  const bodies = requestBody ? schemasOf(resolved(requestBody)) : [];
  const takes = [
    ...query.map(({ in: place, name }) => `${place} ${name}`),
    ...bodies.flatMap((each) => fieldsOf(each)),
  ];
  const needs = [
    ...query.filter(({ required }) => required).map(({ in: place, name }) => `${place} ${name}`),
    ...bodies.flatMap((each) => resolved(each).required ?? []),
  ];
  const answers = Object.entries(responses).flatMap(([status, response]) => {
    const fields = schemasOf(resolved<Response>(response)).flatMap((each) => fieldsOf(each));
    // The name of an error's response is its codes.
    const codes = "$ref" in response ? (response.$ref.split("/").at(-1)?.split("-or-") ?? []) : [];
    return (Number(status) < 300 ? ["", ...fields] : codes).map((each) => `${status} ${each}`);
  });
  return [
    ...takes.map((field) => `${call} takes ${field}`),
    ...needs.map((field) => `${call} needs ${field}`),
    ...answers.map((answer) => `${call} answers ${answer}`.trimEnd()),
  ];
}

/** A command of `ug` with its arguments and options, and those below it. */
function ofCommand(command: Command, path: string): string[] {
  const options = command.options.map(({ flags }) => `${path} ${flags}`);
  const args = command.registeredArguments.map(
    (each) => `${path} ${each.required ? `<${each.name()}>` : `[${each.name()}]`}`,
  );
  return [path, ...args, ...options, ...command.commands.flatMap((each) => ofCommand(each, `${path} ${each.name()}`))];
}

/** What a package's file exports, and the methods of its classes. */
const ofModule = (name: string, exported: object): string[] =>
  Object.entries(exported).flatMap(([symbol, value]) => {
    const methods = typeof value === "function" ? Object.getOwnPropertyNames(value.prototype ?? {}) : [];
    const own = methods.filter((method) => method !== "constructor").map((method) => `${name} ${symbol}.${method}`);
    return [`${name} ${symbol}`, ...own];
  });

const ofMigrations = (database: string, migrations: typeof DIRECTORY_MIGRATIONS): string[] =>
  migrations.map(({ number, statements }) => {
    const hash = createHash("sha256").update(statements).digest("hex");
    return `migration ${database} ${number} ${hash}`;
  });

/** The RPC methods of a Durable Object, by the text of its class, which only runs in a Worker. */
const rpcMethods = (object: string, file: string): string[] =>
  [...readFileSync(file, "utf8").matchAll(/^ {2}(?:async )?([a-z]\w*)\(/gm)]
    .filter(([, method]) => method !== "constructor")
    .map(([, method]) => `rpc ${object} ${method}`);

/** The texts by which alerts.md finds a line of the log. */
const logTexts = (): string[] =>
  [...readFileSync("docs/operators/alerts.md", "utf8").matchAll(/^\| (`.*?`) \|/gm)].flatMap(([, cell = ""]) =>
    [...cell.matchAll(/`([^`]+)`/g)].map(([, text]) => `log ${text}`),
  );

/** All promises of the present code, sorted. */
export async function promises(): Promise<string[]> {
  const lines = [
    ...callsOf(document).flatMap(ofCall),
    ...rpcMethods("directory", "src/domain/group-directory.ts"),
    ...rpcMethods("registry", "src/domain/registry.ts"),
    ...ofMigrations("directory", DIRECTORY_MIGRATIONS),
    ...ofMigrations("registry", REGISTRY_MIGRATIONS),
    ...ofCommand(await ugCommand(), "ug"),
    ...Object.entries(EXIT).map(([outcome, code]) => `ug exits with ${code}: ${outcome}`),
    ...ofModule("client", client),
    ...ofModule("server", server),
    ...ofModule("postgres", postgres),
    ...ofModule("viewer", viewer),
    ...logTexts(),
  ];
  return [...new Set(lines)].toSorted();
}
