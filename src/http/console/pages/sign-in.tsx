import type { FC } from "hono/jsx";
import type { Issue } from "../../../../common/issue.ts";
import { ssoIn } from "../../../../common/settings/settings.ts";
import type { Assertion } from "../../../domain/credentials/assertion.ts";
import type { PresentedOperator } from "../../../domain/credentials/caller.ts";
import { mintConsoleSession } from "../../../domain/credentials/console-cookie.ts";
import type { ListedConsoleSession } from "../../../domain/credentials/console-sessions.ts";
import { ifAnswered, registryOf } from "../../durable-objects.ts";
import { registryFor } from "../../request/admit-caller.ts";
import { usableOperatorToken } from "../../request/authenticate.ts";
import { clientAddress } from "../../request/client-address.ts";
import { pathNumber } from "../../request/query.ts";
import { Badge, Done, Notice } from "../components/detail.tsx";
import { Form, OperatorKeyField } from "../components/form.tsx";
import { Table } from "../components/list.tsx";
import { Text, Time } from "../components/text.tsx";
import type { FormCall, SignedInCall } from "../console-env.ts";
import { CONSOLE, SESSIONS, SIGN_IN, withQuery } from "../paths.ts";
import { assertedPerson } from "../request/asserted-person.ts";
import { cookieHeader } from "../request/console-origin.ts";
import { presentedKey } from "../request/form-fields.ts";
import { redirect, refuseWithPage, respondWithPage } from "../response/respond-with-page.tsx";

/** The page on which to sign in: with the key of an operator or the bootstrap token, or as the person whom the company's proxy asserts. */
export const showSignIn = (c: SignedInCall): Promise<Response> => signInPage(c);

export async function signIn(c: SignedInCall): Promise<Response> {
  const key = await presentedKey(c, (c.get("form").get("operator_key") ?? "").trim());
  if (key === "rate_limited") return refuseWithPage(c, { code: "rate_limited" });
  if (key === undefined) return signInPage(c, { path: ["operator_key"], message: UNKNOWN });
  if (key !== "bootstrap") c.set("operatorId", key.id);
  const failure = await start(c, key);
  return failure instanceof Response
    ? failure
    : signInPage(c, { path: ["operator_key"], message: ENDED[failure] ?? UNKNOWN });
}

export async function signInWithCompany(c: SignedInCall): Promise<Response> {
  const person = await assertedPerson(c);
  // The page may be older than the assertion.
  if (!person || c.get("form").get("email") !== person.email) return signInPage(c, { path: [], message: NOT_ASSERTED });
  if (!(await companyLimit(c, person))) return refuseWithPage(c, { code: "rate_limited" });
  const failure = await start(c, { email: person.email }, person.email);
  return failure instanceof Response ? failure : signInPage(c, { path: [], message: NO_OPERATOR });
}

const UNKNOWN =
  "This is not the key of an operator of this service, which begins with ugo_. It may be cut off, of another deployment, or signed with a key that has been removed.";
const ENDED: Record<string, string> = {
  credential_expired: "This key has expired. Ask an admin for a new one.",
  credential_revoked: "This key was revoked. Ask an admin for a new one.",
  insufficient_access:
    "This key has the role backup, which takes backups by ug and the API alone. To use the console, ask an admin for a key with the role viewer, support or admin.",
};
const NOT_ASSERTED =
  "Your company's sign-in does not name the person as whom you wanted to continue, or not any more. Sign in there again, then here.";
const NO_OPERATOR = "No operator has your email, or it has ended. Ask an admin to issue one with this email.";

/** Starts a session, and leads to the page that was asked for. Otherwise returns why the registry refuses. `email` is that of an assertion. */
async function start(c: SignedInCall, key: PresentedOperator["key"], email?: string) {
  const { cookie, session } = await mintConsoleSession(c.get("ring"), usableOperatorToken(c.env), email);
  const { sessionHash, bootstrapMac } = session;
  const presented = { key, requestId: c.get("requestId") };
  const from = { browser: browserName(c.req.header("User-Agent") ?? ""), address: clientAddress(c) };
  const started = await registryFor(c).startConsoleSession(presented, { sessionHash, bootstrapMac }, from);
  if (started.ok) return redirect(c, nextOf(c), cookieHeader(c.get("origin"), cookie));
  c.set("failureCode", started.failure.code);
  return started.failure.code;
}

/** A path of the console, after a URL parser has resolved its dots. No page has a percent sign or two slashes in its path. */
const PAGE_PATH = /^\/console(?:\/[\w-]+)*\/?$/;

/** The page to go to after signing in, as a browser reads its address. Only a page of the console counts: no link leads from here elsewhere. */
function nextOf(c: SignedInCall): string {
  const [next, origin] = [c.req.query("next") ?? "", c.get("origin")];
  if (!URL.canParse(next, origin)) return CONSOLE;
  const url = new URL(next, origin);
  return url.origin === origin && PAGE_PATH.test(url.pathname) ? url.pathname + url.search : CONSOLE;
}

/** Answers with the page on which to sign in, and what was wrong with the form that was sent. */
async function signInPage(c: SignedInCall, problem?: Issue): Promise<Response> {
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

/** The person whom the company's proxy asserts, and the name of the operator with that address. Either may be missing. */
type CompanySignIn = { email: string | undefined; operator: string | undefined };

/** Counts a sign-in of this person, which costs an RPC. Returns whether it is within the limit. */
const companyLimit = async (c: SignedInCall, { email }: Assertion): Promise<boolean> =>
  (await c.env.OPERATOR_LIMIT.limit({ key: `company ${email}` })).success;

/** Who may continue without a key; `undefined` if the deployment has no sign-in with a company. */
async function companyOf(c: SignedInCall): Promise<CompanySignIn | undefined> {
  if (!ssoIn(c.env)) return undefined;
  const person = await assertedPerson(c);
  if (!person || !(await companyLimit(c, person))) return { email: undefined, operator: undefined };
  const { email } = person;
  const presented = { key: { email }, requestId: c.get("requestId") };
  // Without the registry, the page still offers the sign-in by key.
  const admitted = await ifAnswered(async () => registryOf(c.env).admit(presented, "viewer", undefined));
  return { email, operator: admitted?.ok ? admitted.value.name : undefined };
}

const Company: FC<{ company: CompanySignIn | undefined; action: string }> = ({ company, action }) => {
  if (!company) return null;
  const { email, operator } = company;
  if (email === undefined) return <p class="hint field">{NO_ASSERTION}</p>;
  const person = <Text value={email} />;
  const you = ["Your company's sign-in says that you are ", person];
  if (operator === undefined)
    return <Notice>{you}, and no operator has this email. Ask an admin to issue one, or sign in with a key.</Notice>;
  return (
    <form method="post" action={action} class="page">
      <input type="hidden" name="email" value={email} />
      <p class="hint field">{you}.</p>
      <button type="submit" class="primary field">
        <span>
          Continue as <Text value={operator} />
        </span>
      </button>
    </form>
  );
};

const NO_ASSERTION =
  "Your company's sign-in has sent no valid assertion with this request. Open the console by the address that your company protects, or sign in with a key.";

/** Browsers by what only their own User-Agent has. Those of others come first, because Chrome names Safari, and others name Chrome. */
const BROWSERS: [mark: RegExp, name: string][] = [
  [/\bEdg(?:e|A|iOS)?\//, "Edge"],
  [/\bOPR\//, "Opera"],
  [/\b(?:Firefox|FxiOS)\//, "Firefox"],
  [/\b(?:Headless)?(?:Chrome|Chromium|CriOS)\//, "Chrome"],
  [/\bSafari\//, "Safari"],
];
const SYSTEMS: [mark: RegExp, name: string][] = [
  [/\bWindows\b/, "Windows"],
  [/\bAndroid\b/, "Android"],
  [/\b(?:iPhone|iPad)\b/, "iOS"],
  [/\bMac OS X\b/, "macOS"],
  [/\bCrOS\b/, "ChromeOS"],
  [/\bLinux\b/, "Linux"],
];

/** The name of a browser and its system, such as "Firefox on Linux", by the header User-Agent. Nothing else of the header is kept. */
export function browserName(userAgent: string): string {
  const nameIn = (names: typeof BROWSERS) => names.find(([mark]) => mark.test(userAgent))?.[1];
  const [browser, system] = [nameIn(BROWSERS), nameIn(SYSTEMS)];
  return [browser ?? "A browser", ...(system === undefined ? [] : [`on ${system}`])].join(" ");
}

const DONE = { ended: "The session has ended." };

export async function listSessions(c: SignedInCall): Promise<Response> {
  const listed = await registryFor(c).listConsoleSessions(c.get("presentedOperator"));
  if (!listed.ok) return refuseWithPage(c, listed.failure);
  const { sessions } = listed.value;
  return respondWithPage(c, {
    title: "Your sessions",
    subline:
      "Where you are signed in. If you do not recognize a session, somebody else may have your key: end it, and ask an admin to roll your key.",
    actions: <EndButton c={c} which="all" text="End all, this one too" />,
    children: (
      <>
        <Done done={c.req.query("done")} results={DONE} />
        <SessionTable c={c} sessions={sessions} />
      </>
    ),
  });
}

export async function endSessions(c: FormCall): Promise<Response> {
  const field = c.get("form").get("session") ?? "";
  const which = field === "all" ? field : pathNumber(field);
  const ended = await registryFor(c).endConsoleSessions(c.get("presentedOperator"), which);
  if (!ended.ok) return refuseWithPage(c, ended.failure);
  return which === "all"
    ? redirect(c, SIGN_IN, cookieHeader(c.get("origin"), ""))
    : redirect(c, withQuery(SESSIONS, { done: "ended" }));
}

const EndButton: FC<{ c: SignedInCall; which: string; text: string }> = ({ c, which, text }) => (
  <Form c={c} action={SESSIONS}>
    <input type="hidden" name="session" value={which} />
    <button type="submit">{text}</button>
  </Form>
);

const EndSession: FC<{ c: SignedInCall; session: ListedConsoleSession }> = ({ c, session: { id, isCurrent } }) =>
  isCurrent ? (
    <Badge state="valid" text="this one" />
  ) : (
    <EndButton c={c} which={String(id)} text={`End session ${id}`} />
  );

const SessionTable: FC<{ c: SignedInCall; sessions: ListedConsoleSession[] }> = ({ c, sessions }) => (
  <Table
    rows={sessions}
    columns={[
      [
        "Browser",
        "",
        ({ browser, address }) => [
          <Text in="b" value={browser ?? "unknown"} />,
          " ",
          <Text in="code" value={address ?? ""} />,
        ],
      ],
      ["Signed in", "fit mid", ({ createdAt }) => <Time at={createdAt} />],
      ["Last used", "fit mid", ({ lastUsedAt }) => <Time at={lastUsedAt} />],
      ["Ends at the latest", "fit low", ({ expiresAt }) => <Time at={expiresAt} />],
      ["End it", "fit", (session) => <EndSession c={c} session={session} />],
    ]}
  />
);

export async function signOut(c: SignedInCall): Promise<Response> {
  const ended = await registryFor(c).endConsoleSessions(c.get("presentedOperator"), "current");
  return ended.ok ? redirect(c, SIGN_IN, cookieHeader(c.get("origin"), "")) : refuseWithPage(c, ended.failure);
}
