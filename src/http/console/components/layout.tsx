import type { Child, FC } from "hono/jsx";
import { directoryName, type Environment } from "../../../../common/environment.ts";
import type { Issue } from "../../../../common/issue.ts";
import type { Operator } from "../../../domain/credentials/caller.ts";
import type { ConsoleSession } from "../../../domain/credentials/console-cookie.ts";
import type { SigningRing } from "../../../domain/credentials/credential.ts";
import { DEPLOYMENT_EVENTS, ENVIRONMENTS, environmentPath, OPERATORS, SESSIONS, SIGN_OUT } from "../paths.ts";
import { ErrorSummary, Form } from "./form.tsx";

/** The title of a page, without markup; what its heading shows instead, if that differs; and what is wrong with a form that was sent. */
export type PageHead = { title: string; heading?: Child; issues?: Issue[] };

/** What the frame of a page is made of. Nobody is signed in without an `operator`. */
export type Frame = {
  operator: Operator | undefined;
  environment: Environment | undefined;
  path: string;
  ring: SigningRing;
  session: ConsoleSession | undefined;
};

/** The frame of every page. */
export const Layout: FC<PageHead & Frame & { children: Child }> = ({
  title,
  heading = title,
  issues = [],
  children,
  ...frame
}) => (
  <html lang="en">
    <head>
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <meta name="color-scheme" content="light dark" />
      <title>{`${issues.length > 0 ? "Error: " : ""}${title} · User groups`}</title>
      <link rel="icon" href="/favicon.svg" type="image/svg+xml" />
      <link rel="stylesheet" href="/styles/ui.css" />
    </head>
    <body>
      <header>
        <a class="skip" href="#main">
          Skip to the content
        </a>
        <Bar {...frame} />
        {frame.environment && <EnvironmentNav environment={frame.environment} path={frame.path} />}
      </header>
      <main id="main">
        <h1>{heading}</h1>
        <ErrorSummary issues={issues} />
        {children}
      </main>
    </body>
  </html>
);

const Bar: FC<Frame> = ({ operator, path, ring, session }) => (
  <div class="bar">
    <strong>User groups</strong>
    {operator && session && (
      <>
        <Nav
          label="Deployment"
          path={path}
          links={[
            [ENVIRONMENTS, "Environments"],
            [OPERATORS, "Operators"],
            [DEPLOYMENT_EVENTS, "Events"],
            [SESSIONS, "Your sessions"],
          ]}
        />
        <Form ring={ring} session={session} action={SIGN_OUT}>
          <small>
            {operator.name} ({operator.role})
          </small>{" "}
          <button type="submit">Sign out</button>
        </Form>
      </>
    )}
  </div>
);

const EnvironmentNav: FC<{ environment: Environment; path: string }> = ({ environment, path }) => {
  const base = environmentPath(environment);
  return (
    <div class="bar">
      <strong>{directoryName(environment)}</strong>
      <Nav
        label="Environment"
        path={path}
        links={[
          [base, "Overview"],
          [`${base}/groups`, "Groups"],
          [`${base}/keys`, "API keys"],
          [`${base}/events`, "Events"],
        ]}
      />
    </div>
  );
};

/** Marks a link to this page, or to the list of which this page shows one item. An overview lists no pages. */
function currentOf(href: string, path: string): { "aria-current"?: "page" | "true" } {
  if (path === href) return { "aria-current": "page" };
  const isList = /\/(?:groups|keys|events|operators)$/.test(href);
  return isList && path.startsWith(`${href}/`) ? { "aria-current": "true" } : {};
}

const Nav: FC<{ label: string; path: string; links: [path: string, text: string][] }> = ({ label, path, links }) => (
  <nav aria-label={label}>
    <ul>
      {links.map(([href, text]) => (
        <li>
          <a href={href} {...currentOf(href, path)}>
            {text}
          </a>
        </li>
      ))}
    </ul>
  </nav>
);
