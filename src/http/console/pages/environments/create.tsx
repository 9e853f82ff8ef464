import { ENVIRONMENT_TAGS, tagWord, WORKSPACE } from "../../../../../common/environment.ts";
import type { Issue } from "../../../../../common/issue.ts";
import type { RequestContext } from "../../../app-env.ts";
import { registryFor } from "../../../request/admit-caller.ts";
import { Select, TextField } from "../../components/form.tsx";
import type { FormEnv, SignedInEnv } from "../../console-env.ts";
import { ENVIRONMENTS } from "../../paths.ts";
import { fieldsOf } from "../../request/form-fields.ts";
import { respondWithForm } from "../../response/respond-with-form.tsx";
import { refuseWithPage } from "../../response/respond-with-page.tsx";
import { issueKeyIn, KeyFields } from "../keys/issue.tsx";

const EFFECTS = [
  "The first API key creates the environment. The key's text is shown once, on the next page.",
  "Ids of groups are unique in an environment, and its keys see nothing of another one.",
];

const createPageOf = (c: RequestContext<SignedInEnv>, issues: Issue[]) => {
  const field = fieldsOf(c.get("form"), issues);
  return respondWithForm(c, {
    title: "Create an environment",
    crumbs: [[ENVIRONMENTS, "Environments"]],
    issues,
    effects: EFFECTS,
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
  });
};

/** The page on which to create an environment by its first API key. */
export async function createEnvironmentPage(c: RequestContext<SignedInEnv>): Promise<Response> {
  const admitted = await registryFor(c).admit(c.get("presentedOperator"), "admin", undefined);
  if (!admitted.ok) return refuseWithPage(c, admitted.failure);
  return createPageOf(c, []);
}

/** Creates an environment, and shows the text of its first key once. */
export async function createEnvironment(c: RequestContext<FormEnv>): Promise<Response> {
  const form = c.get("form");
  const workspace = (form.get("workspace") ?? "").trim();
  const word = form.get("environment");
  const tag = ENVIRONMENT_TAGS.find((each) => tagWord(each) === word);
  const issues: Issue[] = [];
  if (!WORKSPACE.test(workspace))
    issues.push({
      path: ["workspace"],
      message: "Give 1 to 40 lower-case letters, digits and hyphens, no hyphen first.",
    });
  if (tag === undefined) issues.push({ path: ["environment"], message: "Choose one of the environments." });
  if (tag === undefined || issues.length > 0) return createPageOf(c, issues);
  const environment = { workspace, tag };
  const known = await registryFor(c).admit(c.get("presentedOperator"), "admin", environment);
  if (known.ok) {
    const message = "This environment exists already. Issue a key on its page.";
    return createPageOf(c, [{ path: ["workspace"], message }]);
  }
  if (known.failure.code !== "environment_not_found") return refuseWithPage(c, known.failure);
  const issued = await issueKeyIn(c, environment);
  return issued instanceof Response ? issued : createPageOf(c, issued.issues);
}
