import type { Issue } from "../../../../../common/issue.ts";
import type { RequestContext } from "../../../app-env.ts";
import { OperatorKeyField } from "../../components/inputs.tsx";
import type { SignedInEnv } from "../../console-env.ts";
import { CONSOLE, SIGN_IN, withQuery } from "../../paths.ts";
import { respondWithPage } from "../../response/respond-with-page.tsx";
import { Company, companyOf } from "./company.tsx";

/** A path of the console, after a URL parser has resolved its dots. No page has a percent sign or two slashes in its path. */
const PAGE_PATH = /^\/console(?:\/[\w-]+)*\/?$/;

/** The page to go to after signing in, as a browser reads its address. Only a page of the console counts: no link leads from here elsewhere. */
export function nextOf(c: RequestContext<SignedInEnv>): string {
  const [next, origin] = [c.req.query("next") ?? "", c.get("origin")];
  if (!URL.canParse(next, origin)) return CONSOLE;
  const url = new URL(next, origin);
  return url.origin === origin && PAGE_PATH.test(url.pathname) ? url.pathname + url.search : CONSOLE;
}

/** Answers with the page on which to sign in, and what was wrong with the form that was sent. */
export async function signInPage(c: RequestContext<SignedInEnv>, problem?: Issue): Promise<Response> {
  const issues = problem === undefined ? [] : [problem];
  const next = nextOf(c);
  const query = { next: next === CONSOLE ? undefined : next };
  const isFromElsewhere = c.req.header("Sec-Fetch-Site") === "cross-site";
  const company = await companyOf(c);
  return respondWithPage(c, {
    title: "Sign in",
    ...(problem !== undefined && { status: 401 }),
    issues,
    children: (
      <>
        {isFromElsewhere && (
          <p>
            You have followed a link from another site. If you are signed in, <a href={next}>go on to the page</a>.
          </p>
        )}
        <Company company={company} action={withQuery(`${SIGN_IN}/company`, query)} />
        <form method="post" action={withQuery(SIGN_IN, query)} class="page">
          <OperatorKeyField
            hint="It begins with ugo_. For the first operator and in emergencies, the bootstrap token."
            autocomplete="current-password"
            issues={issues}
          />
          <button type="submit" class={company?.operator ? "" : "primary"}>
            Sign in
          </button>
        </form>
        <p class="hint">
          A session ends after 30 minutes without use, after 8 hours at the latest, and with your key
          {company ? " or your company's sign-in" : ""}.
        </p>
      </>
    ),
  });
}
