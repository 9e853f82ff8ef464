import { createFactory } from "hono/factory";
import type { FC } from "hono/jsx";
import type { Environment } from "../../../../../common/environment.ts";
import type { Issue } from "../../../../../common/issue.ts";
import { SCOPES } from "../../../../domain/credentials/rights.ts";
import { LOCATIONS } from "../../../../records.ts";
import type { RequestContext } from "../../../app-env.ts";
import { issueApiKey } from "../../../operations/api-keys.ts";
import { operatorCall } from "../../../request/admit-caller.ts";
import { IssueKeyBody } from "../../../resources/api-keys/schemas.ts";
import { ChangeForm } from "../../components/change-form.tsx";
import { Checkbox, Select, TextField } from "../../components/fields.tsx";
import { ExpiryField } from "../../components/keys.tsx";
import type { EnvironmentEnv, FormEnv, SignedInEnv } from "../../console-env.ts";
import { environmentPath } from "../../paths.ts";
import { issuesOf, numberIn, parseForm } from "../../request/form-fields.ts";
import { respondWithNewKey } from "../../response/respond-with-new-key.tsx";
import { respondWithPage } from "../../response/respond-with-page.tsx";

/** Sets of scopes for what integrators need, by their values in the form. */
const PRESETS = {
  write: { text: "everything: a backend that manages groups", scopes: undefined },
  read: { text: "read groups and events, without tokens", scopes: undefined },
  sessions: { text: "only mint viewer sessions: a page's backend", scopes: ["sessions:create"] },
  mirror: { text: "follow changes: a copy of the groups", scopes: ["groups:read", "events:read"] },
  chosen: { text: "the scopes that are ticked below", scopes: undefined },
} as const satisfies Record<string, { text: string; scopes: readonly string[] | undefined }>;

const isPreset = (text: string): text is keyof typeof PRESETS => Object.hasOwn(PRESETS, text);

/** What the form grants: a shorthand, or scopes. */
function grantIn(form: URLSearchParams): { access: string } | { scopes: readonly string[] } {
  const preset = form.get("preset") ?? "";
  if (preset === "chosen") return { scopes: SCOPES.filter((scope) => form.has(`scope ${scope}`)) };
  const scopes = isPreset(preset) ? PRESETS[preset].scopes : undefined;
  return scopes ? { scopes } : { access: preset };
}

/** The key that the form asks for, in an environment. */
const draftIn = (c: RequestContext<SignedInEnv>, { workspace, tag }: Environment) =>
  parseForm(c, IssueKeyBody(), ["name", "reason", "location"], {
    workspace,
    environment: tag,
    ...grantIn(c.get("form")),
    expires_in_seconds: numberIn(c, "expires_in_seconds"),
  });

/** The issues of the API's body, at the fields of the form. */
const atFields = (issues: Issue[]): Issue[] =>
  issues.map((issue) =>
    ["access", "scopes"].includes(String(issue.path[0])) ? { ...issue, path: ["preset"] } : issue,
  );

/** The fields of a new key. */
export const KeyFields: FC<{ form: URLSearchParams; issues: Issue[]; isFirst?: boolean }> = ({
  form,
  issues,
  isFirst = false,
}) => (
  <>
    <TextField
      name="name"
      label="Name of the key"
      hint="The program that uses it. Events name it."
      value={form.get("name") ?? ""}
      required
      issues={issues}
    />
    <Select
      name="preset"
      label="Rights"
      value={form.get("preset") ?? "write"}
      options={Object.entries(PRESETS).map(([value, { text }]): [string, string] => [value, text])}
      issues={issues}
    />
    <details open={form.get("preset") === "chosen"}>
      <summary>Scopes to tick</summary>
      {SCOPES.map((scope) => (
        <Checkbox name={`scope ${scope}`} label={scope} checked={form.has(`scope ${scope}`)} />
      ))}
    </details>
    <ExpiryField value={form.get("expires_in_seconds") ?? ""} issues={issues} />
    {isFirst && (
      <Select
        name="location"
        label="Place of the environment"
        hint="Near its integrator. It cannot be changed later."
        value={form.get("location") ?? ""}
        options={[["", "near the first caller"], ...LOCATIONS.map((each): [string, string] => [each, each])]}
        issues={issues}
      />
    )}
  </>
);

const EFFECTS = [
  "The key's text is shown once, on the next page.",
  "A program that has it acts in this environment, as its scopes allow. One that may read tokens or mint sessions can view as every customer.",
];

const issuePageOf = (c: RequestContext<EnvironmentEnv>, issues: Issue[]) =>
  respondWithPage(c, {
    title: "Issue an API key",
    issues,
    children: (
      <ChangeForm
        c={c}
        effects={EFFECTS}
        button="Issue the key"
        issues={issues}
        cancel={`${environmentPath(c.get("environment"))}/keys`}
      >
        <KeyFields form={c.get("form")} issues={issues} />
      </ChangeForm>
    ),
  });

/** Issues the key that the form asks for. Returns what is wrong, or the page that shows it once. */
export async function issueKeyIn(
  c: RequestContext<FormEnv>,
  environment: Environment,
): Promise<{ issues: Issue[] } | Response> {
  const draft = draftIn(c, environment);
  if (!draft.ok) return { issues: atFields(draft.failure.issues) };
  const { name, grant, location, expires_in_seconds: expiresInSeconds } = draft.value;
  const issued = await issueApiKey(operatorCall(c), { environment, name, grant, location, expiresInSeconds });
  if (!issued.ok) return { issues: issuesOf(issued.failure) };
  c.set("subjectKeyId", issued.value.stored.id);
  const { stored, text } = issued.value;
  return respondWithNewKey(c, { title: `API key ${stored.id}`, text, back: `${environmentPath(environment)}/keys` });
}

const factory = createFactory<EnvironmentEnv>();

/** The page on which to issue an API key. */
export const issueKeyPage = factory.createHandlers((c) => issuePageOf(c, []));

/** Issues an API key, and shows its text once. */
export const issueKey = factory.createHandlers(async (c) => {
  const issued = await issueKeyIn(c, c.get("environment"));
  return issued instanceof Response ? issued : issuePageOf(c, issued.issues);
});
