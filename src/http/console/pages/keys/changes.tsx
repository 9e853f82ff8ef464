import { createFactory } from "hono/factory";
import type { Child } from "hono/jsx";
import type { FoundKey } from "../../../../domain/credentials/keys.ts";
import type { Issue } from "../../../../domain/failure.ts";
import type { RequestContext } from "../../../app-env.ts";
import { rollApiKey } from "../../../operations/api-keys.ts";
import { pathNumber } from "../../../request/path-number.ts";
import { ReasonBody, RollKeyBody } from "../../../resources/fields.ts";
import { ChangeForm } from "../../components/change-form.tsx";
import { ConfirmationField, Select } from "../../components/fields.tsx";
import { GRACES, NewKey } from "../../components/keys.tsx";
import { Text, Time } from "../../components/text.tsx";
import type { EnvironmentEnv } from "../../console-env.ts";
import { environmentPath, withQuery } from "../../paths.ts";
import { confirmationIssues, issuesOf, numberIn, parseForm } from "../../request/form-fields.ts";
import { redirect } from "../../response/redirect.ts";
import { refuseWithPage, respondWithPage } from "../../response/respond-with-page.tsx";

type Call = RequestContext<EnvironmentEnv>;

const factory = createFactory<EnvironmentEnv>();
const listPath = (c: Call) => `${environmentPath(c.get("environment"))}/keys`;

/** The key that the path names, or the page that refuses the request. */
async function foundKey(c: Call, id: string): Promise<FoundKey | Response> {
  const found = await c.get("directory").findKeys(c.get("operator"), [pathNumber(id)]);
  if (!found.ok) return refuseWithPage(c, found.failure);
  return found.value[0] ?? refuseWithPage(c, { code: "route_not_found" });
}

const Named = ({ key }: FoundKey): Child => (
  <>
    Key {key.id}, <Text value={key.name} />: <code>{key.rights}</code>. Last used{" "}
    <Time at={key.lastUsedAt} none="never" />.
  </>
);

const rollPageOf = (c: Call, found: FoundKey, issues: Issue[]) =>
  respondWithPage(c, {
    title: `Roll API key ${found.key.id}`,
    status: issues.length > 0 ? 422 : 200,
    hasErrors: issues.length > 0,
    children: (
      <ChangeForm
        c={c}
        effects={[
          Named(found),
          "A new key with the same name, scopes and expiry takes its place. Its text is shown once, on the next page.",
          "The old key is refused after the grace, and with it the viewer sessions that it has minted.",
        ]}
        button="Roll the key"
        issues={issues}
        cancel={listPath(c)}
      >
        <Select
          name="grace_seconds"
          label="Grace for the old key"
          value={c.get("form").get("grace_seconds") ?? "3600"}
          options={GRACES}
          issues={issues}
        />
      </ChangeForm>
    ),
  });

/** The page on which to roll an API key. */
export const rollKeyPage = factory.createHandlers(async (c) => {
  const found = await foundKey(c, c.req.param("id") ?? "");
  return found instanceof Response ? found : rollPageOf(c, found, []);
});

/** Rolls an API key, and shows the text of the new one once. */
export const rollKey = factory.createHandlers(async (c) => {
  const found = await foundKey(c, c.req.param("id") ?? "");
  if (found instanceof Response) return found;
  const body = parseForm(c, RollKeyBody(), ["reason"], { grace_seconds: numberIn(c, "grace_seconds") });
  if (!body.ok) return rollPageOf(c, found, body.failure.issues);
  const { id } = found.key;
  const manager = {
    ring: c.get("ring"),
    directory: c.get("directory"),
    environment: c.get("environment"),
    operator: c.get("operator"),
  };
  const rolled = await rollApiKey(manager, { id, graceSeconds: body.value.grace_seconds });
  if (!rolled.ok) return rollPageOf(c, found, issuesOf(rolled.failure));
  c.set("subjectKeyId", rolled.value.stored.id);
  return respondWithPage(c, {
    title: `API key ${rolled.value.stored.id}`,
    children: <NewKey text={rolled.value.text} back={listPath(c)} />,
  });
});

const revokePageOf = (c: Call, found: FoundKey, issues: Issue[]) =>
  respondWithPage(c, {
    title: `Revoke API key ${found.key.id}`,
    status: issues.length > 0 ? 422 : 200,
    hasErrors: issues.length > 0,
    children: (
      <ChangeForm
        c={c}
        effects={[
          Named(found),
          "From now on the service refuses it, and the viewer sessions that it has minted. The program that uses it stops working.",
          "This cannot be undone. To replace the key without a break, roll it with a grace instead.",
        ]}
        button="Revoke the key"
        isDangerous
        issues={issues}
        cancel={listPath(c)}
      >
        <ConfirmationField expected={String(found.key.id)} issues={issues} />
      </ChangeForm>
    ),
  });

/** The page on which to revoke an API key. */
export const revokeKeyPage = factory.createHandlers(async (c) => {
  const found = await foundKey(c, c.req.param("id") ?? "");
  return found instanceof Response ? found : revokePageOf(c, found, []);
});

/** Revokes an API key. */
export const revokeKey = factory.createHandlers(async (c) => {
  const found = await foundKey(c, c.req.param("id") ?? "");
  if (found instanceof Response) return found;
  const body = parseForm(c, ReasonBody(), ["reason"]);
  const issues = [...(body.ok ? [] : body.failure.issues), ...confirmationIssues(c, String(found.key.id))];
  if (issues.length > 0) return revokePageOf(c, found, issues);
  const revoked = await c.get("directory").revokeKey(c.get("operator"), found.key.id);
  if (!revoked.ok) return revokePageOf(c, found, issuesOf(revoked.failure));
  c.set("subjectKeyId", found.key.id);
  return redirect(c, withQuery(listPath(c), { done: "revoked" }));
});
