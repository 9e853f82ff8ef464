import { Hono } from "hono";
import { mintConsoleSession } from "../../../domain/credentials/console-cookie.ts";
import type { RequestContext } from "../../app-env.ts";
import { registryFor } from "../../request/admit-caller.ts";
import { usableOperatorToken } from "../../request/authenticate.ts";
import { clientAddress } from "../../request/client-address.ts";
import { OperatorKeyField } from "../components/fields.tsx";
import type { SignedInEnv } from "../console-env.ts";
import { CONSOLE, SIGN_IN, withQuery } from "../paths.ts";
import { browserName } from "../request/browser-name.ts";
import { presentedKey } from "../request/presented-key.ts";
import { cookieHeader } from "../request/session-cookie.ts";
import { redirect } from "../response/redirect.ts";
import { refuseWithPage, respondWithPage } from "../response/respond-with-page.tsx";

/** Signing in, with the key of an operator or the bootstrap token. */
export const signIn = new Hono<SignedInEnv>()
  .get("/", (c) => signInPage(c, nextOf(c), undefined))

  .post("/", async (c) => {
    const form = c.get("form");
    const key = await presentedKey(c, (form.get("operator_key") ?? "").trim());
    if (key === "rate_limited") return refuseWithPage(c, { code: "rate_limited" });
    if (key === undefined) return signInPage(c, nextOf(c), UNKNOWN);
    if (key !== "bootstrap") c.set("operatorId", key.id);
    const { cookie, session } = await mintConsoleSession(c.get("ring"), usableOperatorToken(c.env));
    const { sessionHash, bootstrapMac } = session;
    const presented = { key, requestId: c.get("requestId") };
    const from = { browser: browserName(c.req.header("User-Agent") ?? ""), address: clientAddress(c) };
    const started = await registryFor(c).startConsoleSession(presented, { sessionHash, bootstrapMac }, from);
    if (!started.ok) {
      c.set("failureCode", started.failure.code);
      return signInPage(c, nextOf(c), ENDED[started.failure.code] ?? UNKNOWN);
    }
    return redirect(c, nextOf(c), cookieHeader(c.get("origin"), cookie));
  });

const UNKNOWN =
  "This is not the key of an operator of this service, which begins with ugo_. It may be cut off, of another deployment, or signed with a key that has been removed.";
const ENDED: Record<string, string> = {
  credential_expired: "This key has expired. Ask an admin for a new one.",
  credential_revoked: "This key was revoked. Ask an admin for a new one.",
  insufficient_access:
    "This key has the role backup, which takes backups by ug and the API alone. To use the console, ask an admin for a key with the role viewer, support or admin.",
};

/** A path of the console, after a URL parser has resolved its dots. No page has a percent sign or two slashes in its path. */
const PAGE_PATH = /^\/console(?:\/[\w-]+)*\/?$/;

/** The page to go to after signing in, as a browser reads its address. Only a page of the console counts: no link leads from here elsewhere. */
function nextOf(c: RequestContext<SignedInEnv>): string {
  const [next, origin] = [c.req.query("next") ?? "", c.get("origin")];
  if (!URL.canParse(next, origin)) return CONSOLE;
  const url = new URL(next, origin);
  return url.origin === origin && PAGE_PATH.test(url.pathname) ? url.pathname + url.search : CONSOLE;
}

function signInPage(c: RequestContext<SignedInEnv>, next: string, problem: string | undefined): Promise<Response> {
  const issues = problem === undefined ? [] : [{ path: ["operator_key"], message: problem }];
  const action = withQuery(SIGN_IN, { next: next === CONSOLE ? undefined : next });
  const isFromElsewhere = c.req.header("Sec-Fetch-Site") === "cross-site";
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
        <form method="post" action={action} class="page">
          <OperatorKeyField
            hint="It begins with ugo_. For the first operator and in emergencies, the bootstrap token."
            autocomplete="current-password"
            issues={issues}
          />
          <button type="submit" class="primary">
            Sign in
          </button>
        </form>
        <p class="hint">A session ends after 30 minutes without use, after 8 hours at the latest, and with your key.</p>
      </>
    ),
  });
}
