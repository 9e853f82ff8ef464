import type { Child, FC } from "hono/jsx";
import type { Environment } from "../../../../common/environment.ts";
import type { Issue } from "../../../../common/issue.ts";
import type { Result } from "../../../../common/result.ts";
import type { FoundKey } from "../../../domain/credentials/keys.ts";
import { hasKey } from "../../../domain/credentials/operators.ts";
import type { Failure } from "../../../domain/failure.ts";
import type { RequestContext } from "../../app-env.ts";
import type { IssuedKey } from "../../operations/keys.ts";
import { pathNumber } from "../../request/query.ts";
import { ReasonBody, RollKeyBody } from "../../resources/fields.ts";
import { ChangeForm } from "../components/change-form.tsx";
import { Facts } from "../components/detail.tsx";
import { ConfirmationField } from "../components/inputs.tsx";
import { Ending, GraceField, isValid, KeyState, keyFacts } from "../components/key-details.tsx";
import { plainText, Text, Time } from "../components/text.tsx";
import type { SignedInEnv } from "../console-env.ts";
import { DEPLOYMENT_EVENTS, environmentPath, withQuery } from "../paths.ts";
import {
  confirmationIssues,
  confirmationOf,
  issuesOf,
  numberIn,
  parseForm,
  schemaIssues,
} from "../request/form-fields.ts";
import { redirect } from "../response/redirect.ts";
import { respondWithNewKey } from "../response/respond-with-new-key.tsx";
import { refuseWithPage, respondWithPage } from "../response/respond-with-page.tsx";

type Call = RequestContext<SignedInEnv>;

/** The keys that a page changes, API keys or operators: how it names them, and what it calls. */
export type KeyKind = {
  listPath: string;
  /** The name of the list. */
  listTitle: string;
  /** The environment of API keys; operators have none. */
  environment: Environment | undefined;
  pathOf: (id: number) => string;
  /** The name of what the key may do. */
  rights: string;
  /** Whether the operator may roll and revoke it. */
  canChange: () => boolean;
  /** What a key is called, with its number. */
  titleOf: (id: number) => string;
  describe: (found: FoundKey) => Child;
  /** The key with this number, `undefined` if there is none, or the page that refuses the request. `toChange` asks for an admin. */
  find: (id: number, toChange: boolean) => Promise<FoundKey | undefined | Response>;
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
async function foundKey(c: Call, { find }: KeyKind, toChange = true): Promise<FoundKey | Response> {
  return (await find(pathNumber(c.req.param("id")), toChange)) ?? refuseWithPage(c, { code: "route_not_found" });
}

/** The pages above the page of a change. */
const crumbsOf = ({ listPath, listTitle, pathOf }: KeyKind, { key }: FoundKey): [path: string, text: string][] => [
  [listPath, listTitle],
  [pathOf(key.id), plainText(key.name)],
];

/** The page of one key: its state, who ended it, what it may do, and its changes. */
export async function showKeyOf(c: Call, kind: KeyKind): Promise<Response> {
  const found = await foundKey(c, kind, false);
  if (found instanceof Response) return found;
  const { key, ending } = found;
  const path = `${kind.listPath}/${key.id}`;
  const actor = `${kind.environment ? "api_key" : "operator"}:${key.id}`;
  const events = kind.environment ? `${environmentPath(kind.environment)}/events` : DEPLOYMENT_EVENTS;
  return respondWithPage(c, {
    title: key.name,
    crumbs: [[kind.listPath, kind.listTitle]],
    heading: <Text value={key.name} />,
    subline: <KeyState found={found} pathOf={kind.pathOf} />,
    actions: kind.canChange() && isValid(key) && (
      <>
        {hasKey(key) && (
          <a class="button" href={`${path}/roll`}>
            Roll…
          </a>
        )}
        <a class="button danger" href={`${path}/revoke`}>
          Revoke…
        </a>
      </>
    ),
    children: (
      <>
        {ending && (
          <div class="notice warn">
            <p>
              <Ending found={found} environment={kind.environment} />
            </p>
          </div>
        )}
        <Facts facts={keyFacts(found, kind.rights)} />
        <p>
          <a href={withQuery(events, { actor })}>
            {kind.environment ? "What it has changed" : "What they have changed"}
          </a>
        </p>
      </>
    ),
  });
}

const rollPageOf = (c: Call, kind: KeyKind, found: FoundKey, issues: Issue[]) =>
  respondWithPage(c, {
    title: kind.roll.title(found.key.id),
    crumbs: crumbsOf(kind, found),
    issues,
    children: (
      <ChangeForm
        c={c}
        effects={[kind.describe(found), ...kind.roll.effects]}
        button="Roll the key"
        issues={issues}
        cancel={kind.pathOf(found.key.id)}
      >
        <GraceField
          label="Grace for the old key"
          value={c.get("form").get("grace_seconds") ?? kind.roll.graceSeconds}
          issues={issues}
        />
      </ChangeForm>
    ),
  });

const revokePageOf = (c: Call, kind: KeyKind, found: FoundKey, issues: Issue[]) =>
  respondWithPage(c, {
    title: kind.revoke.title(found.key.id),
    crumbs: crumbsOf(kind, found),
    issues,
    children: (
      <ChangeForm
        c={c}
        effects={[kind.describe(found), ...kind.revoke.effects(found)]}
        button={kind.revoke.button}
        isDangerous
        issues={issues}
        cancel={kind.pathOf(found.key.id)}
      >
        <ConfirmationField expected={confirmationOf(found.key.name, found.key.id)} issues={issues} />
      </ChangeForm>
    ),
  });

/** Answers with the page on which to roll a key. */
export async function showRollPage(c: Call, kind: KeyKind): Promise<Response> {
  const found = await foundKey(c, kind);
  if (found instanceof Response) return found;
  return hasKey(found.key) ? rollPageOf(c, kind, found, []) : refuseWithPage(c, { code: "operator_without_key" });
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
  const back: [string, string] = [kind.listPath, kind.listTitle];
  const replaced = (
    <ReplacedKey id={found.key.id} path={kind.pathOf(found.key.id)} graceSeconds={body.value.grace_seconds} />
  );
  return respondWithNewKey(c, { title: kind.titleOf(stored.id), stored, text, back, replaced });
}

/** Which key a new one replaces, and how long the old one goes on. */
const ReplacedKey: FC<{ id: number; path: string; graceSeconds: number }> = ({ id, path, graceSeconds }) => (
  <>
    <a href={path}>number {id}</a>, which{" "}
    {graceSeconds === 0 ? (
      "has ended"
    ) : (
      <>
        ends <Time at={Date.now() + graceSeconds * 1000} />
      </>
    )}
  </>
);

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
  const issues = [...confirmationIssues(c, confirmationOf(found.key.name, id)), ...schemaIssues(body)];
  if (issues.length > 0) return revokePageOf(c, kind, found, issues);
  const revoked = await kind.revoke.run(id);
  if (!revoked.ok) return revokePageOf(c, kind, found, issuesOf(revoked.failure));
  kind.setSubject(id);
  return redirect(c, withQuery(kind.listPath, { done: "revoked" }));
}
