import type { Child, FC } from "hono/jsx";
import type { Issue } from "../../../../common/issue.ts";
import { ASSERTION_RECENT_SECONDS_MAX } from "../../../../common/limits.ts";
import type { Assertion } from "../../../domain/credentials/assertion.ts";
import type { RequestContext } from "../../app-env.ts";
import type { IssuedKey } from "../../operations/keys.ts";
import { ButtonLink, EnvironmentName, Facts, Notice } from "../components/detail.tsx";
import { Form, OperatorKeyField, ReasonField } from "../components/form.tsx";
import { Rights } from "../components/key-details.tsx";
import type { Crumbs } from "../components/layout.tsx";
import { Text, Time, utcTime } from "../components/text.tsx";
import type { SignedInCall, SignedInEnv } from "../console-env.ts";
import type { KeyReason } from "../page-access.ts";
import { isRecent } from "../request/asserted-person.ts";
import { type Page, respondWithPage } from "./respond-with-page.tsx";

/** The page of a form: its head, what will happen as sentences, and the fields. The last crumb is where to go without a change. */
type FormPage = Omit<Page, "children"> & {
  crumbs: Crumbs;
  issues: Issue[];
  effects: Child[];
  button: string | undefined;
  isDangerous?: boolean | undefined;
  /** The button that sends the form with the field `danger`, and needs no other field. */
  danger?: string;
  fields?: Child;
};

/** A page with a form: how it looks, with what is wrong with the form that was sent, and what the form does, or what is wrong with it. */
export const formPage = <Env extends SignedInEnv>(
  pageOf: (c: RequestContext<Env>, issues: Issue[]) => Omit<FormPage, "issues">,
  apply: (c: RequestContext<Env>) => Promise<Response | Issue[]>,
) => ({
  show: (c: RequestContext<Env>) => respondWithForm(c, { ...pageOf(c, []), issues: [] }),
  send: async (c: RequestContext<Env>) => {
    const applied = await apply(c);
    return applied instanceof Response ? applied : respondWithForm(c, { ...pageOf(c, applied), issues: applied });
  },
});

/** Answers with the page of a form, which says what will happen, and is sent to the page's own path. */
export function respondWithForm(c: SignedInCall, page: FormPage): Promise<Response> {
  const { effects, button, isDangerous = false, danger, fields, ...head } = page;
  const environment = c.get("environment");
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
        <Form c={c} action={c.req.path} class="page">
          {fields}
          <OwnKey c={c} issues={page.issues} />
          <ReasonField value={c.get("form").get("reason") ?? ""} issues={page.issues} />
          {environment && (
            <p class="field">
              In <EnvironmentName of={environment} />
            </p>
          )}
          <p class="row">
            {button && (
              <button type="submit" class={isDangerous ? "danger" : "primary"}>
                {button}
              </button>
            )}
            {danger && (
              <button type="submit" class="danger" name="danger" value="yes" formnovalidate>
                {danger}
              </button>
            )}
            <ButtonLink path={page.crumbs.at(-1)?.[0]} text="Cancel" />
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
const OwnKey: FC<{ c: SignedInCall; issues: Issue[] }> = ({ c, issues }) => {
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
const OldAssertion: FC<{ c: SignedInCall }> = ({ c }) => {
  const assertion = c.get("assertion");
  if (!c.get("asksForKey") || !assertion || isRecent(assertion)) return null;
  return (
    <Notice>
      {signedIn(assertion)} {SIGN_IN_AGAIN}
    </Notice>
  );
};

const signedIn = ({ issuedAtSeconds }: Assertion): Child => [
  "You have signed in at your company ",
  <Time at={issuedAtSeconds * 1000} />,
  ".",
];

/** A new key, the title of its page, and the link back to its list. After a roll, `replaced` names the old key and its end. */
type NewKey = IssuedKey & { title: string; back: [path: string, text: string]; replaced?: Child };

/**
 * Answers with the page that shows the text of a new key, once. No other page shows a credential. Throws if the form has not asked for
 * the operator's own key or for a recent assertion, as the table of page-access.ts has to say.
 */
export function respondWithNewKey(c: SignedInCall, { title, stored, text, back, replaced }: NewKey): Promise<Response> {
  if (c.get("ownKeyIssues")?.length !== 0)
    throw new Error("The form of this page has to ask for the operator's own key.");
  const [path] = back;
  return respondWithPage(c, {
    title,
    crumbs: [back],
    children: (
      <>
        <div class="notice ok" role="status">
          <div>
            <p>
              This is the only time that the key is shown. Copy it to where it is used, and to nowhere else: not into a
              mail, a ticket or a page.
            </p>
            <pre>
              <code>{text}</code>
            </pre>
          </div>
        </div>
        <Facts
          facts={[
            ["Name", <Text value={stored.name} />],
            ["May", <Rights rights={stored.rights} />],
            ["Expires", stored.expiresAt === null ? "never" : endOf(stored.expiresAt)],
            ["Replaces", replaced],
          ]}
        />
        <p>
          <ButtonLink path={path} text="Back to the list" />
        </p>
      </>
    ),
  });
}

const endOf = (at: number): Child => [
  utcTime(at),
  " ",
  <small>
    <Time at={at} />
  </small>,
];
