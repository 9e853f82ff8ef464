import type { Child, FC } from "hono/jsx";
import type { Issue } from "../../../../common/issue.ts";
import { type ConsoleSession, mintFormToken } from "../../../domain/credentials/console-cookie.ts";
import type { SigningRing } from "../../../domain/credentials/credential.ts";
import { WRITTEN_FIELDS } from "./content.ts";
import { idOf } from "./inputs.tsx";

/** The name of the hidden field by which a form belongs to one session and one path. */
export const FORM_TOKEN = "form_token";

type FormProps = {
  ring: SigningRing;
  session: ConsoleSession;
  action: string;
  role?: "search";
  class?: string;
  children: Child;
};

/** A form that only this session can send, only to `action`, and only once. */
export const Form: FC<FormProps> = async ({ ring, session, action, children, ...attributes }) => (
  <form method="post" action={action} {...attributes}>
    <input type="hidden" name={FORM_TOKEN} value={await mintFormToken(ring, session, action)} />
    {children}
  </form>
);

/** A filter of a list, whose fields are in the URL. */
export const Filter: FC<{ action: string; children: Child }> = ({ action, children }) => (
  <form method="get" action={action} class="filter">
    {children}
    <button type="submit">Show</button>
  </form>
);

/** What is wrong with a form, each with a link to its field. It renders nothing without issues. */
export const ErrorSummary: FC<{ issues: Issue[] }> = ({ issues }) =>
  issues.length === 0 ? null : (
    <div class="notice errors" role="alert">
      <div>
        <h2>There is a problem</h2>
        <ul>
          {issues.map(({ path: [field], message }) => (
            <li>{field === undefined ? message : <FieldLink name={String(field)} message={message} />}</li>
          ))}
        </ul>
      </div>
    </div>
  );

/** A link to a field with what is wrong with it. Fields with the same message differ by their labels. */
const FieldLink: FC<{ name: string; message: string }> = ({ name, message }) => (
  <a href={`#${idOf(name)}`}>
    {name in WRITTEN_FIELDS && `${WRITTEN_FIELDS[name]}: `}
    {message}
  </a>
);
