import type { Child, FC } from "hono/jsx";
import {
  directoryName,
  ENVIRONMENT_TAGS,
  type Environment,
  tagWord,
  WORKSPACE,
} from "../../../../../common/environment.ts";
import type { Issue } from "../../../../../common/issue.ts";
import { SCOPES, type Scope } from "../../../../domain/credentials/rights.ts";
import { LOCATIONS } from "../../../../records.ts";
import { eraseEnvironmentIn } from "../../../operations/erase-environment.ts";
import { issueApiKey } from "../../../operations/keys.ts";
import { registryFor } from "../../../request/admit-caller.ts";
import { IssueKeyBody } from "../../../resources/api-keys/wire.ts";
import { ReasonBody } from "../../../resources/fields.ts";
import { Checkbox, Choices, ConfirmationField, Select, TextField } from "../../components/form.tsx";
import { EXPIRY_DEFAULT, ExpiryField } from "../../components/key-details.tsx";
import type { Crumbs } from "../../components/layout.tsx";
import type { EnvironmentCall, FormCall, SignedInCall } from "../../console-env.ts";
import { ENVIRONMENTS, environmentPath, withQuery } from "../../paths.ts";
import {
  confirmationIssues,
  fieldsOf,
  issuesOf,
  numberIn,
  parseForm,
  schemaIssues,
} from "../../request/form-fields.ts";
import { formPage, respondWithNewKey } from "../../response/respond-with-form.tsx";
import { redirect, refuseWithPage } from "../../response/respond-with-page.tsx";

type Preset = { text: string; hint: string; scopes?: readonly Scope[] };

/** What integrators need keys for, by their values in the form. Without scopes, the value is the access. */
const PRESETS = {
  sessions: {
    text: "Mint viewer sessions",
    hint: "for the backend of a page with dashboards",
    scopes: ["sessions:create"],
  },
  read: { text: "Read groups and events", hint: "without tokens: for reports, and for a copy that follows changes" },
  write: { text: "Everything", hint: "for the backend that manages groups; it can view as every customer" },
  chosen: { text: "Only what is ticked", hint: "one scope or more" },
} as const satisfies Record<string, Preset>;

/** What the form offers first. The first key of an environment is for the backend that creates its groups. */
const presetDefault = (isFirst: boolean) => (isFirst ? "write" : "sessions");
const SCOPE_FIELD = "scope";

const isPreset = (text: string): text is keyof typeof PRESETS => Object.hasOwn(PRESETS, text);

const tickedScopes = (form: URLSearchParams): Scope[] => {
  const ticked = form.getAll(SCOPE_FIELD);
  return SCOPES.filter((scope) => ticked.includes(scope));
};

function grantIn(form: URLSearchParams): { access: string } | { scopes: readonly string[] } {
  const chosen = form.get("preset") ?? "";
  if (chosen === "chosen") return { scopes: tickedScopes(form) };
  const preset: Preset | undefined = isPreset(chosen) ? PRESETS[chosen] : undefined;
  return preset?.scopes ? { scopes: preset.scopes } : { access: chosen };
}

function ignoredTicks(form: URLSearchParams): Issue[] {
  if (form.get("preset") === "chosen" || !form.has(SCOPE_FIELD)) return [];
  const { text } = PRESETS.chosen;
  return [
    { path: ["preset"], message: `You have ticked scopes, which this choice ignores. Choose "${text}", or tick none.` },
  ];
}

const draftIn = (c: SignedInCall, { workspace, tag }: Environment) =>
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

const scopeBoxes = (form: URLSearchParams): Child =>
  SCOPES.map((scope) => (
    <Checkbox
      name={SCOPE_FIELD}
      value={scope}
      label={<code>{scope}</code>}
      checked={tickedScopes(form).includes(scope)}
    />
  ));

const KeyFields: FC<{ form: URLSearchParams; issues: Issue[]; isFirst?: boolean }> = (props) => {
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

/** Issues the key that the form asks for, and answers with the page that shows it once; or returns what is wrong. */
async function issueKeyIn(c: FormCall, environment: Environment): Promise<Response | Issue[]> {
  const draft = draftIn(c, environment);
  const issues = [...(draft.ok ? [] : atFields(draft.failure.issues)), ...ignoredTicks(c.get("form"))];
  if (!draft.ok || issues.length > 0) return issues;
  const { name, grant, location, expires_in_seconds: expiresInSeconds } = draft.value;
  const issued = await issueApiKey(c, { environment, name, grant, location, expiresInSeconds });
  if (!issued.ok) return issuesOf(issued.failure);
  c.set("subjectKeyId", issued.value.stored.id);
  c.set("environment", environment);
  const back: [string, string] = [`${environmentPath(environment)}/keys`, "API keys"];
  return respondWithNewKey(c, { title: `API key ${issued.value.stored.id}`, ...issued.value, back });
}

const issuePageOf = (c: EnvironmentCall, issues: Issue[]) => ({
  title: "Issue an API key",
  crumbs: [[`${environmentPath(c.get("environment"))}/keys`, "API keys"]] satisfies Crumbs,
  effects: EFFECTS,
  button: "Issue the key",
  fields: <KeyFields form={c.get("form")} issues={issues} />,
});

export const issueKey = formPage(issuePageOf, (c) => issueKeyIn(c, c.get("environment")));

const CREATE_EFFECTS = [
  "The first API key creates the environment. The key's text is shown once, on the next page.",
  "Ids of groups are unique in an environment, and its keys see nothing of another one.",
];

const createPageOf = (c: FormCall, issues: Issue[]) => {
  const field = fieldsOf(c.get("form"), issues);
  return {
    title: "Create an environment",
    crumbs: [[ENVIRONMENTS, "Environments"]] satisfies Crumbs,
    effects: CREATE_EFFECTS,
    button: "Create it",
    fields: (
      <>
        <TextField
          {...field("workspace")}
          label="Workspace"
          hint="The integrating application: lower-case letters, digits and hyphens."
          required
        />
        <Select
          {...field("environment", "Testing")}
          label="Environment"
          options={ENVIRONMENT_TAGS.map((tag): [string, string] => [tagWord(tag), tagWord(tag)])}
        />
        <KeyFields form={c.get("form")} issues={issues} isFirst />
      </>
    ),
  };
};

async function create(c: FormCall): Promise<Response | Issue[]> {
  const form = c.get("form");
  const workspace = (form.get("workspace") ?? "").trim();
  const tag = ENVIRONMENT_TAGS.find((each) => tagWord(each) === form.get("environment"));
  if (!WORKSPACE.test(workspace)) return [{ path: ["workspace"], message: WORKSPACE_MESSAGE }];
  if (tag === undefined) return [{ path: ["environment"], message: "Choose one of the environments." }];
  const environment = { workspace, tag };
  const known = await registryFor(c).admit(c.get("presentedOperator"), "admin", environment);
  if (known.ok) return [{ path: ["workspace"], message: "This environment exists already. Issue a key on its page." }];
  return known.failure.code === "environment_not_found" ? issueKeyIn(c, environment) : refuseWithPage(c, known.failure);
}

const WORKSPACE_MESSAGE = "Give 1 to 40 lower-case letters, digits and hyphens, no hyphen first.";

/** An environment is created by its first API key, whose text is shown once. */
export const createEnvironment = formPage(createPageOf, create);

const ERASE_EFFECTS = [
  "All its groups, API keys, sessions and events are deleted now and for good. There is no undo.",
  "Every credential of the environment is refused from then on, and never works again. Stale answers end within 5 minutes.",
  "Backups keep what they have. To keep a copy, take one before: ug backup.",
];

const erasePageOf = (c: EnvironmentCall, issues: Issue[]) => {
  const name = directoryName(c.get("environment"));
  return {
    title: `Erase ${name}`,
    crumbs: [[environmentPath(c.get("environment")), name]] satisfies Crumbs,
    effects: ERASE_EFFECTS,
    button: `Erase ${name}`,
    isDangerous: true,
    fields: <ConfirmationField expected={name} issues={issues} />,
  };
};

async function erase(c: EnvironmentCall): Promise<Response | Issue[]> {
  const environment = c.get("environment");
  const body = parseForm(c, ReasonBody(), ["reason"]);
  const issues = [...confirmationIssues(c, directoryName(environment)), ...schemaIssues(body)];
  if (issues.length > 0) return issues;
  const erased = await eraseEnvironmentIn(c, environment);
  return erased.ok ? redirect(c, withQuery(ENVIRONMENTS, { done: "erased" })) : issuesOf(erased.failure);
}

export const eraseEnvironment = formPage(erasePageOf, erase);
