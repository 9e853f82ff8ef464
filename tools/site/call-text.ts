/** A call of the OpenAPI document as Markdown, of which its entry on a page and its file for programs are made. */
import {
  type Call,
  callsOf,
  type Document,
  type Parameter,
  type Response,
  refusalsOf,
  resolve,
  type Schema,
} from "./document.ts";
import type { RenderedGuide } from "./markdown.ts";
import { exampleOf, fieldsText, fieldText, typeOf } from "./schema.ts";

const GUIDES_MAX = 5;
const PLACES: Record<string, string> = { path: "Path", query: "Query", header: "Headers" };

/** A part of a call below a heading. A page folds those that few readers need. */
export type Part = { title: string; text: string; isFolded?: boolean };

/** What a call does and who may make it, then its parts, what to paste, and what comes back. */
export type CallText = { about: string; parts: Part[]; command: string; answer: string | undefined };

type Site = { document: Document; guidesOf: (call: Call) => RenderedGuide[] };

/** The text of a call, whose links end in `extension`. */
export function textOf(call: Call, { document, guidesOf }: Site, extension: "" | ".md"): CallText {
  const { operation } = call;
  const guides = guidesOf(call)
    .slice(0, GUIDES_MAX)
    .map(({ name, title }) => `[${title}](/docs/${name}${extension})`);
  const label = guides.length === 1 ? "Guide" : "Guides";
  return {
    about: paragraphs([
      operation.description,
      credentialsText(call, extension),
      guides.length > 0 && `${label}: ${guides.join(", ")}`,
    ]),
    parts: [
      ...parametersOf(call, document),
      ...bodiesOf(call, document),
      ...answersOf(call, document),
      refusalsPart(call, document, extension),
    ],
    command: operation["x-codeSamples"][0]?.source ?? "",
    answer: answerOf(call, document),
  };
}

/** The text of a call as one file. */
export function fileOf({ method, path, operation }: Call, { about, parts, command, answer }: CallText): string {
  const call = `\`${method.toUpperCase()} ${path}\`${operation["x-destructive"] ? " **destroys**" : ""}`;
  return `${paragraphs([
    `# ${operation.summary}`,
    call,
    about,
    ...parts.map(({ title, text }) => paragraphs([`## ${title}`, text])),
    paragraphs(["## Example", fence("sh", command), answer !== undefined && fence("json", answer)]),
  ])}\n`;
}

const paragraphs = (texts: (string | false)[]): string =>
  texts.filter((text) => text !== false && text !== "").join("\n\n");

const fence = (language: string, text: string): string => `\`\`\`${language}\n${text}\n\`\`\``;

/** The credentials that a call takes, and the rights that they need. */
function credentialsText({ operation }: Call, extension: string): string {
  const { "x-scope": scope, "x-role": role, "x-other-role": other } = operation;
  const names = operation.security.flatMap((scheme) => Object.keys(scheme));
  const rights: Record<string, string | undefined> = {
    api_key: scope && ` with the scope ${scope}`,
    operator_key: role && ` with the role ${role}${other ? ` or ${other}` : ""}`,
  };
  const taken = names.map((name) => `[${name}](/docs/calls${extension}#credential-${name})${rights[name] ?? ""}`);
  return taken.length === 0 ? "No credential." : `Credential: ${taken.join(" or ")}`;
}

function parametersOf({ operation }: Call, document: Document): Part[] {
  const all = operation.parameters.map((each) => resolve<Parameter>(document, each));
  return Object.entries(PLACES).flatMap(([place, title]) => {
    const items = all
      .filter((each) => each.in === place)
      .map(({ name, schema = {}, required = false, description = "", "x-for": who }) => {
        const about = `${who ? `For ${who} alone. ` : ""}${description}`;
        return fieldText({ name, type: typeOf(document, schema), isRequired: required, about });
      });
    return items.length === 0 ? [] : [{ title, text: items.join("\n") }];
  });
}

function bodiesOf({ operation }: Call, document: Document): Part[] {
  const { content = {}, required } = operation.requestBody ?? {};
  return Object.entries(content).map(([type, { schema = {} }], index) => ({
    title: `Body, \`${type}\`${required === false ? ", optional" : ""}`,
    text: fieldsText(document, schema),
    isFolded: index > 0,
  }));
}

/** The answers to calls that succeed. */
function answersOf({ operation }: Call, document: Document): Part[] {
  return Object.entries(operation.responses)
    .filter(([status]) => Number(status) < 400)
    .flatMap(([status, response]) => {
      const { description, headers = {}, content = {} } = resolve<Response>(document, response);
      const names = Object.keys(headers).filter((name) => name !== "X-Request-Id");
      const [schema] = Object.values(content).map((each): Schema => each.schema ?? {});
      const answer = {
        title: status,
        text: paragraphs([description, names.length > 0 && `Headers: \`${names.join(", ")}\``]),
      };
      const fields = schema?.$ref ? fieldsText(document, schema) : "";
      return fields === ""
        ? [answer]
        : [answer, { title: `Fields of the answer ${status}`, text: fields, isFolded: true }];
    });
}

/** The refusals of a call. Of those of most calls, the page of errors has the sentences. */
function refusalsPart(call: Call, document: Document, extension: string): Part {
  const linkTo = (code: string) => `[\`${code}\`](/docs/errors${extension}#${code})`;
  const common = commonCodes(document);
  const refusals = refusalsOf(document, call);
  const own = refusals.filter(({ code }) => !common.has(code));
  const others = refusals.filter(({ code }) => common.has(code)).map(({ status, code }) => `${status} ${linkTo(code)}`);
  const lines = own.map(({ status, code, message }) => `- ${status} ${linkTo(code)} ${message}`);
  const text = paragraphs([lines.join("\n"), others.length > 0 && `As most calls: ${others.join(", ")}`]);
  return { title: `${refusals.length} refusals`, text, isFolded: true };
}

/** The codes with which more than half of all calls can be refused. */
function commonCodes(document: Document): Set<string> {
  const calls = callsOf(document);
  const codes = calls.flatMap((call) => [...new Set(refusalsOf(document, call).map(({ code }) => code))]);
  const counts = Map.groupBy(codes, (code) => code);
  return new Set([...counts].filter(([, all]) => all.length * 2 > calls.length).map(([code]) => code));
}

/** What a call that succeeds answers, as JSON. */
function answerOf({ operation }: Call, document: Document): string | undefined {
  const [first] = Object.entries(operation.responses).filter(([status]) => Number(status) < 300);
  const content = first ? resolve<Response>(document, first[1]).content : undefined;
  const schema = content?.["application/json"]?.schema;
  return schema?.$ref ? JSON.stringify(exampleOf(document, schema), null, 2) : undefined;
}
