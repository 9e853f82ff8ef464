import type { Child, FC } from "hono/jsx";
import { directoryName, type Environment, parseDirectoryName } from "../../../../common/environment.ts";
import type { Issue } from "../../../../common/issue.ts";
import type { Operator } from "../../../domain/credentials/caller.ts";
import type { ConsoleSession } from "../../../domain/credentials/console-cookie.ts";
import type { SigningRing } from "../../../domain/credentials/credential.ts";
import {
  CONSOLE,
  DEPLOYMENT_EVENTS,
  ENVIRONMENTS,
  environmentPath,
  OPERATORS,
  SEARCH,
  SESSIONS,
  SIGN_OUT,
} from "../paths.ts";
import { Menu } from "./detail.tsx";
import { ErrorSummary, Form, SECRET } from "./form.tsx";
import { plainText, Text } from "./text.tsx";

/** The head of a page, which all templates share. */
export type PageHead = {
  /** The title, without markup. */
  title: string;
  /** What the heading shows instead of the title, if that differs. */
  heading?: Child;
  /** What stands below the heading, in small letters. */
  subline?: Child;
  /** The pages above this one, from the top. */
  crumbs?: [path: string, text: string][];
  /** What can be done here: one primary action, and others. */
  actions?: Child;
  /** What is wrong with a form that was sent. */
  issues?: Issue[];
};

/** Who is signed in, and where else they can go. */
type SignedIn = {
  operator: Operator;
  ring: SigningRing;
  session: ConsoleSession;
  /** The names of environments to switch to. */
  neighbours: string[];
};

/** What the frame of a page is made of. */
export type Frame = { signedIn: SignedIn | undefined; environment: Environment | undefined; path: string };

const TITLE_UNITS_MAX = 80;

/** The title of a window: what the page is about, and where. */
function titleOf({ title, issues = [] }: PageHead, environment: Environment | undefined): string {
  const text = plainText(title).slice(0, TITLE_UNITS_MAX).toWellFormed();
  const name = environment && directoryName(environment);
  const parts = [text, ...(name === undefined || name === text ? [] : [name]), "User groups"];
  return `${issues.length > 0 ? "Error: " : ""}${parts.join(" · ")}`;
}

/** The frame of every page. */
export const Layout: FC<PageHead & Frame & { children: Child }> = ({ signedIn, environment, path, ...page }) => (
  <html lang="en">
    <head>
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <meta name="color-scheme" content="light dark" />
      <title>{titleOf(page, environment)}</title>
      <link rel="icon" href="/favicon.svg" type="image/svg+xml" />
      <link rel="stylesheet" href="/styles/ui.css" />
    </head>
    <body>
      <header>
        <a class="skip" href="#main">
          Skip to the content
        </a>
        {signedIn ? <Bar {...signedIn} environment={environment} /> : <Brand />}
        {signedIn && environment && <EnvironmentTabs environment={environment} path={path} />}
      </header>
      <main id="main">
        <Head {...page} />
        <ErrorSummary issues={page.issues ?? []} />
        {page.children}
      </main>
    </body>
  </html>
);

const Brand: FC = () => (
  <div class="bar">
    <a class="brand" href={CONSOLE}>
      <img src="/favicon.svg" alt="" />
      User groups
    </a>
  </div>
);

const Head: FC<PageHead> = ({ title, heading = title, subline, crumbs = [], actions }) => (
  <>
    {crumbs.length > 0 && (
      <nav class="crumbs" aria-label="You are here">
        <ol>
          {crumbs.map(([path, text]) => (
            <li>
              <a href={path}>{text}</a>
            </li>
          ))}
        </ol>
      </nav>
    )}
    <div class="head">
      <div>
        <h1>{heading}</h1>
        {subline && <p class="hint">{subline}</p>}
      </div>
      {actions && <div class="row">{actions}</div>}
    </div>
  </>
);

type InEnvironment = { environment: Environment | undefined };

/** The line on top of each page: the brand, the environment, the search, and the operator's menu. */
const Bar: FC<SignedIn & InEnvironment> = ({ operator, ring, session, neighbours, environment }) => (
  <div class="bar">
    <a class="brand" href={ENVIRONMENTS} aria-label="User groups: all environments">
      <img src="/favicon.svg" alt="" />
      <span>User groups</span>
    </a>
    <Switcher names={neighbours} environment={environment} />
    <SearchForm ring={ring} session={session} environment={environment} />
    <Menu
      class="who"
      label={`${operator.name}, your menu`}
      text={
        <span>
          <Text value={operator.name} />
        </span>
      }
    >
      <p>
        <small>Signed in as</small> <Text value={operator.name} /> <small>{operator.role}</small>
      </p>
      <ul>
        <li>
          <a href={ENVIRONMENTS}>Environments</a>
        </li>
        <li>
          <a href={OPERATORS}>Operators</a>
        </li>
        <li>
          <a href={DEPLOYMENT_EVENTS}>Events of the deployment</a>
        </li>
        <li>
          <a href={SESSIONS}>Your sessions</a>
        </li>
        <li>
          <a href="/docs">Documentation</a>
        </li>
      </ul>
      <Form ring={ring} session={session} action={SIGN_OUT}>
        <button type="submit" class="link">
          Sign out
        </button>
      </Form>
    </Menu>
  </div>
);

const Switcher: FC<InEnvironment & { names: string[] }> = ({ names, environment }) => {
  const own = environment && directoryName(environment);
  return (
    <Menu label={`${own ?? "Environments"}: switch to another one`} text={own ?? "Environments"}>
      <ul>
        {names.map((name) => (
          <li>
            <a href={environmentPath(parseDirectoryName(name))} {...(name === own && { "aria-current": "true" })}>
              {name}
            </a>
          </li>
        ))}
        <li>
          <a href={ENVIRONMENTS}>All environments</a>
        </li>
      </ul>
    </Menu>
  );
};

/** One search for everything. People paste credentials into it, so it is sent as a form, and its text is in no address. */
const SearchForm: FC<Pick<SignedIn, "ring" | "session"> & InEnvironment> = ({ ring, session, environment }) => (
  <Form ring={ring} session={session} action={SEARCH} role="search">
    {environment && <input type="hidden" name="environment" value={directoryName(environment)} />}
    <input
      {...SECRET}
      type="search"
      name="text"
      required
      aria-label="Find a group by a word of its name, its id or its number, or a key, token or session by its text"
      placeholder="Name, id, number or key"
    />
  </Form>
);

/** The pages of an environment. */
const EnvironmentTabs: FC<{ environment: Environment; path: string }> = ({ environment, path }) => {
  const base = environmentPath(environment);
  const tabs: [path: string, text: string][] = [
    [base, "Overview"],
    [`${base}/groups`, "Groups"],
    [`${base}/keys`, "API keys"],
    [`${base}/events`, "Events"],
  ];
  return (
    <nav class="tabs" aria-label="Environment">
      <ul>
        {tabs.map(([href, text]) => (
          <li>
            <a href={href} {...currentOf(href, path, base)}>
              {text}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
};

/** Marks a link to this page, or to the list of which this page shows one item. */
function currentOf(href: string, path: string, base: string): { "aria-current"?: "page" | "true" } {
  if (path === href) return { "aria-current": "page" };
  return href !== base && path.startsWith(`${href}/`) ? { "aria-current": "true" } : {};
}
