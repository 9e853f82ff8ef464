import type { Child, FC } from "hono/jsx";
import type { Issue } from "../../../../common/issue.ts";
import { mintFormToken } from "../../../domain/credentials/console-cookie.ts";
import type { ConsoleCall } from "../console-env.ts";
import { WRITTEN_FIELDS } from "./content.ts";

/** The name of the hidden field by which a form belongs to one session and one path. */
export const FORM_TOKEN = "form_token";

type FormProps = { c: ConsoleCall; action: string; role?: "search"; class?: string; children: Child };

/** A form that only this session can send, only to `action`, and only once. */
export const Form: FC<FormProps> = async ({ c, action, children, ...attributes }) => {
  const session = c.get("session");
  const token = session && (await mintFormToken(c.get("ring"), session, action));
  return (
    <form method="post" action={action} {...attributes}>
      {token && <input type="hidden" name={FORM_TOKEN} value={token} />}
      {children}
    </form>
  );
};

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

export const idOf = (name: string): string => `field-${name}`;

/** The attributes of a field in which people may write or paste secrets: no browser stores, corrects or checks its text. */
export const SECRET = { autocomplete: "off", autocapitalize: "off", spellcheck: false } as const;

type FieldProps = {
  name: string;
  label: string;
  hint?: string | undefined;
  note?: Child;
  issues?: Issue[] | undefined;
};

/** A field with its label, a hint, and what is wrong with its value. */
const Field: FC<FieldProps & { children: (attributes: Record<string, string>) => Child }> = (props) => {
  const { name, label, hint, note, issues = [], children } = props;
  const wrong = issues.filter(({ path }) => path[0] === name);
  const descriptions = [...(hint ? [`${idOf(name)}-hint`] : []), ...(wrong.length > 0 ? [`${idOf(name)}-error`] : [])];
  const attributes: Record<string, string> = {
    id: idOf(name),
    name,
    ...(descriptions.length > 0 && { "aria-describedby": descriptions.join(" ") }),
    ...(wrong.length > 0 && { "aria-invalid": "true" }),
  };
  return (
    <div class={wrong.length > 0 ? "field invalid" : "field"}>
      <label for={idOf(name)}>{label}</label>
      {hint && (
        <span class="hint" id={`${idOf(name)}-hint`}>
          {hint}
        </span>
      )}
      {wrong.length > 0 && <strong id={`${idOf(name)}-error`}>{wrong.map(({ message }) => message).join(" ")}</strong>}
      {children(attributes)}
      {note}
    </div>
  );
};

type Value = { value?: string | undefined };

export const TextField: FC<FieldProps & Value & { type?: string; required?: boolean; autocomplete?: string }> = (
  props,
) => {
  const { value = "", type = "text", required = false, autocomplete = "off", ...field } = props;
  return (
    <Field {...field}>
      {(attributes) => (
        <input {...attributes} type={type} value={value} required={required} {...SECRET} autocomplete={autocomplete} />
      )}
    </Field>
  );
};

export const TextArea: FC<FieldProps & Value & { rows?: number }> = ({ value = "", rows = 8, ...field }) => (
  <Field {...field}>
    {(attributes) => (
      // A browser drops the first line break.
      <textarea {...attributes} rows={rows} spellcheck={false}>{`\n${value}`}</textarea>
    )}
  </Field>
);

type SelectProps = FieldProps & Value & { options: [value: string, text: string][] };

export const Select: FC<SelectProps> = ({ value = "", options, ...field }) => (
  <Field {...field}>
    {(attributes) => (
      <select {...attributes}>
        {options.map(([each, text]) => (
          <option value={each} selected={each === value}>
            {text}
          </option>
        ))}
      </select>
    )}
  </Field>
);

/** Why a change is made, for the people who read the events. */
export const ReasonField: FC<Value & { issues?: Issue[] | undefined }> = (props) => (
  <TextField
    name="reason"
    label="Reason (optional)"
    hint="It is in the event of this change. Write no secret here."
    {...props}
  />
);

/** Asks for a text that shows that the operator means what they do. */
export const ConfirmationField: FC<{ expected: string; issues?: Issue[] | undefined }> = ({ expected, issues }) => (
  <TextField name="confirmation" label={`Type ${expected} to confirm`} required issues={issues} />
);

/** Asks for the operator's own key: to sign in, or once more before a change. */
export const OperatorKeyField: FC<{ issues?: Issue[] | undefined; hint: string; autocomplete?: string }> = (props) => (
  <TextField name="operator_key" type="password" label="Your operator key" required {...props} />
);

type CheckboxProps = { name: string; label: Child; value?: string; checked?: boolean };

export const Checkbox: FC<CheckboxProps> = ({ name, label, value = "yes", checked = false }) => (
  <label class="choice">
    <input type="checkbox" name={name} value={value} checked={checked} />
    <span>{label}</span>
  </label>
);

/** One of a few choices, each with what it means, all seen at once. What stands below an option belongs to it. */
export const Choices: FC<
  FieldProps & Value & { options: { value: string; text: string; hint?: string; below?: Child }[] }
> = ({ value, options, ...field }) => {
  const wrong = (field.issues ?? []).filter(({ path }) => path[0] === field.name);
  return (
    <fieldset class={wrong.length > 0 ? "field invalid" : "field"} id={idOf(field.name)} tabindex={-1}>
      <legend>{field.label}</legend>
      {wrong.length > 0 && <strong>{wrong.map(({ message }) => message).join(" ")}</strong>}
      {options.map(({ value: each, text, hint, below }) => (
        <>
          <label class="choice">
            <input type="radio" name={field.name} value={each} checked={each === value} />
            <span>
              {text}
              {hint && <span class="hint">{hint}</span>}
            </span>
          </label>
          {below && <div class="below">{below}</div>}
        </>
      ))}
    </fieldset>
  );
};
