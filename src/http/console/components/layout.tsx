import type { Child, FC } from "hono/jsx";
import { directoryName, type Environment } from "../../../../common/environment.ts";
import type { Issue } from "../../../../common/issue.ts";
import type { Operator } from "../../../domain/credentials/caller.ts";
import type { ConsoleSession } from "../../../domain/credentials/console-cookie.ts";
import type { SigningRing } from "../../../domain/credentials/credential.ts";
import { CONSOLE } from "../paths.ts";
import { Bar, EnvironmentTabs } from "./bar.tsx";
import { ErrorSummary } from "./form.tsx";
import { plainText } from "./text.tsx";

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
export type SignedIn = {
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
