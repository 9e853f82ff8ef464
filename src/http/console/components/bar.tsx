import type { FC } from "hono/jsx";
import { directoryName, type Environment, parseDirectoryName } from "../../../../common/environment.ts";
import { DEPLOYMENT_EVENTS, ENVIRONMENTS, environmentPath, OPERATORS, SEARCH, SESSIONS, SIGN_OUT } from "../paths.ts";
import { Menu } from "./detail.tsx";
import { SECRET } from "./fields.tsx";
import { Form } from "./form.tsx";
import type { SignedIn } from "./layout.tsx";
import { Text } from "./text.tsx";

type InEnvironment = { environment: Environment | undefined };

/** The line on top of each page: the brand, the environment, the search, and the operator's menu. */
export const Bar: FC<SignedIn & InEnvironment> = ({ operator, ring, session, neighbours, environment }) => (
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
export const EnvironmentTabs: FC<{ environment: Environment; path: string }> = ({ environment, path }) => {
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
