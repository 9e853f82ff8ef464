/** The pages of the calls: one for each subject, and the list of all. */
import { raw } from "hono/html";
import type { FC } from "hono/jsx";
import type { CallText, Part } from "./call-text.ts";
import { type Call, callsOf, type Document, pathOfCall, subjectPath } from "./document.ts";
import { Layout, type Site } from "./layout.tsx";
import type { Markdown } from "./markdown.ts";

/** What each method is called where there is little room. */
const SHORT: Record<string, string> = { delete: "del" };

type Reference = Site & { document: Document; markdown: Markdown };

const Method: FC<{ method: string }> = ({ method }) => (
  <span class="method" data-method={method}>
    {(SHORT[method] ?? method).toUpperCase()}
  </span>
);

const CallList: FC<{ document: Document; areAnchors?: boolean }> = ({ document, areAnchors = false }) => (
  <>
    {document.tags.map(({ name }) => (
      <>
        <h2>
          <a href={subjectPath(name)}>{name}</a>
        </h2>
        <ul>
          {callsOf(document, name).map((call) => (
            <li {...(areAnchors && { id: call.operation.operationId })}>
              <a href={pathOfCall(call)}>
                <Method method={call.method} /> {call.operation.summary}
              </a>
              {areAnchors && (
                <>
                  {" "}
                  <code>{call.path}</code>
                </>
              )}
            </li>
          ))}
        </ul>
      </>
    ))}
  </>
);

/** The list of all calls, on which links to a call in 1.1's page of all calls find it, and what holds for every call. */
export const CallsPage: FC<Reference> = ({ document, markdown, ...site }) => {
  const [first = "", ...rules] = document.info.description.split("\n\n");
  return (
    <Layout {...site} title="Calls" path="/docs/calls" hasMarkdown above={<CallList document={document} />}>
      <h1>Calls</h1>
      <p class="above">
        {first} <a href="#rules">Rules of every call</a> · <a href="#credentials">Credentials</a> ·{" "}
        <a href="/docs/calls.md">Markdown</a> · <a href="/openapi.json">OpenAPI</a>
      </p>
      <div class="index">
        <CallList document={document} areAnchors />
      </div>
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

/** The list of all calls for programs. */
export function callsText(document: Document): string {
  const subjects = document.tags.map(({ name }) =>
    [
      `## [${name}](${subjectPath(name)}.md)`,
      callsOf(document, name)
        .map(({ method, path, operation: { operationId, summary } }) => {
          return `- [${summary}](/docs/calls/${operationId}.md): \`${method.toUpperCase()} ${path}\``;
        })
        .join("\n"),
    ].join("\n\n"),
  );
  const credentials = Object.entries(document.components.securitySchemes).map(
    ([name, { description }]) => `- \`${name}\`: ${description.replaceAll(/\s+/g, " ")}`,
  );
  const { description } = document.info;
  return `${["# Calls", description, ...subjects, "## Credentials", credentials.join("\n")].join("\n\n")}\n`;
}

type SubjectProps = Reference & { subject: Document["tags"][number]; textOf: (call: Call) => CallText };

/** The calls of one subject. */
export const SubjectPage: FC<SubjectProps> = ({ document, markdown, subject, textOf, ...site }) => {
  const path = subjectPath(subject.name);
  return (
    <Layout {...site} title={subject.name} path={path} hasMarkdown above={<CallList document={document} />}>
      <p class="above">
        <a href="/docs/calls">Calls</a> · <a href={`${path}.md`}>Markdown</a>
      </p>
      <h1>{subject.name}</h1>
      <div class="above">{raw(markdown.description(subject.description))}</div>
      {callsOf(document, subject.name).map((call) => (
        <CallEntry call={call} text={textOf(call)} markdown={markdown} />
      ))}
    </Layout>
  );
};

/** One call: what it does and takes on the left, what to paste and what comes back on the right. */
const CallEntry: FC<{ call: Call; text: CallText; markdown: Markdown }> = ({ call, text, markdown }) => {
  const { method, path, operation } = call;
  return (
    <article id={operation.operationId}>
      <div>
        <h2>
          {operation.summary}{" "}
          <a class="anchor" href={`#${operation.operationId}`} aria-label={`Link to ${operation.summary}`}>
            #
          </a>
        </h2>
        <p>
          <Method method={method} /> <code>{path}</code>{" "}
          {operation["x-destructive"] && <strong class="destroys">destroys</strong>}
        </p>
        {raw(markdown.description(text.about))}
        {text.parts.map((part) => (
          <PartEntry part={part} markdown={markdown} />
        ))}
      </div>
      <aside aria-label={`Example: ${operation.summary}`}>
        <pre>
          <code>{text.command}</code>
        </pre>
        {text.answer !== undefined && (
          <pre>
            <code>{text.answer}</code>
          </pre>
        )}
      </aside>
    </article>
  );
};

const PartEntry: FC<{ part: Part; markdown: Markdown }> = ({ part: { title, text, isFolded }, markdown }) => {
  const [heading, content] = [raw(markdown.inline(title)), raw(markdown.description(text))];
  return isFolded ? (
    <details>
      <summary>{heading}</summary>
      {content}
    </details>
  ) : (
    <>
      <h3>{heading}</h3>
      {content}
    </>
  );
};
