import { directoryName, type Environment } from "../../../../common/environment.ts";
import type { Issue } from "../../../../common/issue.ts";
import { ok, type Result } from "../../../../common/result.ts";
import type { FoundKey, KeyPage, KeyQuery } from "../../../domain/credentials/keys.ts";
import { hasKey } from "../../../domain/credentials/operators.ts";
import { allowsRole } from "../../../domain/credentials/rights.ts";
import type { Failure } from "../../../domain/failure.ts";
import type { RequestContext } from "../../app-env.ts";
import { type IssuedKey, rollApiKey, rollOperator } from "../../operations/keys.ts";
import { admitAgain, registryFor } from "../../request/admit-caller.ts";
import { pathNumber } from "../../request/query.ts";
import { KeysQuery } from "../../resources/api-keys/wire.ts";
import { numberCursorOf } from "../../resources/cursor.ts";
import { ReasonBody, RollKeyBody } from "../../resources/fields.ts";
import { ButtonLink, Done, Notice } from "../components/detail.tsx";
import { Choices } from "../components/form.tsx";
import { Ending, GraceField, isValid, KeyFacts, KeyTable, withEndings } from "../components/key-details.tsx";
import { List, ROWS } from "../components/list.tsx";
import { Heading, plainText, Text, Time } from "../components/text.tsx";
import type { EnvironmentCall, SignedInCall, SignedInEnv } from "../console-env.ts";
import { environmentPath, keyPath, OPERATORS, operatorPath, withQuery } from "../paths.ts";
import { fieldsOf, issuesOf, numberIn, parseForm, readPageQuery, schemaIssues } from "../request/form-fields.ts";
import { respondWithForm, respondWithNewKey } from "../response/respond-with-form.tsx";
import { redirect, refuseWithPage, respondWithPage } from "../response/respond-with-page.tsx";
import { ActivityList, readActivity } from "./events.tsx";

/** The keys that pages show and change, API keys or operators: how they name them, and what they call. */
export type KeyKind = {
  listPath: string;
  listTitle: string;
  issue: string;
  empty: string;
  /** What the list says of the change that led to it. */
  done: Record<string, string>;
  /** One page of the keys; without a query, that was not valid, what the list shows then. */
  list: (query: KeyQuery | undefined) => Promise<Result<KeyPage, Failure>>;
  /** The environment of API keys; operators have none. */
  environment: Environment | undefined;
  pathOf: (id: number) => string;
  rights: string;
  canChange: () => boolean;
  /** What a key is called, with its number. */
  titleOf: (id: number) => string;
  /** The fields of the events' filter by which the page of a key has its changes. */
  actorOf: (id: number) => Record<string, string>;
  find: (ids: number[]) => Promise<Result<FoundKey[], Failure>>;
  /** Names the key in the log line of the request. */
  setSubject: (id: number) => void;
  effects: (found: FoundKey) => string[];
  graceSeconds: string;
  roll: (input: { id: number; graceSeconds: number }) => Promise<Result<IssuedKey, Failure>>;
  revoke: (id: number) => Promise<Result<unknown, Failure>>;
};

/** The pages of keys of one kind, which `kindOf` gives for a request: their list, and of each key itself and the form that replaces or ends it. */
export const keyPages = <Env extends SignedInEnv>(kindOf: (c: RequestContext<Env>) => KeyKind) => {
  const of = (page: (c: SignedInCall, kind: KeyKind) => Promise<Response>) => (c: RequestContext<Env>) =>
    page(c, kindOf(c));
  return {
    list: { show: of(showList) },
    about: { show: of(showKey) },
    end: { show: of(showEnd), send: of(replaceOrEnd) },
  };
};

/** The keys of an environment or of the deployment, also those that have ended. */
async function showList(c: SignedInCall, kind: KeyKind): Promise<Response> {
  const own = ["done"];
  const { fields, value: query, issues } = readPageQuery(c, KeysQuery(), { defaults: { limit: String(ROWS) }, own });
  const listed = await kind.list(query);
  if (!listed.ok) return refuseWithPage(c, listed.failure);
  const { keys, next } = listed.value;
  const found = await withEndings(keys, kind.find);
  return respondWithPage(c, {
    title: kind.listTitle,
    issues,
    actions: kind.canChange() && <ButtonLink path={`${kind.listPath}/issue`} text={kind.issue} tone="primary" />,
    children: (
      <>
        <Done done={c.req.query("done")} results={kind.done} />
        <List
          isEmpty={keys.length === 0}
          empty={kind.empty}
          paging={{ path: kind.listPath, fields: {}, cursor: fields.cursor, nextCursor: numberCursorOf(next) }}
        >
          <KeyTable rights={kind.rights} keys={found} pathOf={kind.pathOf} />
        </List>
      </>
    ),
  });
}

/** The key that the path names, or the page that refuses the request. Only an admin may change one. */
async function foundKey(c: SignedInCall, kind: KeyKind, toChange = true): Promise<FoundKey | Response> {
  const found = await kind.find([pathNumber(c.req.param("id"))]);
  if (!found.ok) return refuseWithPage(c, found.failure);
  if (toChange && !kind.canChange()) return refuseWithPage(c, { code: "insufficient_access", required_role: "admin" });
  return found.value[0] ?? refuseWithPage(c, { code: "route_not_found" });
}

/** The page of one key: what it is, who ended it, and its changes. */
async function showKey(c: SignedInCall, kind: KeyKind): Promise<Response> {
  const found = await foundKey(c, kind, false);
  if (found instanceof Response) return found;
  const { key, ending } = found;
  const activity = await readActivity(c, kind.pathOf(key.id), kind.actorOf(key.id));
  if (!activity.ok) return refuseWithPage(c, activity.failure);
  return respondWithPage(c, {
    title: key.name,
    crumbs: [[kind.listPath, kind.listTitle]],
    heading: <Text value={key.name} />,
    subline: <KeyFacts found={found} number={kind.titleOf(key.id)} pathOf={kind.pathOf} />,
    actions: kind.canChange() && isValid(key) && (
      <ButtonLink path={`${kind.listPath}/${key.id}/end`} text={`${END}…`} tone="danger" />
    ),
    issues: activity.value.filtered.issues,
    children: (
      <>
        {ending && (
          <Notice>
            <Ending found={found} environment={kind.environment} />
          </Notice>
        )}
        <ActivityList activity={activity.value} />
      </>
    ),
  });
}

const END = "Replace or end this key";

const endPageOf = (c: SignedInCall, kind: KeyKind, found: FoundKey, issues: Issue[]) => {
  const field = fieldsOf(c.get("form"), issues);
  if (!hasKey(found.key)) c.set("asksForKey", undefined);
  return respondWithForm(c, {
    title: `${END}: ${found.key.name}`,
    heading: <Heading words={`${END}:`} value={found.key.name} />,
    subline: <KeyFacts found={found} number={kind.titleOf(found.key.id)} pathOf={kind.pathOf} />,
    crumbs: [
      [kind.listPath, kind.listTitle],
      [kind.pathOf(found.key.id), plainText(found.key.name)],
    ],
    issues,
    effects: kind.effects(found),
    button: hasKey(found.key) ? "Replace the key" : undefined,
    danger: "End it without another key",
    fields: (
      <Choices
        {...field("leaked")}
        label="Has it leaked?"
        options={[
          {
            value: "yes",
            text: "Yes, or perhaps",
            hint: "somebody else may have it: it ends now, whatever stops working",
          },
          {
            value: "no",
            text: "No",
            hint: "if you replace it, both keys work for a while, so that nothing stops",
            below: <GraceField label="The old key works for" {...field("grace_seconds", kind.graceSeconds)} />,
          },
        ]}
      />
    ),
  });
};

async function showEnd(c: SignedInCall, kind: KeyKind): Promise<Response> {
  const found = await foundKey(c, kind);
  return found instanceof Response ? found : endPageOf(c, kind, found, []);
}

const leakIssues = (form: URLSearchParams): Issue[] =>
  ["yes", "no"].includes(form.get("leaked") ?? "")
    ? []
    : [{ path: ["leaked"], message: "Say whether somebody else may have the key." }];

/** Replaces a key, and shows the text of the new one once; or ends it, and leads to the list. A key that has leaked gets no grace. */
async function replaceOrEnd(c: SignedInCall, kind: KeyKind): Promise<Response> {
  const found = await foundKey(c, kind);
  if (found instanceof Response) return found;
  const form = c.get("form");
  if (form.has("danger")) return end(c, kind, found);
  const grace = form.get("leaked") === "no" ? numberIn(c, "grace_seconds") : 0;
  const body = parseForm(c, RollKeyBody(), ["reason"], { grace_seconds: grace });
  const issues = [...leakIssues(form), ...schemaIssues(body)];
  if (!body.ok || issues.length > 0) return endPageOf(c, kind, found, issues);
  const { id } = found.key;
  const graceSeconds = body.value.grace_seconds;
  const rolled = await kind.roll({ id, graceSeconds });
  if (!rolled.ok) return endPageOf(c, kind, found, issuesOf(rolled.failure));
  const { stored } = rolled.value;
  kind.setSubject(stored.id);
  const back: [string, string] = [kind.listPath, kind.listTitle];
  const ends = graceSeconds === 0 ? "has ended" : ["ends ", <Time at={Date.now() + graceSeconds * 1000} />];
  const replaced = [<a href={kind.pathOf(id)}>number {id}</a>, ", which ", ends];
  return respondWithNewKey(c, { title: kind.titleOf(stored.id), ...rolled.value, back, replaced });
}

async function end(c: SignedInCall, kind: KeyKind, found: FoundKey): Promise<Response> {
  // Only the form of a new key asks for the operator's own.
  c.set("ownKeyIssues", []);
  const body = parseForm(c, ReasonBody(), ["reason"]);
  const issues = [...leakIssues(c.get("form")), ...schemaIssues(body)];
  if (issues.length > 0) return endPageOf(c, kind, found, issues);
  const { id } = found.key;
  const revoked = await kind.revoke(id);
  if (!revoked.ok) return endPageOf(c, kind, found, issuesOf(revoked.failure));
  kind.setSubject(id);
  return redirect(c, withQuery(kind.listPath, { done: "revoked" }));
}

export function apiKeysOf(c: EnvironmentCall): KeyKind {
  const { directory, environment, operator } = c.var;
  return {
    listPath: `${environmentPath(environment)}/keys`,
    listTitle: "API keys",
    issue: "Issue a key",
    empty: "No keys. A program of the integrator needs one to call the API.",
    done: { revoked: "The key is revoked: the service refuses it and the sessions that it has minted." },
    list: async (query) =>
      query ? admitAgain(c, await directory.listKeys(operator, query)) : ok({ keys: [], next: null }),
    environment,
    actorOf: (id) => ({ environment: directoryName(environment), actor: `api_key:${id}` }),
    pathOf: (id) => keyPath(environment, id),
    rights: "May",
    canChange: () => allowsRole(operator.role, "admin"),
    titleOf: (id) => `API key ${id}`,
    find: (ids) => directory.findKeys(operator, ids),
    setSubject: (id) => c.set("subjectKeyId", id),
    effects: () => [
      "Replace: a new key with the same name, scopes and expiry takes its place. Its text is shown once, on the next page.",
      "End: the service refuses the key from now on, and the program that uses it stops working. This cannot be undone.",
      "With the old key the viewer sessions end that it has minted.",
    ],
    graceSeconds: "86400",
    roll: (input) => rollApiKey(c, input),
    revoke: (id) => directory.revokeKey(operator, id),
  };
}

export const operatorsOf = (c: SignedInCall): KeyKind => ({
  listPath: OPERATORS,
  listTitle: "Operators",
  issue: "Issue an operator's key",
  empty: "No operators yet: only the bootstrap token signs in. Issue a key for each person.",
  done: {
    issued: "The operator is issued: it signs in with your company, and has no key.",
    revoked: "The operator is revoked: the key is refused, and so are its sessions in the console.",
  },
  list: (query = { start: 0, limit: ROWS }) => registryFor(c).listOperators(c.get("presentedOperator"), query),
  environment: undefined,
  actorOf: (id) => ({ actor: `operator:${id}` }),
  pathOf: operatorPath,
  rights: "Role",
  canChange: () => allowsRole(c.get("operator")?.role ?? "viewer", "admin"),
  titleOf: (id) => `Operator ${id}`,
  find: async (ids) => {
    const found = await registryFor(c).findOperators(c.get("presentedOperator"), ids);
    return found.ok ? ok(found.value.found) : found;
  },
  setSubject: (id) => c.set("subjectOperatorId", id),
  effects: ({ key }) => [
    "Replace: a new key with the same name, role, expiry and email takes its place. Its text is shown once, on the next page.",
    "End: the service refuses the key from now on. What it has issued stays. This cannot be undone.",
    "With the old key its sessions in the console end.",
    ...(key.rights === "admin" ? ["If no other admin is left, only the bootstrap token can issue operators."] : []),
  ],
  graceSeconds: "0",
  roll: (input) => rollOperator(c, input),
  revoke: (id) => registryFor(c).revokeOperator(c.get("presentedOperator"), id),
});
