import { createMiddleware } from "hono/factory";
import { routePath } from "hono/route";
import type { Issue } from "../../../../common/issue.ts";
import { BODY_BYTES_MAX, FORM_BYTES_MAX } from "../../../../common/limits.ts";
import type { PresentedConsoleSession, PresentedOperator } from "../../../domain/credentials/caller.ts";
import { type ConsoleSession, isOwnForm, verifyFormToken } from "../../../domain/credentials/console-cookie.ts";
import type { LadderRole } from "../../../domain/credentials/rights.ts";
import { directoryOf } from "../../durable-objects.ts";
import { registryFor } from "../../request/admit-caller.ts";
import { countCall } from "../../request/authorize.ts";
import { readBytes, type Sender, WITH_CREDENTIAL, WITHOUT_CREDENTIAL } from "../../request/body/body-bytes.ts";
import { clientAddress } from "../../request/client-address.ts";
import { Reason } from "../../resources/fields.ts";
import { FORM_TOKEN } from "../components/form.tsx";
import type { EnvironmentCall, EnvironmentEnv, SignedInCall } from "../console-env.ts";
import { type PageAccess, pageAccessOf } from "../page-access.ts";
import { environmentOfPath } from "../paths.ts";
import { SIGN_IN_AGAIN } from "../response/respond-with-form.tsx";
import { refuseWithPage, respondWithMessage, toSignIn } from "../response/respond-with-page.tsx";
import { assertedPerson, isRecent } from "./asserted-person.ts";
import { readSession } from "./console-origin.ts";
import { operatorKeyIssues } from "./form-fields.ts";

/**
 * Admits operators by the session in their cookie, as the table of page-access.ts says. The signature of the cookie, its rate limits and
 * the bytes of a form come first. Then the registry checks the session: here for a page of an environment or of a higher role than viewer,
 * and for a form that makes a change, otherwise within the page's own RPC. A form is taken once, and only with the session and the path for which it was made.
 * The operator's own key is checked here too, for the forms that ask for it. A session that began with an assertion of the company's
 * proxy needs one in each request, and for those forms a recent one. The sign-out needs none.
 */
export const admitOperator = createMiddleware<EnvironmentEnv>(async (c, next) => {
  const pattern = routePath(c, -1);
  const access = pageAccessOf(c.req.method, pattern);
  if (access) c.set("access", access);
  if (access && access.role === undefined) return (await setForm(c, clientAddress(c), WITHOUT_CREDENTIAL)) ?? next();

  const session = await readSession(c);
  if (session === "none" || session === "forged") return refuseStranger(c, session === "forged");
  c.set("session", session);
  c.set("asksForKey", access?.form?.asksForKey);
  const name = `console ${new Uint8Array(session.sessionHash).toHex()}`;
  const failure = await countCall(c, name, c.env.OPERATOR_LIMIT);
  if (failure) return refuseWithPage(c, failure);
  const refused = await setForm(c, name, { ...WITH_CREDENTIAL, bytesMax: FORM_BYTES_MAX });
  if (refused) return refused;
  const mayGoOn = (access?.form?.endsSession && (await idOfForm(c)) !== undefined) || (await isAsserted(c, session));
  if (!mayGoOn) return refuseSender(c, "credential_expired");
  c.set("presentedOperator", presented(c, session));
  if (!access) return refusePath(c);
  return (await admit(c, access, pattern.includes("/:environment"))) ?? next();
});

/** Whether a session may go on: one that began with an assertion needs one for the same person in each request. */
async function isAsserted(c: SignedInCall, { email }: ConsoleSession): Promise<boolean> {
  if (email === undefined) return true;
  const person = await assertedPerson(c);
  if (person?.email === email) {
    c.set("assertion", person);
    return true;
  }
  const problem = person ? "is for another person than its session" : "is missing, or no company sign-in is set up";
  c.set("problem", c.get("problem") ?? `The assertion of this request ${problem}.`);
  return false;
}

/** The id of the form that was sent, if a page of this session has offered it. A thief of the cookie alone has no such form. */
const idOfForm = (c: SignedInCall): Promise<string | undefined> =>
  verifyFormToken(c.get("ring"), c.get("session"), c.req.path, c.get("form").get(FORM_TOKEN) ?? "");

/**
 * Leads a browser without a session to the page on which to sign in. A form of this console that comes without a cookie, because its
 * operator has signed out in another window, is answered with what was typed. Such requests count as refused credentials.
 */
async function refuseStranger(c: SignedInCall, isForged: boolean): Promise<Response> {
  const isForm = c.req.method === "POST";
  if (isForged || isForm) c.set("failureCode", "unauthenticated");
  if (!c.get("access")) return refuseWithPage(c, { code: "route_not_found" });
  const refused = await setForm(c, clientAddress(c), { ...WITHOUT_CREDENTIAL, bytesMax: BODY_BYTES_MAX });
  if (refused) return refused;
  return refuseSender(c, isForged || isForm ? "unauthenticated" : undefined);
}

/** Leads to the page on which to sign in, or answers a form of this console with what was typed. `code` is for the log. */
async function refuseSender(
  c: SignedInCall,
  code: "unauthenticated" | "credential_expired" | undefined,
): Promise<Response> {
  if (code) c.set("failureCode", code);
  const isForm = c.req.method === "POST";
  const isOwn = isForm && (await isOwnForm(c.get("ring"), c.req.path, c.get("form").get(FORM_TOKEN) ?? ""));
  return code && isOwn ? refuseWithPage(c, { code }) : toSignIn(c);
}

/** Refuses a path that no page has. The frame is that of the environment in the path, if there is one. */
function refusePath(c: EnvironmentCall): Promise<Response> {
  const environment = environmentOfPath(c.req.path);
  if (environment) c.set("environment", environment);
  return refuseWithPage(c, { code: "route_not_found" });
}

/** The operator of a session, as the registry takes one, with the reason in the form for the event of its change. */
const presented = (
  c: SignedInCall,
  { sessionHash, bootstrapMac }: ConsoleSession,
): PresentedOperator & { key: PresentedConsoleSession } => ({
  requestId: c.get("requestId"),
  key: { sessionHash, bootstrapMac },
  reason: Reason().safeParse(c.get("form").get("reason") || undefined).data,
});

async function admit(
  c: EnvironmentCall,
  { role = "admin", form: { changesNothing } = {} }: PageAccess,
  isOfEnvironment: boolean,
): Promise<Response | undefined> {
  const environment = isOfEnvironment ? environmentOfPath(c.req.path) : undefined;
  if (isOfEnvironment && !environment) return refuseWithPage(c, { code: "environment_not_found" });
  if (environment) {
    c.set("environment", environment);
    c.set("directory", directoryOf(c.env, environment));
  }
  if (c.req.method === "POST") {
    const id = await idOfForm(c);
    if (id === undefined) return respondWithMessage(c, 403, "This form is refused", OTHER_FORM);
    if (!changesNothing) return admitForm(c, role, id);
  }
  // The own RPC of a page for everybody who has signed in checks the session.
  if (!environment && role === "viewer") return undefined;
  const admitted = await registryFor(c).admit(c.get("presentedOperator"), role, environment);
  return admitted.ok ? undefined : refuseWithPage(c, admitted.failure);
}

const OTHER_FORM = "It belongs to another page or session. Open the page again.";
const OLD_FORM =
  "You have sent many others since this one was opened. It was not applied. Open the page again, and send it from there.";
const SENT_FORM = "It was not applied a second time. Open the page again to see how things are now.";

async function admitForm(c: EnvironmentCall, role: LadderRole, formId: string): Promise<Response | undefined> {
  const presentedOperator = c.get("presentedOperator");
  const admitted = await registryFor(c).admitForm(presentedOperator, role, c.get("environment"), formId);
  if (!admitted.ok) return refuseWithPage(c, admitted.failure);
  if (admitted.value.isTooOld) return respondWithMessage(c, 409, "This form is too old", OLD_FORM);
  if (admitted.value.isRepeated) return respondWithMessage(c, 409, "This form was sent already", SENT_FORM);
  if (c.get("asksForKey")) c.set("ownKeyIssues", assertionIssues(c) ?? (await operatorKeyIssues(c)));
  return undefined;
}

/** What is wrong with an assertion that stands for the operator's own key; `undefined` in a session that began with a key. */
function assertionIssues(c: SignedInCall): Issue[] | undefined {
  const assertion = c.get("assertion");
  if (!assertion) return undefined;
  return isRecent(assertion) ? [] : [{ path: [], message: SIGN_IN_AGAIN }];
}

const utf8 = new TextDecoder();

/** Reads the fields of a form, within the bounds of its sender. `name` is that under which unfinished bodies are counted. */
async function setForm(c: SignedInCall, name: string, sender: Sender): Promise<Response | undefined> {
  c.set("form", new URLSearchParams());
  if (c.req.method !== "POST") return undefined;
  const bytes = await readBytes(c.req.raw, name, { bodyType: "form" }, sender);
  if (!bytes.ok) return refuseWithPage(c, bytes.failure);
  c.set("form", new URLSearchParams(utf8.decode(bytes.value)));
  return undefined;
}
