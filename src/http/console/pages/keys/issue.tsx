import type { Child, FC } from "hono/jsx";
import type { Environment } from "../../../../../common/environment.ts";
import type { Issue } from "../../../../../common/issue.ts";
import { SCOPES, type Scope } from "../../../../domain/credentials/rights.ts";
import { LOCATIONS } from "../../../../records.ts";
import type { RequestContext } from "../../../app-env.ts";
import { issueApiKey } from "../../../operations/keys.ts";
import { operatorCall } from "../../../request/admit-caller.ts";
import { IssueKeyBody } from "../../../resources/api-keys/wire.ts";
import { Checkbox, Choices, Select, TextField } from "../../components/form.tsx";
import { EXPIRY_DEFAULT, ExpiryField } from "../../components/key-details.tsx";
import type { EnvironmentEnv, FormEnv, SignedInEnv } from "../../console-env.ts";
import { environmentPath } from "../../paths.ts";
import { fieldsOf, issuesOf, numberIn, parseForm } from "../../request/form-fields.ts";
import { respondWithForm } from "../../response/respond-with-form.tsx";
import { respondWithNewKey } from "../../response/respond-with-new-key.tsx";

type Preset = { text: string; hint: string; scopes?: readonly Scope[] };

/** What integrators need keys for, by their values in the form. Without scopes, the value is the access. */
const PRESETS = {
  sessions: {
    text: "Mint viewer sessions",
    hint: "for the backend of a page with dashboards",
    scopes: ["sessions:create"],
  },
  read: { text: "Read groups and events", hint: "without tokens: for reports and support" },
  mirror: { text: "Follow changes", hint: "for a copy of the groups", scopes: ["groups:read", "events:read"] },
  write: { text: "Everything", hint: "for the backend that manages groups; it can view as every customer" },
  chosen: { text: "Only what is ticked", hint: "one scope or more" },
} as const satisfies Record<string, Preset>;

/** What the form offers first. The first key of an environment is for the backend that creates its groups. */
const presetDefault = (isFirst: boolean) => (isFirst ? "write" : "sessions");
const SCOPE_FIELD = "scope";

const isPreset = (text: string): text is keyof typeof PRESETS => Object.hasOwn(PRESETS, text);

/** The scopes that are ticked. Another text than a scope is none. */
const tickedScopes = (form: URLSearchParams): Scope[] => {
  const ticked = form.getAll(SCOPE_FIELD);
  return SCOPES.filter((scope) => ticked.includes(scope));
};

/** What the form grants: a shorthand, or scopes. */
function grantIn(form: URLSearchParams): { access: string } | { scopes: readonly string[] } {
  const chosen = form.get("preset") ?? "";
  if (chosen === "chosen") return { scopes: tickedScopes(form) };
  const preset: Preset | undefined = isPreset(chosen) ? PRESETS[chosen] : undefined;
  return preset?.scopes ? { scopes: preset.scopes } : { access: chosen };
}

/** What is wrong with ticks that would be ignored. */
function ignoredTicks(form: URLSearchParams): Issue[] {
  if (form.get("preset") === "chosen" || !form.has(SCOPE_FIELD)) return [];
  const { text } = PRESETS.chosen;
  return [
    { path: ["preset"], message: `You have ticked scopes, which this choice ignores. Choose "${text}", or tick none.` },
  ];
}

/** The key that the form asks for, in an environment. */
const draftIn = (c: RequestContext<SignedInEnv>, { workspace, tag }: Environment) =>
  parseForm(c, IssueKeyBody(), ["name", "reason", "location"], {
    workspace,
    environment: tag,
    ...grantIn(c.get("form")),
    expires_in_seconds: numberIn(c, "expires_in_seconds"),
  });

/** The issues of the API's body, at the fields of the form. A form can be without scopes, and cannot have wrong ones. */
const atFields = (issues: Issue[]): Issue[] =>
  issues.map((issue) => {
    const [field] = issue.path;
    if (field === "scopes") return { path: ["preset"], message: "Tick at least one scope." };
    return field === "access" ? { ...issue, path: ["preset"] } : issue;
  });

/** Each scope with a tick box. They are seen with the choice that needs them, and without a choice that hides them they stay. */
const scopeBoxes = (form: URLSearchParams): Child => (
  <div class="scopes">
    {SCOPES.map((scope) => (
      <Checkbox
        name={SCOPE_FIELD}
        value={scope}
        label={<code>{scope}</code>}
        checked={tickedScopes(form).includes(scope)}
      />
    ))}
  </div>
);

/** The fields of a new key. */
export const KeyFields: FC<{ form: URLSearchParams; issues: Issue[]; isFirst?: boolean }> = (props) => {
  const { form, issues, isFirst = false } = props;
  const field = fieldsOf(form, issues);
  return (
    <>
      <TextField {...field("name")} label="Name of the key" hint="The program that uses it. Events name it." required />
      <Choices
        {...field("preset", presetDefault(isFirst))}
        label="What the key may do"
        options={Object.entries<Preset>(PRESETS).map(([value, { text, hint, scopes }]) => ({
          value,
          text,
          hint: scopes ? `${hint}: ${scopes.join(", ")}` : hint,
          ...(value === "chosen" && { below: scopeBoxes(form) }),
        }))}
      />
      <ExpiryField {...field("expires_in_seconds", EXPIRY_DEFAULT)} />
      {isFirst && (
        <Select
          {...field("location")}
          label="Place of the environment"
          hint="Near its integrator. It cannot be changed later."
          options={[["", "near the first caller"], ...LOCATIONS.map((each): [string, string] => [each, each])]}
        />
      )}
    </>
  );
};

const EFFECTS = [
  "The key's text is shown once, on the next page.",
  "A program that has it acts in this environment, as its scopes allow. One that may read tokens or mint sessions can view as every customer.",
];

const issuePageOf = (c: RequestContext<EnvironmentEnv>, issues: Issue[]) =>
  respondWithForm(c, {
    title: "Issue an API key",
    crumbs: [[`${environmentPath(c.get("environment"))}/keys`, "API keys"]],
    issues,
    effects: EFFECTS,
    button: "Issue the key",
    fields: <KeyFields form={c.get("form")} issues={issues} />,
  });

/** Issues the key that the form asks for. Returns what is wrong, or the page that shows it once. */
export async function issueKeyIn(
  c: RequestContext<FormEnv>,
  environment: Environment,
): Promise<{ issues: Issue[] } | Response> {
  const draft = draftIn(c, environment);
  const issues = [...(draft.ok ? [] : atFields(draft.failure.issues)), ...ignoredTicks(c.get("form"))];
  if (!draft.ok || issues.length > 0) return { issues };
  const { name, grant, location, expires_in_seconds: expiresInSeconds } = draft.value;
  const issued = await issueApiKey(operatorCall(c), { environment, name, grant, location, expiresInSeconds });
  if (!issued.ok) return { issues: issuesOf(issued.failure) };
  c.set("subjectKeyId", issued.value.stored.id);
  c.set("environment", environment);
  const { stored, text } = issued.value;
  const back: [string, string] = [`${environmentPath(environment)}/keys`, "API keys"];
  return respondWithNewKey(c, { title: `API key ${stored.id}`, stored, text, back });
}

/** The page on which to issue an API key. */
export const issueKeyPage = (c: RequestContext<EnvironmentEnv>): Promise<Response> => issuePageOf(c, []);

/** Issues an API key, and shows its text once. */
export async function issueKey(c: RequestContext<EnvironmentEnv>): Promise<Response> {
  const issued = await issueKeyIn(c, c.get("environment"));
  return issued instanceof Response ? issued : issuePageOf(c, issued.issues);
}
