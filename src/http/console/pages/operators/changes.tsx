import { createFactory } from "hono/factory";
import type { Child } from "hono/jsx";
import type { FoundKey } from "../../../../domain/credentials/keys.ts";
import type { Issue } from "../../../../domain/failure.ts";
import type { RequestContext } from "../../../app-env.ts";
import { registryOf } from "../../../durable-objects.ts";
import { rollOperator } from "../../../operations/operators.ts";
import { pathNumber } from "../../../request/path-number.ts";
import { ReasonBody, RollKeyBody } from "../../../resources/fields.ts";
import { ChangeForm } from "../../components/change-form.tsx";
import { ConfirmationField, Select } from "../../components/fields.tsx";
import { GRACES, NewKey } from "../../components/keys.tsx";
import { Text, Time } from "../../components/text.tsx";
import type { FormEnv, SignedInEnv } from "../../console-env.ts";
import { OPERATORS, withQuery } from "../../paths.ts";
import { confirmationIssues, issuesOf, numberIn, parseForm } from "../../request/form-fields.ts";
import { redirect } from "../../response/redirect.ts";
import { refuseWithPage, respondWithPage } from "../../response/respond-with-page.tsx";

type Call = RequestContext<SignedInEnv>;

/** The operator that the path names, or the page that refuses the request. Only an admin may change one. */
async function foundOperator(c: Call, id: string): Promise<FoundKey | Response> {
  const found = await registryOf(c.env).findOperators(c.get("presentedOperator"), [pathNumber(id)]);
  if (!found.ok) return refuseWithPage(c, found.failure);
  c.set("operator", found.value.operator);
  if (found.value.operator.role !== "admin")
    return refuseWithPage(c, { code: "insufficient_access", required_role: "admin" });
  return found.value.found[0] ?? refuseWithPage(c, { code: "route_not_found" });
}

const Named = ({ key }: FoundKey): Child => (
  <>
    Operator {key.id}, <Text value={key.name} />: {key.rights}. Last used <Time at={key.lastUsedAt} none="never" />.
  </>
);

const rollPageOf = (c: Call, found: FoundKey, issues: Issue[]) =>
  respondWithPage(c, {
    title: `Roll the key of operator ${found.key.id}`,
    status: issues.length > 0 ? 422 : 200,
    hasErrors: issues.length > 0,
    children: (
      <ChangeForm
        c={c}
        effects={[
          Named(found),
          "A new key with the same name, role and expiry takes its place. Its text is shown once, on the next page.",
          "After the grace, the old key is refused, and the sessions that it has in the console end.",
        ]}
        button="Roll the key"
        issues={issues}
        cancel={OPERATORS}
      >
        <Select
          name="grace_seconds"
          label="Grace for the old key"
          value={c.get("form").get("grace_seconds") ?? "0"}
          options={GRACES}
          issues={issues}
        />
      </ChangeForm>
    ),
  });

const revokePageOf = (c: Call, found: FoundKey, issues: Issue[]) =>
  respondWithPage(c, {
    title: `Revoke operator ${found.key.id}`,
    status: issues.length > 0 ? 422 : 200,
    hasErrors: issues.length > 0,
    children: (
      <ChangeForm
        c={c}
        effects={[
          Named(found),
          "From now on the service refuses the key, and its sessions in the console end. What it has issued stays.",
          ...(found.key.rights === "admin"
            ? ["If no other admin is left, only the bootstrap token can issue operators after that."]
            : []),
          "This cannot be undone.",
        ]}
        button="Revoke the operator"
        isDangerous
        issues={issues}
        cancel={OPERATORS}
      >
        <ConfirmationField expected={String(found.key.id)} issues={issues} />
      </ChangeForm>
    ),
  });

const pages = createFactory<SignedInEnv>();
const forms = createFactory<FormEnv>();

/** The page on which to roll an operator's key. */
export const rollOperatorPage = pages.createHandlers(async (c) => {
  const found = await foundOperator(c, c.req.param("id") ?? "");
  return found instanceof Response ? found : rollPageOf(c, found, []);
});

/** Rolls an operator's key, and shows the text of the new one once. */
export const rollOperatorKey = forms.createHandlers(async (c) => {
  const found = await foundOperator(c, c.req.param("id") ?? "");
  if (found instanceof Response) return found;
  const body = parseForm(c, RollKeyBody(), ["reason"], { grace_seconds: numberIn(c, "grace_seconds") });
  if (!body.ok) return rollPageOf(c, found, body.failure.issues);
  const call = { env: c.env, ring: c.get("ring"), presentedOperator: c.get("presentedOperator") };
  const rolled = await rollOperator(call, { id: found.key.id, graceSeconds: body.value.grace_seconds });
  if (!rolled.ok) return rollPageOf(c, found, issuesOf(rolled.failure));
  c.set("subjectOperatorId", rolled.value.stored.id);
  return respondWithPage(c, {
    title: `Operator ${rolled.value.stored.id}`,
    children: <NewKey text={rolled.value.text} back={OPERATORS} />,
  });
});

/** The page on which to revoke an operator. */
export const revokeOperatorPage = pages.createHandlers(async (c) => {
  const found = await foundOperator(c, c.req.param("id") ?? "");
  return found instanceof Response ? found : revokePageOf(c, found, []);
});

/** Revokes an operator. */
export const revokeOperator = forms.createHandlers(async (c) => {
  const found = await foundOperator(c, c.req.param("id") ?? "");
  if (found instanceof Response) return found;
  const body = parseForm(c, ReasonBody(), ["reason"]);
  const issues = [...(body.ok ? [] : body.failure.issues), ...confirmationIssues(c, String(found.key.id))];
  if (issues.length > 0) return revokePageOf(c, found, issues);
  const revoked = await registryOf(c.env).revokeOperator(c.get("presentedOperator"), found.key.id);
  if (!revoked.ok) return revokePageOf(c, found, issuesOf(revoked.failure));
  c.set("subjectOperatorId", found.key.id);
  return redirect(c, withQuery(OPERATORS, { done: "revoked" }));
});
