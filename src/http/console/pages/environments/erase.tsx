import { directoryName } from "../../../../../common/environment.ts";
import type { Issue } from "../../../../../common/issue.ts";
import type { RequestContext } from "../../../app-env.ts";
import { eraseEnvironmentIn } from "../../../operations/erase-environment.ts";
import { ReasonBody } from "../../../resources/fields.ts";
import { ConfirmationField } from "../../components/form.tsx";
import type { EnvironmentEnv } from "../../console-env.ts";
import { ENVIRONMENTS, environmentPath, withQuery } from "../../paths.ts";
import { confirmationIssues, issuesOf, parseForm, schemaIssues } from "../../request/form-fields.ts";
import { respondWithForm } from "../../response/respond-with-form.tsx";
import { redirect } from "../../response/respond-with-page.tsx";

const EFFECTS = [
  "All its groups, API keys, sessions and events are deleted now and for good. There is no undo.",
  "Every credential of the environment is refused from then on, and never works again. Stale answers end within 5 minutes.",
  "Backups keep what they have. To keep a copy, take one before: ug backup.",
];

const erasePageOf = (c: RequestContext<EnvironmentEnv>, issues: Issue[]) => {
  const name = directoryName(c.get("environment"));
  return respondWithForm(c, {
    title: `Erase ${name}`,
    crumbs: [[environmentPath(c.get("environment")), name]],
    issues,
    effects: EFFECTS,
    button: `Erase ${name}`,
    isDangerous: true,
    fields: <ConfirmationField expected={name} issues={issues} />,
  });
};

/** The page on which to erase an environment. */
export const eraseEnvironmentPage = (c: RequestContext<EnvironmentEnv>): Promise<Response> => erasePageOf(c, []);

/** Erases an environment for good. */
export async function eraseEnvironment(c: RequestContext<EnvironmentEnv>): Promise<Response> {
  const environment = c.get("environment");
  const body = parseForm(c, ReasonBody(), ["reason"]);
  const issues = [...confirmationIssues(c, directoryName(environment)), ...schemaIssues(body)];
  if (issues.length > 0) return erasePageOf(c, issues);
  const erased = await eraseEnvironmentIn(c, c.get("presentedOperator"), environment);
  if (!erased.ok) return erasePageOf(c, issuesOf(erased.failure));
  return redirect(c, withQuery(ENVIRONMENTS, { done: "erased" }));
}
