import type { Child, FC } from "hono/jsx";
import type { Environment } from "../../../../common/environment.ts";
import type { Issue } from "../../../../common/issue.ts";
import type { Result } from "../../../../common/result.ts";
import type { FoundKey, KeyPage, KeyQuery } from "../../../domain/credentials/keys.ts";
import { hasKey } from "../../../domain/credentials/operators.ts";
import type { Failure } from "../../../domain/failure.ts";
import type { RequestContext } from "../../app-env.ts";
import type { IssuedKey } from "../../operations/keys.ts";
import { pathNumber } from "../../request/query.ts";
import { KeysQuery } from "../../resources/api-keys/wire.ts";
import { numberCursorOf } from "../../resources/cursor.ts";
import { ReasonBody, RollKeyBody } from "../../resources/fields.ts";
import { Done, Facts } from "../components/detail.tsx";
import { ConfirmationField } from "../components/form.tsx";
import { Ending, GraceField, isValid, KeyState, KeyTable, keyFacts, withEndings } from "../components/key-details.tsx";
import { List, rowsBefore } from "../components/list.tsx";
import { plainText, Text, Time } from "../components/text.tsx";
import type { SignedInEnv } from "../console-env.ts";
import { DEPLOYMENT_EVENTS, environmentPath, withQuery } from "../paths.ts";
import {
  confirmationIssues,
  confirmationOf,
  fieldsOf,
  issuesOf,
  numberIn,
  parseForm,
  schemaIssues,
} from "../request/form-fields.ts";
import { readPageQuery } from "../request/page-query.ts";
import { respondWithForm } from "../response/respond-with-form.tsx";
import { respondWithNewKey } from "../response/respond-with-new-key.tsx";
import { redirect, refuseWithPage, respondWithPage } from "../response/respond-with-page.tsx";

type Call = RequestContext<SignedInEnv>;

/** The keys that pages show and change, API keys or operators: how they name them, and what they call. */
export type KeyKind = {
  listPath: string;
  /** The name of the list. */
  listTitle: string;
  /** The text of the button that leads to the form of a new key. */
  issue: string;
  /** What stands in place of a list without keys. */
  empty: string;
  /** What the list says of the change that led to it. */
  done: Record<string, string>;
  /** One page of the keys; without a query, that was not valid, what the list shows then. */
  list: (query: KeyQuery | undefined) => Promise<Result<KeyPage, Failure>>;
  /** The environment of API keys; operators have none. */
  environment: Environment | undefined;
  pathOf: (id: number) => string;
  /** The name of what the key may do. */
  rights: string;
  /** Whether the operator may issue, roll and revoke them. */
  canChange: () => boolean;
  /** What a key is called, with its number. */
  titleOf: (id: number) => string;
  describe: (found: FoundKey) => Child;
  /** The keys with these numbers. */
  find: (ids: number[]) => Promise<Result<FoundKey[], Failure>>;
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

/** The pages of keys of one kind, which `kindOf` gives for a request: their list, and of each key itself and its changes. */
export const keyPages = <Env extends SignedInEnv>(kindOf: (c: RequestContext<Env>) => KeyKind) => {
  const of = (page: (c: Call, kind: KeyKind) => Promise<Response>) => (c: RequestContext<Env>) => page(c, kindOf(c));
  return {
    list: { show: of(showList) },
    about: { show: of(showKey) },
    roll: { show: of(showRoll), send: of(roll) },
    revoke: { show: of(showRevoke), send: of(revoke) },
  };
};

const ROWS = "50";

/** The keys of an environment or of the deployment, also those that have ended. */
async function showList(c: Call, kind: KeyKind): Promise<Response> {
  const own = ["done", "from"];
  const { fields, value: query, issues } = readPageQuery(c, KeysQuery(), { defaults: { limit: ROWS }, own });
  const listed = await kind.list(query);
  if (!listed.ok) return refuseWithPage(c, listed.failure);
  const { keys, next } = listed.value;
  const found = await withEndings(keys, async (ids) => {
    const ended = await kind.find(ids);
    return ended.ok ? ended.value : [];
  });
  return respondWithPage(c, {
    title: kind.listTitle,
    issues,
    actions: kind.canChange() && (
      <a class="button primary" href={`${kind.listPath}/issue`}>
        {kind.issue}
      </a>
    ),
    children: (
      <>
        <Done done={c.req.query("done")} results={kind.done} />
        <List
          label={kind.listTitle}
          isEmpty={keys.length === 0}
          empty={kind.empty}
          paging={{
            path: kind.listPath,
            fields: {},
            cursor: fields.cursor,
            nextCursor: numberCursorOf(next),
            rows: keys.length,
            from: rowsBefore(c.req.query("from")),
          }}
        >
          <KeyTable rights={kind.rights} keys={found} pathOf={kind.pathOf} />
        </List>
      </>
    ),
  });
}

/** The key that the path names, or the page that refuses the request. Only an admin may change one. */
async function foundKey(c: Call, kind: KeyKind, toChange = true): Promise<FoundKey | Response> {
  const found = await kind.find([pathNumber(c.req.param("id"))]);
  if (!found.ok) return refuseWithPage(c, found.failure);
  if (toChange && !kind.canChange()) return refuseWithPage(c, { code: "insufficient_access", required_role: "admin" });
  return found.value[0] ?? refuseWithPage(c, { code: "route_not_found" });
}

/** The pages above the page of a change. */
const crumbsOf = ({ listPath, listTitle, pathOf }: KeyKind, { key }: FoundKey): [path: string, text: string][] => [
  [listPath, listTitle],
  [pathOf(key.id), plainText(key.name)],
];

/** The page of one key: its state, who ended it, what it may do, and its changes. */
async function showKey(c: Call, kind: KeyKind): Promise<Response> {
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

const rollPageOf = (c: Call, kind: KeyKind, found: FoundKey, issues: Issue[]) => {
  const field = fieldsOf(c.get("form"), issues);
  return respondWithForm(c, {
    title: kind.roll.title(found.key.id),
    crumbs: crumbsOf(kind, found),
    issues,
    effects: [kind.describe(found), ...kind.roll.effects],
    button: "Roll the key",
    fields: <GraceField label="Grace for the old key" {...field("grace_seconds", kind.roll.graceSeconds)} />,
  });
};

const revokePageOf = (c: Call, kind: KeyKind, found: FoundKey, issues: Issue[]) =>
  respondWithForm(c, {
    title: kind.revoke.title(found.key.id),
    crumbs: crumbsOf(kind, found),
    issues,
    effects: [kind.describe(found), ...kind.revoke.effects(found)],
    button: kind.revoke.button,
    isDangerous: true,
    fields: <ConfirmationField expected={confirmationOf(found.key.name, found.key.id)} issues={issues} />,
  });

/** Answers with the page on which to roll a key. */
async function showRoll(c: Call, kind: KeyKind): Promise<Response> {
  const found = await foundKey(c, kind);
  if (found instanceof Response) return found;
  return hasKey(found.key) ? rollPageOf(c, kind, found, []) : refuseWithPage(c, { code: "operator_without_key" });
}

/** Rolls a key, and shows the text of the new one once. */
async function roll(c: Call, kind: KeyKind): Promise<Response> {
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
async function showRevoke(c: Call, kind: KeyKind): Promise<Response> {
  const found = await foundKey(c, kind);
  return found instanceof Response ? found : revokePageOf(c, kind, found, []);
}

/** Revokes a key, and leads to the list. */
async function revoke(c: Call, kind: KeyKind): Promise<Response> {
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
