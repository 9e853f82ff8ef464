import type { Child, FC } from "hono/jsx";
import type { Issue } from "../../../../common/issue.ts";

/** The id of a field's element. */
export const idOf = (name: string): string => `field-${name}`;

type FieldProps = {
  name: string;
  label: string;
  hint?: string | undefined;
  /** What stands below the field. */
  note?: Child;
  issues?: Issue[] | undefined;
};

/** A field with its label, a hint, and what is wrong with its value. */
const Field: FC<FieldProps & { children: (attributes: Record<string, string>) => Child }> = ({
  name,
  label,
  hint,
  note,
  issues = [],
  children,
}) => {
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
      {hint && <small id={`${idOf(name)}-hint`}>{hint}</small>}
      {wrong.length > 0 && <strong id={`${idOf(name)}-error`}>{wrong.map(({ message }) => message).join(" ")}</strong>}
      {children(attributes)}
      {note}
    </div>
  );
};

type Value = { value?: string | undefined };

/** A line of text. */
export const TextField: FC<FieldProps & Value & { type?: string; required?: boolean; autocomplete?: string }> = ({
  value = "",
  type = "text",
  required = false,
  autocomplete = "off",
  ...field
}) => (
  <Field {...field}>
    {(attributes) => (
      <input
        {...attributes}
        type={type}
        value={value}
        required={required}
        autocomplete={autocomplete}
        autocapitalize="off"
        spellcheck={false}
      />
    )}
  </Field>
);

/** Several lines of text. */
export const TextArea: FC<FieldProps & Value & { rows?: number }> = ({ value = "", rows = 8, ...field }) => (
  <Field {...field}>
    {(attributes) => (
      // A browser drops the first line break.
      <textarea {...attributes} rows={rows} spellcheck={false}>{`\n${value}`}</textarea>
    )}
  </Field>
);

/** One of a few values, each with its text. */
export const Select: FC<FieldProps & Value & { options: [value: string, text: string][] }> = ({
  value = "",
  options,
  ...field
}) => (
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

/** A choice that is made or not. */
export const Checkbox: FC<{ name: string; label: string; checked?: boolean }> = ({ name, label, checked = false }) => (
  <p class="field">
    <input id={idOf(name)} type="checkbox" name={name} value="yes" checked={checked} />{" "}
    <label for={idOf(name)}>{label}</label>
  </p>
);
