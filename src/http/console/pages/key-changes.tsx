import type { Child } from "hono/jsx";
import type { Issue } from "../../../../common/issue.ts";
import type { Result } from "../../../../common/result.ts";
import type { FoundKey } from "../../../domain/credentials/keys.ts";
import type { Failure } from "../../../domain/failure.ts";
import type { RequestContext } from "../../app-env.ts";
import type { IssuedKey } from "../../operations/issue-credential.ts";
import { pathNumber } from "../../request/path-number.ts";
import { ReasonBody, RollKeyBody } from "../../resources/fields.ts";
import { ChangeForm } from "../components/change-form.tsx";
import { ConfirmationField } from "../components/fields.tsx";
import { GraceField } from "../components/keys.tsx";
import type { SignedInEnv } from "../console-env.ts";
import { withQuery } from "../paths.ts";
import { confirmationIssues, issuesOf, numberIn, parseForm, schemaIssues } from "../request/form-fields.ts";
import { redirect } from "../response/redirect.ts";
import { respondWithNewKey } from "../response/respond-with-new-key.tsx";
import { refuseWithPage, respondWithPage } from "../response/respond-with-page.tsx";

type Call = RequestContext<SignedInEnv>;

/** The keys that a page changes, API keys or operators: how it names them, and what it calls. */
export type KeyKind = {
  listPath: string;
  /** What a key is called, with its number. */
  titleOf: (id: number) => string;
  describe: (found: FoundKey) => Child;
  /** The key with this number, `undefined` if there is none, or the page that refuses the request. */
  find: (id: number) => Promise<FoundKey | undefined | Response>;
  /** Names the key in the log line of the request. */
  setSubject: (id: number) => void;
  roll: {
    title: (id: number) => string;
    effects: string[];
    /** The grace that the page offers first. */
    graceSeconds: string;
    run: (input: { id: number; graceSeconds: number }) => Promise<Result<IssuedKey, Failure>>;
  };
  revoke: {
    title: (id: number) => string;
    effects: (found: FoundKey) => string[];
    button: string;
    run: (id: number) => Promise<Result<unknown, Failure>>;
  };
};

/** The key that the path names, or the page that refuses the request. */
async function foundKey(c: Call, { find }: KeyKind): Promise<FoundKey | Response> {
  return (await find(pathNumber(c.req.param("id") ?? ""))) ?? refuseWithPage(c, { code: "route_not_found" });
}

const rollPageOf = (c: Call, { roll, describe, listPath }: KeyKind, found: FoundKey, issues: Issue[]) =>
  respondWithPage(c, {
    title: roll.title(found.key.id),
    issues,
    children: (
      <ChangeForm
        c={c}
        effects={[describe(found), ...roll.effects]}
        button="Roll the key"
        issues={issues}
        cancel={listPath}
      >
        <GraceField
          label="Grace for the old key"
          value={c.get("form").get("grace_seconds") ?? roll.graceSeconds}
          issues={issues}
        />
      </ChangeForm>
    ),
  });

const revokePageOf = (c: Call, { revoke, describe, listPath }: KeyKind, found: FoundKey, issues: Issue[]) =>
  respondWithPage(c, {
    title: revoke.title(found.key.id),
    issues,
    children: (
      <ChangeForm
        c={c}
        effects={[describe(found), ...revoke.effects(found)]}
        button={revoke.button}
        isDangerous
        issues={issues}
        cancel={listPath}
      >
        <ConfirmationField expected={String(found.key.id)} issues={issues} />
      </ChangeForm>
    ),
  });

/** Answers with the page on which to roll a key. */
export async function showRollPage(c: Call, kind: KeyKind): Promise<Response> {
  const found = await foundKey(c, kind);
  return found instanceof Response ? found : rollPageOf(c, kind, found, []);
}

/** Rolls a key, and shows the text of the new one once. */
export async function rollKeyOf(c: Call, kind: KeyKind): Promise<Response> {
  const found = await foundKey(c, kind);
  if (found instanceof Response) return found;
  const body = parseForm(c, RollKeyBody(), ["reason"], { grace_seconds: numberIn(c, "grace_seconds") });
  if (!body.ok) return rollPageOf(c, kind, found, body.failure.issues);
  const rolled = await kind.roll.run({ id: found.key.id, graceSeconds: body.value.grace_seconds });
  if (!rolled.ok) return rollPageOf(c, kind, found, issuesOf(rolled.failure));
  const { stored, text } = rolled.value;
  kind.setSubject(stored.id);
  return respondWithNewKey(c, { title: kind.titleOf(stored.id), text, back: kind.listPath });
}

/** Answers with the page on which to revoke a key. */
export async function showRevokePage(c: Call, kind: KeyKind): Promise<Response> {
  const found = await foundKey(c, kind);
  return found instanceof Response ? found : revokePageOf(c, kind, found, []);
}

/** Revokes a key, and leads to the list. */
export async function revokeKeyOf(c: Call, kind: KeyKind): Promise<Response> {
  const found = await foundKey(c, kind);
  if (found instanceof Response) return found;
  const { id } = found.key;
  const body = parseForm(c, ReasonBody(), ["reason"]);
  const issues = [...schemaIssues(body), ...confirmationIssues(c, String(id))];
  if (issues.length > 0) return revokePageOf(c, kind, found, issues);
  const revoked = await kind.revoke.run(id);
  if (!revoked.ok) return revokePageOf(c, kind, found, issuesOf(revoked.failure));
  kind.setSubject(id);
  return redirect(c, withQuery(kind.listPath, { done: "revoked" }));
}
