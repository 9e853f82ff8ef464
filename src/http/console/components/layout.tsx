import type { Child, FC } from "hono/jsx";
import { directoryName, type Environment, parseDirectoryName, tagWord } from "../../../../common/environment.ts";
import type { Issue } from "../../../../common/issue.ts";
import type { Operator } from "../../../domain/credentials/caller.ts";
import type { ConsoleCall } from "../console-env.ts";
import {
  ATTENTION,
  CONSOLE,
  ENVIRONMENTS,
  EVENTS,
  environmentPath,
  eventsPath,
  OPERATORS,
  SEARCH,
  SESSIONS,
  SIGN_OUT,
} from "../paths.ts";
import { CREDENTIAL } from "./content.ts";
import { EnvironmentName, Links, type ListedLink, Menu, Tag } from "./detail.tsx";
import { ErrorSummary, Form, idOf, SECRET } from "./form.tsx";
import { beginningOf, plainText, Text } from "./text.tsx";

/** The pages above a page, from the top. */
export type Crumbs = [path: string, text: string][];

/** The head of a page, which all templates share. */
export type PageHead = {
  title: string;
  /** What the heading shows instead of the title, if that differs. */
  heading?: Child;
  /** What stands below the heading, in small letters. */
  subline?: Child;
  crumbs?: Crumbs;
  /** What can be done here: one primary action, and others. */
  actions?: Child;
  issues?: Issue[];
};

/** Who is signed in, and where else they can go. */
type SignedIn = {
  c: ConsoleCall;
  operator: Operator;
  neighbours: string[];
};

/** What the frame of a page is made of. `search` is the text that the search has looked for. */
export type Frame = {
  signedIn: SignedIn | undefined;
  environment: Environment | undefined;
  path: string;
  search: string;
};

const TITLE_UNITS_MAX = 80;

/** The title of a window: what the page is about, and where. */
function titleOf({ title, issues = [] }: PageHead, environment: Environment | undefined): string {
  const text = beginningOf(plainText(title), TITLE_UNITS_MAX);
  const name = environment && directoryName(environment);
  const parts = [text, ...(name === undefined || name === text ? [] : [name]), "User groups"];
  return `${issues.length > 0 ? "Error: " : ""}${parts.join(" · ")}`;
}

export const Layout: FC<PageHead & Frame & { children: Child }> = ({
  signedIn,
  environment,
  path,
  search,
  ...page
}) => (
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
      <header data-tag={signedIn && environment && tagWord(environment.tag)}>
        <a class="skip" href="#main">
          Skip to the content
        </a>
        <div class="bar">
          <a class="brand" href={CONSOLE} aria-label="User groups: all environments">
            <img src="/favicon.svg" alt="" />
            <span>User groups</span>
          </a>
          {signedIn && <Bar {...signedIn} environment={environment} search={search} />}
        </div>
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

const Head: FC<PageHead> = ({ title, heading = title, subline, crumbs = [], actions }) => (
  <>
    {crumbs.length > 0 && (
      <nav class="crumbs" aria-label="You are here">
        <Links links={crumbs.map(([path, text]) => ({ path, text }))} />
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
const Bar: FC<SignedIn & InEnvironment & { search: string }> = ({ c, operator, neighbours, environment, search }) => (
  <>
    <Switcher names={neighbours} environment={environment} />
    <SearchForm c={c} search={search} environment={environment} />
    <Menu class="who" label={`${operator.name}, your menu`} text={<Text value={operator.name} />}>
      <p>
        <small>Signed in as</small> <Text value={operator.name} /> <small>{operator.role}</small>
      </p>
      <Links links={PAGES} />
      <Form c={c} action={SIGN_OUT}>
        <button type="submit" class="link">
          Sign out
        </button>
      </Form>
    </Menu>
  </>
);

const PAGES = [
  { path: ENVIRONMENTS, text: "Environments" },
  { path: ATTENTION, text: "Needs attention" },
  { path: OPERATORS, text: "Operators" },
  { path: EVENTS, text: "Events of all environments" },
  { path: SESSIONS, text: "Your sessions" },
  { path: "/docs", text: "Documentation" },
];

/** The environment of the page, and others. The workspace is cut where it is too long, and the tag never. */
const Switcher: FC<InEnvironment & { names: string[] }> = ({ names, environment }) => {
  const own = environment && directoryName(environment);
  const links = names.map((name): ListedLink => {
    const of = parseDirectoryName(name);
    const text = [`${of.workspace}/`, <Tag of={of} />];
    return { path: environmentPath(of), text, current: name === own && "true" };
  });
  return (
    <Menu
      label={`${own ?? "Environments"}: switch to another one`}
      text={environment ? <EnvironmentName of={environment} /> : "Environments"}
    >
      <Links links={[...links, { path: ENVIRONMENTS, text: "All environments" }]} />
    </Menu>
  );
};

/**
 * One search for everything. People paste credentials into it, so it is sent as a form. What it has looked for stays in it; a credential
 * does not.
 */
const SearchForm: FC<Pick<SignedIn, "c"> & InEnvironment & { search: string }> = ({ c, search, environment }) => (
  <Form c={c} action={SEARCH} role="search">
    {environment && <input type="hidden" name="environment" value={directoryName(environment)} />}
    <input
      {...SECRET}
      type="search"
      name="text"
      id={idOf("text")}
      value={CREDENTIAL.test(search) ? "" : search}
      required
      aria-label="Find a group by a word of its name, its id or its number, or a key, token or session by its text"
      placeholder="Name, id, number or key"
    />
  </Form>
);

const EnvironmentTabs: FC<{ environment: Environment; path: string }> = ({ environment, path }) => {
  const base = environmentPath(environment);
  const links = [
    { path: base, text: "Overview", current: path === base && ("page" as const) },
    { path: `${base}/groups`, text: "Groups", current: currentOf(`${base}/groups`, path) },
    { path: `${base}/keys`, text: "API keys", current: currentOf(`${base}/keys`, path) },
    { path: eventsPath(environment), text: "Events", current: currentOf(EVENTS, path) },
  ];
  return (
    <nav class="tabs" aria-label="Environment">
      <Links links={links} />
    </nav>
  );
};

const currentOf = (list: string, path: string): ListedLink["current"] =>
  path === list ? "page" : path.startsWith(`${list}/`) && "true";
