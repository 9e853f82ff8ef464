/** The page of all calls, from the OpenAPI document. */
import { raw } from "hono/html";
import type { FC } from "hono/jsx";
import { type Call, callsOf, type Document, type Parameter, type Response, refusalsOf, resolve } from "./document.ts";
import { Layout, type Site } from "./layout.tsx";
import type { Markdown, RenderedGuide } from "./markdown.ts";
import { exampleOf, Field, Fields, typeOf } from "./schema.tsx";

const GUIDES_MAX = 5;
/** What each method is called where there is little room. */
const SHORT: Record<string, string> = { delete: "del" };

type Reference = Site & { document: Document; markdown: Markdown; guidesOf: (call: Call) => RenderedGuide[] };

const Method: FC<{ method: string }> = ({ method }) => (
  <span class="method" data-method={method}>
    {(SHORT[method] ?? method).toUpperCase()}
  </span>
);

/** The page. */
export const ReferencePage: FC<Reference> = (reference) => {
  const { document, markdown, version } = reference;
  const calls = callsOf(document);
  const [first = "", ...rules] = document.info.description.split("\n\n");
  return (
    <Layout
      title="All calls"
      path="/docs/calls"
      version={version}
      side={<CallList document={document} calls={calls} />}
    >
      <h1>All calls</h1>
      <p class="above">
        {first} <a href="#contents">Contents</a> · <a href="#rules">Rules of every call</a> ·{" "}
        <a href="#credentials">Credentials</a> · <a href="/openapi.json">OpenAPI</a>
      </p>
      {document.tags.map(({ name, description }) => (
        <section>
          <h2 id={tagId(name)}>{name}</h2>
          <div class="above">{raw(markdown.description(description))}</div>
          {calls
            .filter(({ operation }) => operation.tags.includes(name))
            .map((call) => (
              <CallEntry call={call} reference={reference} />
            ))}
        </section>
      ))}
      <section class="guide">
        <h2 id="rules">Rules of every call</h2>
        {raw(markdown.description(rules.join("\n\n")))}
        <h2 id="credentials">Credentials</h2>
        <dl>
          {Object.entries(document.components.securitySchemes).map(([name, scheme]) => (
            <div id={`credential-${name}`}>
              <dt>
                <code>{name}</code>
              </dt>
              <dd>{raw(markdown.description(scheme.description))}</dd>
            </div>
          ))}
        </dl>
      </section>
    </Layout>
  );
};

const tagId = (name: string): string => `tag-${name.toLowerCase().replaceAll(" ", "-")}`;

const CallList: FC<{ document: Document; calls: Call[] }> = ({ document, calls }) => (
  <>
    {document.tags.map(({ name }) => (
      <>
        <h2>
          <a href={`#${tagId(name)}`}>{name}</a>
        </h2>
        <ul>
          {calls
            .filter(({ operation }) => operation.tags.includes(name))
            .map(({ method, operation }) => (
              <li>
                <a href={`#${operation.operationId}`}>
                  <Method method={method} /> {operation.summary}
                </a>
              </li>
            ))}
        </ul>
      </>
    ))}
  </>
);

/** One call: what it does and takes on the left, what to paste and what comes back on the right. */
const CallEntry: FC<{ call: Call; reference: Reference }> = ({ call, reference }) => {
  const { method, path, operation } = call;
  const { document, markdown, guidesOf } = reference;
  const guides = guidesOf(call).slice(0, GUIDES_MAX);
  return (
    <article id={operation.operationId}>
      <div>
        <h3>
          {operation.summary}{" "}
          <a class="anchor" href={`#${operation.operationId}`} aria-label={`Link to ${operation.summary}`}>
            #
          </a>
        </h3>
        <p>
          <Method method={method} /> <code>{path}</code>{" "}
          {operation["x-destructive"] && <strong class="destroys">destroys</strong>}
        </p>
        {raw(markdown.description(operation.description))}
        <Admitted call={call} />
        {guides.length > 0 && (
          <p class="above">
            {guides.length === 1 ? "Guide: " : "Guides: "}
            {guides.map(({ name, title }, index) => (
              <>
                {index > 0 && ", "}
                <a href={`/docs/${name}`}>{title}</a>
              </>
            ))}
          </p>
        )}
        <Parameters call={call} document={document} markdown={markdown} />
        <Body call={call} document={document} markdown={markdown} />
        <Answers call={call} document={document} markdown={markdown} />
      </div>
      <aside aria-label={`Example: ${operation.summary}`}>
        <pre>
          <code>{operation["x-codeSamples"][0]?.source}</code>
        </pre>
        <AnswerExample call={call} document={document} />
      </aside>
    </article>
  );
};

/** The credentials that a call takes, and the rights that they need. */
const Admitted: FC<{ call: Call }> = ({ call: { operation } }) => {
  const names = operation.security.flatMap((scheme) => Object.keys(scheme));
  const scope = operation["x-scope"];
  const role = operation["x-role"];
  const other = operation["x-other-role"];
  return (
    <p class="above">
      {names.length === 0 && "No credential."}
      {names.map((name, index) => (
        <>
          {index === 0 ? "Credential: " : " or "}
          <a href={`#credential-${name}`}>{name}</a>
          {name === "api_key" && scope && ` with the scope ${scope}`}
          {name === "operator_key" && role && ` with the role ${role}${other ? ` or ${other}` : ""}`}
        </>
      ))}
    </p>
  );
};

type Part = { call: Call; document: Document; markdown: Markdown };

const PLACES: Record<string, string> = { path: "Path", query: "Query", header: "Headers" };

const Parameters: FC<Part> = ({ call: { operation }, document, markdown }) => {
  const all = operation.parameters.map((each) => resolve<Parameter>(document, each));
  return (
    <>
      {Object.entries(PLACES).map(([place, title]) => {
        const parameters = all.filter((each) => each.in === place);
        if (parameters.length === 0) return null;
        return (
          <>
            <h4>{title}</h4>
            <dl class="fields">
              {parameters.map(({ name, schema = {}, required = false, description = "", "x-for": who }) => (
                <Field name={name} type={typeOf(document, schema)} isRequired={required}>
                  {raw(markdown.description(`${who ? `For ${who} alone. ` : ""}${description}`))}
                </Field>
              ))}
            </dl>
          </>
        );
      })}
    </>
  );
};

const Body: FC<Part> = ({ call: { operation }, document, markdown }) => {
  const contents = Object.entries(operation.requestBody?.content ?? {});
  return (
    <>
      {contents.map(([type, { schema = {} }], index) => (
        <>
          <h4>
            Body, <code>{type}</code>
            {operation.requestBody?.required === false && ", optional"}
          </h4>
          {index === 0 ? (
            <Fields document={document} markdown={markdown} schema={schema} />
          ) : (
            <details>
              <summary>Its fields</summary>
              <Fields document={document} markdown={markdown} schema={schema} />
            </details>
          )}
        </>
      ))}
    </>
  );
};

/** The answers to calls that succeed, and the refusals. */
const Answers: FC<Part> = ({ call, document, markdown }) => {
  const answers = Object.entries(call.operation.responses).filter(([status]) => Number(status) < 400);
  const refusals = refusalsOf(document, call);
  return (
    <>
      {answers.map(([status, response]) => {
        const { description, headers = {}, content = {} } = resolve<Response>(document, response);
        const [schema] = Object.values(content).map((each) => each.schema ?? {});
        const names = Object.keys(headers).filter((name) => name !== "X-Request-Id");
        return (
          <>
            <h4>{status}</h4>
            {raw(markdown.description(description))}
            {names.length > 0 && (
              <p class="above">
                Headers: <code>{names.join(", ")}</code>
              </p>
            )}
            {schema?.$ref && (
              <details>
                <summary>Fields of the answer</summary>
                <Fields document={document} markdown={markdown} schema={schema} />
              </details>
            )}
          </>
        );
      })}
      <details>
        <summary>{refusals.length} refusals</summary>
        <ul class="refusals">
          {refusals.map(({ status, code, message }) => (
            <li>
              {status}{" "}
              <a href={`/docs/errors#${code}`}>
                <code>{code}</code>
              </a>{" "}
              {message}
            </li>
          ))}
        </ul>
      </details>
    </>
  );
};

/** What a call that succeeds answers, as JSON. */
const AnswerExample: FC<{ call: Call; document: Document }> = ({ call, document }) => {
  const [first] = Object.entries(call.operation.responses).filter(([status]) => Number(status) < 300);
  const content = first ? resolve<Response>(document, first[1]).content : undefined;
  const schema = content?.["application/json"]?.schema;
  if (!schema?.$ref) return null;
  return (
    <pre>
      <code>{JSON.stringify(exampleOf(document, schema), null, 2)}</code>
    </pre>
  );
};
