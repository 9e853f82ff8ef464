import type { Issue } from "../../../../common/issue.ts";
import { ssoIn } from "../../../../common/settings/settings.ts";
import { ROLES } from "../../../domain/credentials/rights.ts";
import { issueOperator } from "../../operations/keys.ts";
import { IssueOperatorBody, operatorDraftOf } from "../../resources/operators/wire.ts";
import { Checkbox, Select, TextField } from "../components/form.tsx";
import { ExpiryField } from "../components/key-details.tsx";
import type { Crumbs } from "../components/layout.tsx";
import type { FormCall } from "../console-env.ts";
import { OPERATORS, withQuery } from "../paths.ts";
import { fieldsOf, issuesOf, numberIn, parseForm } from "../request/form-fields.ts";
import { formPage, respondWithNewKey } from "../response/respond-with-form.tsx";
import { redirect } from "../response/respond-with-page.tsx";

const EFFECTS = [
  "The key's text is shown once, on the next page. Give it to one person or one program alone: events name it.",
  "A viewer reads everything but tokens. Support also changes groups and rotates their tokens. An admin does everything, also revoke you. Backup takes backups, and cannot sign in here.",
];

const issuePageOf = (c: FormCall, issues: Issue[]) => {
  const form = c.get("form");
  const field = fieldsOf(form, issues);
  return {
    title: "Issue an operator's key",
    crumbs: [[OPERATORS, "Operators"]] satisfies Crumbs,
    effects: EFFECTS,
    button: "Issue the key",
    fields: (
      <>
        <TextField {...field("name")} label="Name" hint="The person or the program." required />
        <Select
          {...field("role", "viewer")}
          label="Role"
          options={ROLES.map((role): [string, string] => [role, role])}
        />
        {(ssoIn(c.env) || form.has("email")) && (
          <>
            <TextField
              {...field("email")}
              label="Email (optional)"
              hint="By this address the operator signs in with your company. It cannot be changed."
              type="email"
            />
            <div class="field">
              <Checkbox
                name="no_key"
                label="No key: the operator signs in with your company alone"
                checked={form.has("no_key")}
              />
            </div>
          </>
        )}
        <ExpiryField {...field("expires_in_seconds")} />
      </>
    ),
  };
};

async function issue(c: FormCall): Promise<Response | Issue[]> {
  const body = parseForm(c, IssueOperatorBody(), ["name", "role", "email", "reason"], {
    key: c.get("form").get("no_key") !== "yes",
    expires_in_seconds: numberIn(c, "expires_in_seconds"),
  });
  if (!body.ok) return body.failure.issues;
  const issued = await issueOperator(c, operatorDraftOf(body.value));
  if (!issued.ok) return issuesOf(issued.failure, { email_taken: "email" });
  const { stored, text } = issued.value;
  c.set("subjectOperatorId", stored.id);
  if (text === undefined) return redirect(c, withQuery(OPERATORS, { done: "issued" }));
  return respondWithNewKey(c, { title: `Operator ${stored.id}`, stored, text, back: [OPERATORS, "Operators"] });
}

export const issueOperatorKey = formPage(issuePageOf, issue);
