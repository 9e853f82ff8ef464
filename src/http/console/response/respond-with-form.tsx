import type { Child, FC } from "hono/jsx";
import type { Issue } from "../../../../common/issue.ts";
import { ASSERTION_RECENT_SECONDS_MAX } from "../../../../common/limits.ts";
import type { Assertion } from "../../../domain/credentials/assertion.ts";
import type { RequestContext } from "../../app-env.ts";
import { Form, OperatorKeyField, ReasonField } from "../components/form.tsx";
import { Time } from "../components/text.tsx";
import type { SignedInEnv } from "../console-env.ts";
import type { KeyReason } from "../page-access.ts";
import { isRecent } from "../request/asserted-person.ts";
import { type Page, respondWithPage } from "./respond-with-page.tsx";

/** The page of a form: its head, what will happen as sentences, and the fields. The last crumb is where to go without a change. */
type FormPage = Omit<Page, "children"> & {
  crumbs: [path: string, text: string][];
  issues: Issue[];
  effects: Child[];
  button: string;
  isDangerous?: boolean | undefined;
  fields?: Child;
};

/** Answers with the page of a form, which says what will happen, and is sent to the page's own path. */
export function respondWithForm(c: RequestContext<SignedInEnv>, page: FormPage): Promise<Response> {
  const { effects, button, isDangerous = false, fields, ...head } = page;
  return respondWithPage(c, {
    ...head,
    children: (
      <>
        <OldAssertion c={c} />
        <ul class={isDangerous ? "effects bad" : "effects"}>
          {effects.map((effect) => (
            <li>{effect}</li>
          ))}
        </ul>
        <Form ring={c.get("ring")} session={c.get("session")} action={c.req.path} class="page">
          {fields}
          <OwnKey c={c} issues={page.issues} />
          <ReasonField value={c.get("form").get("reason") ?? ""} issues={page.issues} />
          <p class="row">
            <button type="submit" class={isDangerous ? "danger" : "primary"}>
              {button}
            </button>
            <a class="button" href={page.crumbs.at(-1)?.[0]}>
              Cancel
            </a>
          </p>
        </Form>
      </>
    ),
  });
}

const MINUTES = ASSERTION_RECENT_SECONDS_MAX / 60;

/** What to do about an assertion that is too old to stand for the operator's own key. */
export const SIGN_IN_AGAIN = `This needs a sign-in at your company that is at most ${MINUTES} minutes old. Sign out there, sign in again, and then open this page again.`;

const HINTS: Record<KeyReason, string> = {
  credential: "Once more, because the next page shows a credential, which goes on after your session.",
  erasure: "Once more, because this cannot be undone.",
};

/**
 * The operator's own key, if the table of pages says that this form asks for it. In a session that began with an assertion, a recent
 * assertion stands for the key.
 */
const OwnKey: FC<{ c: RequestContext<SignedInEnv>; issues: Issue[] }> = ({ c, issues }) => {
  const [reason, assertion] = [c.get("asksForKey"), c.get("assertion")];
  if (!reason) return null;
  if (!assertion) return <OperatorKeyField hint={HINTS[reason]} issues={issues} />;
  return isRecent(assertion) ? (
    <p class="hint field">
      {signedIn(assertion)} For {MINUTES} minutes after that, you need no key here.
    </p>
  ) : null;
};

/** Says that an assertion is too old, before somebody fills in a form that would be refused. */
const OldAssertion: FC<{ c: RequestContext<SignedInEnv> }> = ({ c }) => {
  const assertion = c.get("assertion");
  if (!c.get("asksForKey") || !assertion || isRecent(assertion)) return null;
  return (
    <div class="notice warn">
      <p>
        {signedIn(assertion)} {SIGN_IN_AGAIN}
      </p>
    </div>
  );
};

const signedIn = ({ issuedAtSeconds }: Assertion): Child => (
  <>
    You have signed in at your company <Time at={issuedAtSeconds * 1000} />.
  </>
);
