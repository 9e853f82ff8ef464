import type { Child, FC } from "hono/jsx";
import * as z from "zod/mini";
import { directoryName, findEnvironment, parseDirectoryName } from "../../../../../common/environment.ts";
import { SEARCH_UNITS_MAX } from "../../../../../common/limits.ts";
import { ok, type Result } from "../../../../../common/result.ts";
import type { Operator } from "../../../../domain/credentials/caller.ts";
import { allowsRole } from "../../../../domain/credentials/rights.ts";
import type { Failure } from "../../../../domain/failure.ts";
import type { StoredEnvironment } from "../../../../records.ts";
import { type Directory, isKnownDamaged } from "../../../durable-objects.ts";
import { type FoundGroups, searchGroups } from "../../../operations/user-groups.ts";
import { registryFor } from "../../../request/admit-caller.ts";
import { pathNumber } from "../../../request/query.ts";
import { lazy, transformed } from "../../../resources/fields.ts";
import { Badge, ButtonLink, Done, EnvironmentName, Tag } from "../../components/detail.tsx";
import { GroupTable } from "../../components/group-table.tsx";
import { type Column, List, Table } from "../../components/list.tsx";
import { Time } from "../../components/text.tsx";
import type { SignedInCall } from "../../console-env.ts";
import { ATTENTION, CREATE_ENVIRONMENT, ENVIRONMENTS, environmentPath, withQuery } from "../../paths.ts";
import { type Answers, askEnvironments } from "../../request/ask-environments.ts";
import { FIRST_PAGE, readPageQuery } from "../../request/form-fields.ts";
import { refuseWithPage, respondWithPage } from "../../response/respond-with-page.tsx";

const ROWS = 200;
const FOUND_ROWS = 20;
const DONE = { erased: "The environment is erased: its groups, keys and events are gone." };

/**
 * The environments of the deployment by their workspaces; with a search, those with it in their names, and groups of all. A page that has not
 * searched each environment leads to one that goes on from the number `further`.
 */
export async function listEnvironments(c: SignedInCall): Promise<Response> {
  const { fields, value, issues } = readPageQuery(c, StartQuery(), { own: ["done", "further"] });
  const { cursor = "", search } = value ?? {};
  const further = pathNumber(c.req.query("further")) || undefined;
  const query = { start: 0, limit: search ? FOUND_ROWS : ROWS, search, after: search ? undefined : cursor };
  const listed = await registryFor(c).listEnvironments(c.get("presentedOperator"), query);
  if (!listed.ok) return refuseWithPage(c, listed.failure);
  const { next, operator } = listed.value;
  const environments = further === undefined ? listed.value.environments : [];
  const found = search === undefined ? ok(undefined) : await findGroups(c, search, further);
  if (!found.ok) return refuseWithPage(c, found.failure);
  const groups = found.value;
  return respondWithPage(c, {
    title: search === undefined ? "Environments" : "Search",
    subline: search !== undefined && [
      "In the names of environments, and in the names and ids of groups. ",
      <a href={ENVIRONMENTS}>Show all environments</a>,
    ],
    issues,
    actions: [
      <ButtonLink path={ATTENTION} text="Needs attention" />,
      allowsRole(operator.role, "admin") && <ButtonLink path={CREATE_ENVIRONMENT} text="Create an environment" />,
    ],
    children: (
      <>
        <Done done={c.req.query("done")} results={DONE} />
        {(environments.length > 0 || isNothing(groups)) && (
          <Environments {...{ environments, search, cursor: fields.cursor }} hasMore={next !== null} />
        )}
        {groups && <FoundInEnvironments search={search ?? ""} {...groups} />}
      </>
    ),
  });
}

type Props = Record<"search" | "cursor", string | undefined> & { environments: StoredEnvironment[]; hasMore: boolean };

/** The environments of a page, or those whose names a search has found. */
const Environments: FC<Props> = ({ environments, search, hasMore, cursor }) => {
  const isSearch = search !== undefined;
  const nextCursor = hasMore && !isSearch ? (environments.at(-1)?.name ?? null) : null;
  return (
    <List
      isEmpty={environments.length === 0}
      empty={isSearch ? "Nothing was found in what was read. Try a shorter part of the name." : NONE}
      paging={{ path: ENVIRONMENTS, fields: { search }, cursor, nextCursor }}
    >
      {isSearch && <h2>Environments</h2>}
      <WorkspaceTable environments={environments} />
      {isSearch && hasMore && <p class="hint">There are more environments. Give more of the name.</p>}
    </List>
  );
};

/** The query of the start page. `cursor` is the name of an environment, after which the page begins. */
const StartQuery = lazy(() =>
  z.strictObject({
    search: z.optional(transformed(z.string(), (text) => text.trim().slice(0, SEARCH_UNITS_MAX) || undefined)),
    cursor: z.optional(z.string().check(z.refine((name) => findEnvironment(name) !== undefined, FIRST_PAGE))),
  }),
);

const NONE = "No environments yet. Create one with its first API key: one for tests, and one for customers.";

/** A workspace a row, with a link to each of its environments. */
const WorkspaceTable: FC<{ environments: StoredEnvironment[] }> = ({ environments }) => {
  const workspaces = [...Map.groupBy(environments, ({ name }) => parseDirectoryName(name).workspace)];
  const columns: Column<[string, StoredEnvironment[]]>[] = [
    ["Workspace", "", ([workspace]) => workspace],
    ["Environments", "", ([, own]) => <span class="row">{own.map(EnvironmentLink)}</span>],
    ["Place", "fit mid", ([, own]) => [...new Set(own.map(({ location }) => location ?? "–"))].join(", ")],
    ["Created", "fit low", ([, own]) => <Time at={Math.min(...own.map(({ createdAt }) => createdAt))} />],
  ];
  const hasPlaces = environments.some(({ location }) => location !== null);
  return <Table rows={workspaces} columns={columns.filter(([heading]) => hasPlaces || heading !== "Place")} />;
};

const EnvironmentLink = ({ name }: StoredEnvironment): Child => (
  <span>
    <a href={environmentPath(parseDirectoryName(name))} aria-label={name}>
      <Tag of={parseDirectoryName(name)} />
    </a>{" "}
    {isKnownDamaged(name) && <Badge state="suspended" text="damaged" />}
  </span>
);

/** How many groups of each environment a search shows, of those that exist and of deleted ones. */
const GROUPS_SHOWN = 5;

/** What a search has found, and the number of the first environment that it has not searched; `null` after the last one. */
type Search = Answers<FoundGroups>;

const isNothing = (search: Search | undefined): boolean =>
  !search || (search.asked.length === 0 && search.next === null);

const hasSome = ({ groups, hasMore }: FoundGroups): boolean => groups.length > 0 || hasMore;

/** Searches the groups of environments from the number `start` on until some have any. Those without any are left out. */
async function findGroups(c: SignedInCall, search: string, start = 0): Promise<Result<Search, Failure>> {
  const ask = (directory: Directory, operator: Operator) =>
    searchGroups(directory, operator, { search, limit: GROUPS_SHOWN });
  const answers = await askEnvironments(c, { start, ask, isEnough: hasSome });
  if (!answers.ok) return answers;
  const asked = answers.value.asked.filter(({ answer }) => !answer || hasSome(answer));
  return ok({ asked, next: answers.value.next });
}

function leadTo(answer: FoundGroups | undefined): string {
  if (!answer) return "Not all could be searched. Search again in";
  return answer.groups.length > 0 ? "All results in" : "None so far. Search on in";
}

const FoundInEnvironments: FC<Search & { search: string }> = ({ asked, next, search }) => (
  <>
    {asked.map(({ environment, answer }) => (
      <>
        <h2>
          Groups of <EnvironmentName of={environment} />
        </h2>
        {answer && answer.groups.length > 0 && <GroupTable environment={environment} groups={answer.groups} />}
        <p>
          <a href={withQuery(`${environmentPath(environment)}/groups`, { search })}>
            {leadTo(answer)} {directoryName(environment)}
          </a>
        </p>
      </>
    ))}
    {next !== null && (
      <p>
        {asked.length === 0 && "No group was found so far, and there are more environments. "}
        <ButtonLink
          path={withQuery(ENVIRONMENTS, { search, further: String(next) })}
          text="Search further environments"
        />
      </p>
    )}
  </>
);
