import type { Child } from "hono/jsx";
import type { Failure } from "../../../domain/failure.ts";
import type { RequestContext } from "../../app-env.ts";
import { ifAnswered } from "../../durable-objects.ts";
import { registryFor } from "../../request/admit-caller.ts";
import { FAILURES } from "../../response/failures.ts";
import { typedTexts } from "../components/content.ts";
import { ButtonLink } from "../components/detail.tsx";
import { type Frame, Layout, type PageHead } from "../components/layout.tsx";
import type { ConsoleCall } from "../console-env.ts";
import {
  ENVIRONMENTS,
  environmentPath,
  eventsPath,
  OPERATORS,
  SEARCH,
  SIGN_IN,
  SIGN_OUT,
  withQuery,
} from "../paths.ts";

/**
 * The headers of each answer of the console. Pages load nothing from other origins, and have no inline styles and scripts. With
 * `no-referrer` a browser may send `Origin: null` with a form, so this origin gets the referrer.
 */
const PROTECTION = {
  "Content-Security-Policy":
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
  "Referrer-Policy": "same-origin",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "X-Content-Type-Options": "nosniff",
};

/** Leads a browser to another page of the console, which it gets with GET (RFC 9110, section 15.4.4). */
export const redirect = (c: RequestContext, location: string, headers: Record<string, string> = {}): Response =>
  new Response(null, { status: 303, headers: { ...c.get("headers"), ...PROTECTION, ...headers, Location: location } });

/**
 * Redirects an operator without a valid session to the sign-in page, from which they return to this one, unless it is the path of a form
 * that has no page.
 */
export function toSignIn(c: ConsoleCall): Response {
  const { pathname, search } = new URL(c.req.url);
  return redirect(c, withQuery(SIGN_IN, { next: PAGELESS.includes(pathname) ? undefined : pathname + search }));
}

const PAGELESS = [SEARCH, SIGN_OUT];

/** A page to answer with: its head and its content. Without a `status`, a page with issues is 422, and others are 200. */
export type Page = PageHead & { children: Child; status?: number };

const NO_FRAME = { signedIn: undefined, environment: undefined, path: "", search: "" };

export async function respondWithPage(c: ConsoleCall, { status, ...page }: Page): Promise<Response> {
  // The registry is asked for nothing more when the service fails, and not only one environment.
  const isAnswering = (status ?? 200) < 500 || c.get("failureCode") === "environment_damaged";
  const frame = isAnswering ? await frameOf(c) : NO_FRAME;
  const layout = <Layout {...page} {...frame} />;
  const html = `<!doctype html>${await layout.toString()}`;
  const isRefused = (page.issues ?? []).length > 0;
  return new Response(html, {
    status: status ?? (isRefused ? 422 : 200),
    headers: { ...c.get("headers"), ...PROTECTION, "Content-Type": "text/html; charset=UTF-8" },
  });
}

export const respondWithMessage = (c: ConsoleCall, status: number, title: string, message: string) =>
  respondWithPage(c, { status, title, children: <p>{message}</p> });

type Way = [path: string, text: string];

const withWays = (message: string, ways: Way[]): Child => [
  <p>{message}</p>,
  <p class="row">{ways.map(([path, text]) => [<ButtonLink path={path} text={text} />, " "])}</p>,
];

/** Leads to the page on which to sign in. What somebody has typed into a form is shown once, because it is stored nowhere. */
async function refuseSession(c: ConsoleCall): Promise<Response> {
  const typed = typedTexts(c.get("form") ?? new URLSearchParams());
  if (typed.length === 0) return toSignIn(c);
  return respondWithPage(c, {
    status: 401,
    title: "Your session has ended",
    children: (
      <>
        <p>
          Nothing was changed. Here is what you have typed, to copy: it is shown this once. Then{" "}
          <a href={withQuery(SIGN_IN, { next: c.req.path })}>sign in again</a>.
        </p>
        {typed.map(([label, text]) => (
          <>
            <h2>{label}</h2>
            <pre tabindex={0}>
              <code>{text}</code>
            </pre>
          </>
        ))}
      </>
    ),
  });
}

const NOT_FOUND: Partial<Record<Failure["code"], [title: string, message: string]>> = {
  route_not_found: ["There is no such page", "Check the address. What it shows may have been deleted or erased."],
  environment_not_found: ["There is no such environment", "Check its name. It may have been erased."],
  user_group_not_found: [
    "There is no such group",
    "No group of this environment has this number. It may have been purged: its events say so, as long as they are kept.",
  ],
};

function waysFrom(c: ConsoleCall, { code }: Failure): Way[] {
  const environment = c.get("environment");
  if (!c.get("session")) return [[SIGN_IN, "Sign in"]];
  if (code !== "user_group_not_found" || !environment) return [[ENVIRONMENTS, "All environments"]];
  const groups: Way = [`${environmentPath(environment)}/groups`, "All groups"];
  // A purged group has no page, and still has events.
  const [, teamId] = /\/groups\/(\d+)$/.exec(c.req.path) ?? [];
  return teamId ? [groups, [eventsPath(environment, { team_id: teamId }), "Events of this number"]] : [groups];
}

/** Refuses a request with a page. An operator whose session has ended is led to the page on which to sign in. */
export function refuseWithPage(c: ConsoleCall, failure: Failure): Promise<Response> {
  const { status, message } = FAILURES[failure.code];
  c.set("failureCode", failure.code);
  if (status === 401) return refuseSession(c);
  if (failure.code === "insufficient_access") {
    const needed = `This needs the role ${failure.required_role ?? "admin"}. Ask an operator who has it.`;
    const children = withWays(needed, [[OPERATORS, "See who has it"]]);
    return respondWithPage(c, { status, title: "Your role does not allow this", children });
  }
  const [title, text] = NOT_FOUND[failure.code] ?? ["That did not work", message];
  return respondWithPage(c, { status, title, children: withWays(text, waysFrom(c, failure)) });
}

/**
 * The frame of the page that answers a request. Refusals of signed-in operators have it too, so that they can go on from there. Without
 * a valid session, nobody is signed in. While the registry does not answer, the frame has no environments to switch to.
 */
async function frameOf(c: ConsoleCall): Promise<Frame> {
  const { path } = c.req;
  const nobody: Frame = { ...NO_FRAME, path };
  const [session, presented] = [c.get("session"), c.get("presentedOperator")];
  if (!session || !presented) return nobody;
  const environment = c.get("environment");
  const found = await ifAnswered(async () => registryFor(c).neighbours(presented, environment));
  const near = found?.ok ? found.value : undefined;
  const operator = c.get("operator");
  if (!operator || found?.ok === false) return nobody;
  return {
    signedIn: { c, operator, neighbours: near?.names ?? [] },
    environment: near && !near.exists ? undefined : environment,
    path,
    search: c.req.query("search") ?? "",
  };
}
