import type { Child, FC } from "hono/jsx";
import type { Issue } from "../../../../common/issue.ts";

/** The id of a field's element. */
export const idOf = (name: string): string => `field-${name}`;

/** The attributes of a field in which people may write or paste secrets: no browser stores, corrects or checks its text. */
export const SECRET = { autocomplete: "off", autocapitalize: "off", spellcheck: false } as const;

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
      <input {...attributes} type={type} value={value} required={required} {...SECRET} autocomplete={autocomplete} />
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
export const Checkbox: FC<{ name: string; label: Child; value?: string; checked?: boolean }> = ({
  name,
  label,
  value = "yes",
  checked = false,
}) => (
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
          {below}
        </>
      ))}
    </fieldset>
  );
};
