import { createFactory } from "hono/factory";
import type { FC } from "hono/jsx";
import type { ListedConsoleSession } from "../../../domain/credentials/console-sessions.ts";
import type { RequestContext } from "../../app-env.ts";
import { registryFor } from "../../request/admit-caller.ts";
import { pathNumber } from "../../request/path-number.ts";
import { Done } from "../components/done.tsx";
import { Form } from "../components/form.tsx";
import { Time } from "../components/text.tsx";
import { Wide } from "../components/wide.tsx";
import type { FormEnv, SignedInEnv } from "../console-env.ts";
import { SESSIONS, SIGN_IN, withQuery } from "../paths.ts";
import { cookieHeader } from "../request/session-cookie.ts";
import { redirect } from "../response/redirect.ts";
import { refuseWithPage, respondWithPage } from "../response/respond-with-page.tsx";

const DONE = { ended: "The session has ended." };

/** The sessions of the operator, with a button to end each one, and all. */
export const listSessions = createFactory<SignedInEnv>().createHandlers(async (c) => {
  const listed = await registryFor(c).listConsoleSessions(c.get("presentedOperator"));
  if (!listed.ok) return refuseWithPage(c, listed.failure);
  const { sessions } = listed.value;
  return respondWithPage(c, {
    title: "Your sessions",
    children: (
      <>
        <Done done={c.req.query("done")} results={DONE} />
        <p>
          These are your sessions in this console. If you do not recognize one, somebody else may have your key: end the
          session, and ask an admin to roll your key.
        </p>
        <SessionTable c={c} sessions={sessions} />
        <EndButton c={c} which="all" text="End all, this one too" />
      </>
    ),
  });
});

/** Ends one session by its number, or all. */
export const endSessions = createFactory<FormEnv>().createHandlers(async (c) => {
  const field = c.get("form").get("session") ?? "";
  const which = field === "all" ? field : pathNumber(field);
  const ended = await registryFor(c).endConsoleSessions(c.get("presentedOperator"), which);
  if (!ended.ok) return refuseWithPage(c, ended.failure);
  return which === "all"
    ? redirect(c, SIGN_IN, cookieHeader(c.get("origin"), ""))
    : redirect(c, withQuery(SESSIONS, { done: "ended" }));
});

type Call = RequestContext<SignedInEnv>;

const EndButton: FC<{ c: Call; which: string; text: string }> = ({ c, which, text }) => (
  <Form ring={c.get("ring")} session={c.get("session")} action={SESSIONS}>
    <input type="hidden" name="session" value={which} />
    <button type="submit">{text}</button>
  </Form>
);

const SessionTable: FC<{ c: Call; sessions: ListedConsoleSession[] }> = ({ c, sessions }) => (
  <Wide label="Sessions">
    <table>
      <thead>
        <tr>
          <th>Signed in</th>
          <th>Last used</th>
          <th>Ends at the latest</th>
          <th>End it</th>
        </tr>
      </thead>
      <tbody>
        {sessions.map(({ id, createdAt, lastUsedAt, expiresAt, isCurrent }) => (
          <tr>
            <td>
              <Time at={createdAt} />
            </td>
            <td>
              <Time at={lastUsedAt} />
            </td>
            <td>
              <Time at={expiresAt} />
            </td>
            <td>{isCurrent ? "this one" : <EndButton c={c} which={String(id)} text={`End session ${id}`} />}</td>
          </tr>
        ))}
      </tbody>
    </table>
  </Wide>
);
