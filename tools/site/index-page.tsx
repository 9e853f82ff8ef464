/** The page of all headings and codes, in which the browser's search finds what somebody looks for. */
import type { FC } from "hono/jsx";
import { type Call, callsOf, type Document, refusalsOf } from "./document.ts";
import { GuideList, Layout, type Site } from "./layout.tsx";

/** A code that more calls may answer is named without them. */
const CALLS_MAX = 8;

export const IndexPage: FC<Site & { document: Document }> = ({ version, guides, document }) => {
  const calls = callsOf(document);
  const codes = Map.groupBy(
    calls.flatMap((call) => refusalsOf(document, call).map(({ code, status }) => ({ code, status, call }))),
    ({ code }) => code,
  );
  return (
    <Layout title="Index" path="/docs/index" version={version} side={<GuideList guides={guides} current="index" />}>
      <h1>Index</h1>
      <p class="above">
        Every heading, call and error code, for the search of your browser. <a href="#contents">All pages</a>
      </p>
      <div class="index">
        <h2 id="errors">Errors</h2>
        <ul>
          {[...codes].toSorted().map(([code, answers]) => (
            <li>
              <a href={`/docs/errors#${code}`}>
                <code>{code}</code>
              </a>{" "}
              <small>{answers[0]?.status}</small>
              {answers.length <= CALLS_MAX && answers.map(({ call }) => <CallLink call={call} />)}
            </li>
          ))}
        </ul>
        <h2 id="calls">Calls</h2>
        <ul>
          {calls.map(({ method, path, operation }) => (
            <li>
              <a href={`/docs/calls#${operation.operationId}`}>{operation.summary}</a>{" "}
              <small>
                {method.toUpperCase()} {path}
              </small>
            </li>
          ))}
        </ul>
        {guides.map(({ name, title, headings }) => (
          <>
            <h2>
              <a href={`/docs/${name}`}>{title}</a>
            </h2>
            <ul>
              {headings
                .filter(({ level }) => level > 1)
                .map(({ id, text }) => (
                  <li>
                    <a href={`/docs/${name}#${id}`}>{text}</a>
                  </li>
                ))}
            </ul>
          </>
        ))}
      </div>
    </Layout>
  );
};

const CallLink: FC<{ call: Call }> = ({ call: { operation } }) => (
  <>
    {" · "}
    <a href={`/docs/calls#${operation.operationId}`}>{operation.summary}</a>
  </>
);
