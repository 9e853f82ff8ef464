import type { FC } from "hono/jsx";
import type { ListedConsoleSession } from "../../../domain/credentials/console-sessions.ts";
import type { RequestContext } from "../../app-env.ts";
import { registryFor } from "../../request/admit-caller.ts";
import { pathNumber } from "../../request/query.ts";
import { Badge, Done } from "../components/detail.tsx";
import { Form } from "../components/form.tsx";
import { Table } from "../components/list.tsx";
import { Text, Time } from "../components/text.tsx";
import type { FormEnv, SignedInEnv } from "../console-env.ts";
import { SESSIONS, SIGN_IN, withQuery } from "../paths.ts";
import { cookieHeader } from "../request/session-cookie.ts";
import { redirect, refuseWithPage, respondWithPage } from "../response/respond-with-page.tsx";

const DONE = { ended: "The session has ended." };

/** The sessions of the operator, with a button to end each one, and all. */
export async function listSessions(c: Call): Promise<Response> {
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

/** Ends one session by its number, or all. */
export async function endSessions(c: RequestContext<FormEnv>): Promise<Response> {
  const field = c.get("form").get("session") ?? "";
  const which = field === "all" ? field : pathNumber(field);
  const ended = await registryFor(c).endConsoleSessions(c.get("presentedOperator"), which);
  if (!ended.ok) return refuseWithPage(c, ended.failure);
  return which === "all"
    ? redirect(c, SIGN_IN, cookieHeader(c.get("origin"), ""))
    : redirect(c, withQuery(SESSIONS, { done: "ended" }));
}

type Call = RequestContext<SignedInEnv>;

const EndButton: FC<{ c: Call; which: string; text: string }> = ({ c, which, text }) => (
  <Form ring={c.get("ring")} session={c.get("session")} action={SESSIONS}>
    <input type="hidden" name="session" value={which} />
    <button type="submit">{text}</button>
  </Form>
);

const SessionTable: FC<{ c: Call; sessions: ListedConsoleSession[] }> = ({ c, sessions }) => (
  <Table
    rows={sessions}
    columns={[
      [
        "Browser",
        "",
        ({ browser, address }) => (
          <>
            <b>
              <Text value={browser ?? "unknown"} />
            </b>{" "}
            <code>
              <Text value={address ?? ""} />
            </code>
          </>
        ),
      ],
      ["Signed in", "fit mid", ({ createdAt }) => <Time at={createdAt} />],
      ["Last used", "fit mid", ({ lastUsedAt }) => <Time at={lastUsedAt} />],
      ["Ends at the latest", "fit low", ({ expiresAt }) => <Time at={expiresAt} />],
      [
        "End it",
        "fit",
        ({ id, isCurrent }) =>
          isCurrent ? (
            <Badge state="valid" text="this one" />
          ) : (
            <EndButton c={c} which={String(id)} text={`End session ${id}`} />
          ),
      ],
    ]}
  />
);

/** Ends the session of the request. */
export async function signOut(c: Call): Promise<Response> {
  const ended = await registryFor(c).endConsoleSessions(c.get("presentedOperator"), "current");
  return ended.ok ? redirect(c, SIGN_IN, cookieHeader(c.get("origin"), "")) : refuseWithPage(c, ended.failure);
}
