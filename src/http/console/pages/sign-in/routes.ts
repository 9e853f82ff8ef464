import { Hono } from "hono";
import type { PresentedOperator } from "../../../../domain/credentials/caller.ts";
import { mintConsoleSession } from "../../../../domain/credentials/console-cookie.ts";
import type { RequestContext } from "../../../app-env.ts";
import { registryFor } from "../../../request/admit-caller.ts";
import { usableOperatorToken } from "../../../request/authenticate.ts";
import { clientAddress } from "../../../request/client-address.ts";
import type { SignedInEnv } from "../../console-env.ts";
import { assertedPerson } from "../../request/asserted-person.ts";
import { browserName } from "../../request/browser-name.ts";
import { presentedKey } from "../../request/presented-key.ts";
import { cookieHeader } from "../../request/session-cookie.ts";
import { redirect } from "../../response/redirect.ts";
import { refuseWithPage } from "../../response/respond-with-page.tsx";
import { companyLimit } from "./company.tsx";
import { nextOf, signInPage } from "./page.tsx";

/** Signing in: with the key of an operator or the bootstrap token, or as the person whom the company's proxy asserts. */
export const signIn = new Hono<SignedInEnv>()
  .get("/", (c) => signInPage(c))

  .post("/", async (c) => {
    const key = await presentedKey(c, (c.get("form").get("operator_key") ?? "").trim());
    if (key === "rate_limited") return refuseWithPage(c, { code: "rate_limited" });
    if (key === undefined) return signInPage(c, { path: ["operator_key"], message: UNKNOWN });
    if (key !== "bootstrap") c.set("operatorId", key.id);
    const failure = await start(c, key);
    return failure instanceof Response
      ? failure
      : signInPage(c, { path: ["operator_key"], message: ENDED[failure] ?? UNKNOWN });
  })

  .post("/company", async (c) => {
    const person = await assertedPerson(c);
    // The page may be older than the assertion.
    if (!person || c.get("form").get("email") !== person.email)
      return signInPage(c, { path: [], message: NOT_ASSERTED });
    if (!(await companyLimit(c, person))) return refuseWithPage(c, { code: "rate_limited" });
    const failure = await start(c, { email: person.email }, person.email);
    return failure instanceof Response ? failure : signInPage(c, { path: [], message: NO_OPERATOR });
  });

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
async function start(c: RequestContext<SignedInEnv>, key: PresentedOperator["key"], email?: string) {
  const { cookie, session } = await mintConsoleSession(c.get("ring"), usableOperatorToken(c.env), email);
  const { sessionHash, bootstrapMac } = session;
  const presented = { key, requestId: c.get("requestId") };
  const from = { browser: browserName(c.req.header("User-Agent") ?? ""), address: clientAddress(c) };
  const started = await registryFor(c).startConsoleSession(presented, { sessionHash, bootstrapMac }, from);
  if (started.ok) return redirect(c, nextOf(c), cookieHeader(c.get("origin"), cookie));
  c.set("failureCode", started.failure.code);
  return started.failure.code;
}
