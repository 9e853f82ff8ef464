import type { Child, FC } from "hono/jsx";
import type { Environment } from "../../../../common/environment.ts";
import { DAY_MS, KEY_ENDING_DAYS, KEYS_PER_ENVIRONMENT_MAX, OPERATORS_MAX } from "../../../../common/limits.ts";
import { ok, type Result } from "../../../../common/result.ts";
import { endOf, type FoundKey, type KeyPage } from "../../../domain/credentials/keys.ts";
import type { Failure } from "../../../domain/failure.ts";
import { registryFor } from "../../request/admit-caller.ts";
import { pathNumber } from "../../request/query.ts";
import { EnvironmentName } from "../components/detail.tsx";
import { Named } from "../components/events.tsx";
import { Ending, KeyState, successorOf, withEndings } from "../components/key-details.tsx";
import { List, NoticeList, Table } from "../components/list.tsx";
import type { SignedInCall } from "../console-env.ts";
import { ATTENTION, keyPath, withQuery } from "../paths.ts";
import { askEnvironments } from "../request/ask-environments.ts";
import { refuseWithPage, respondWithPage } from "../response/respond-with-page.tsx";
import { SILENCES } from "./events.tsx";
import { type KeyKind, operatorsOf } from "./key-pages.tsx";

/** A key that ends or has ended, of an environment or, of an operator, of none. */
type DueKey = { found: FoundKey; environment: Environment | undefined };
type Due = { due: FoundKey[]; hasWaited: boolean };

/** Whether a key ends or has ended within days. */
function isDue({ key }: FoundKey): boolean {
  const end = endOf(key);
  return end !== undefined && Math.abs(end - Date.now()) <= KEY_ENDING_DAYS * DAY_MS;
}

/** The keys of a list that are due, but for those that were rolled: they have a successor. */
async function dueIn<Page extends KeyPage & { hasWaited: boolean }>(
  listed: Result<Page, Failure>,
  find: KeyKind["find"],
): Promise<Result<Due, Failure>> {
  if (!listed.ok) return listed;
  const { keys, hasWaited } = listed.value;
  const near = keys.filter((key) => isDue({ key, ending: undefined }));
  const found = await withEndings(near, find);
  return ok({ due: found.filter((each) => successorOf(each) === undefined), hasWaited });
}

/** What somebody has to look at soon: keys of all environments and operators that end or have ended, and environments that do not answer. */
export async function showAttention(c: SignedInCall): Promise<Response> {
  const further = pathNumber(c.req.query("further")) || undefined;
  const listed = await registryFor(c).listOperators(c.get("presentedOperator"), { start: 0, limit: OPERATORS_MAX });
  const operators = await dueIn(listed, operatorsOf(c).find);
  if (!operators.ok) return refuseWithPage(c, operators.failure);
  const answers = await askEnvironments<Due>(c, {
    start: further ?? 0,
    ask: async (directory, operator) =>
      dueIn(await directory.listKeys(operator, { start: 0, limit: KEYS_PER_ENVIRONMENT_MAX }), (ids) =>
        directory.findKeys(operator, ids),
      ),
  });
  if (!answers.ok) return refuseWithPage(c, answers.failure);
  const { asked, next } = answers.value;
  const ofOperators =
    further === undefined ? operators.value.due.map((found) => ({ found, environment: undefined })) : [];
  const ofEnvironments = asked.flatMap(({ environment, answer }) =>
    (answer?.due ?? []).map((found) => ({ found, environment })),
  );
  const timeOf = ({ found }: DueKey) => endOf(found.key) ?? 0;
  const keys = [...ofOperators, ...ofEnvironments].toSorted((one, other) => timeOf(one) - timeOf(other));
  const notes = asked.flatMap(({ environment, silence }): Child[] =>
    silence ? [[<EnvironmentName of={environment} isLink />, ` ${SILENCES[silence]}.`]] : [],
  );
  const path = withQuery(ATTENTION, { further: String(next) });
  if (next !== null) notes.push(["Further environments were not asked. ", <a href={path}>Ask further environments</a>]);
  return respondWithPage(c, {
    title: "Needs attention",
    subline: `Keys and operators that end or have ended within ${KEY_ENDING_DAYS} days, by time, and environments that do not answer.`,
    children: (
      <>
        {notes.length > 0 && <NoticeList parts={notes} />}
        <List isEmpty={keys.length === 0} empty={further === undefined && notes.length === 0 ? NONE : NONE_READ}>
          <DueKeys keys={keys} />
        </List>
      </>
    ),
  });
}

const NONE = `No key ends or has ended within ${KEY_ENDING_DAYS} days.`;
const NONE_READ = "No key was found in the environments that have answered.";

const DueKeys: FC<{ keys: DueKey[] }> = ({ keys }) => (
  <Table
    rows={keys}
    columns={[
      [
        "Key or operator",
        "",
        ({ found: { key }, environment }) => [
          <Named path={keyPath(environment, key.id)} name={key.name} />,
          <small>{environment ? <EnvironmentName of={environment} isLink /> : "operator"}</small>,
        ],
      ],
      ["State", "", ({ found, environment }) => <KeyState found={found} pathOf={(id) => keyPath(environment, id)} />],
      [
        "Why",
        "mid",
        ({ found, environment }) => (
          <small>
            <Ending found={found} environment={environment} />
          </small>
        ),
      ],
    ]}
  />
);
