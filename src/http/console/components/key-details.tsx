import type { Child, FC } from "hono/jsx";
import type { Environment } from "../../../../common/environment.ts";
import type { Issue } from "../../../../common/issue.ts";
import { DAY_MS, KEY_ENDING_DAYS } from "../../../../common/limits.ts";
import { ok, type Result } from "../../../../common/result.ts";
import { endOf, type FoundKey } from "../../../domain/credentials/keys.ts";
import { hasKey } from "../../../domain/credentials/operators.ts";
import { grantOf } from "../../../domain/credentials/rights.ts";
import type { Failure } from "../../../domain/failure.ts";
import type { StoredKey } from "../../../records.ts";
import { Badge, Dotted } from "./detail.tsx";
import { By, Named, Reason } from "./events.tsx";
import { Select } from "./form.tsx";
import { Table } from "./list.tsx";
import { Text, Time } from "./text.tsx";

/** Whether a key can still be used. A key that was rolled with a grace is still valid, until its `revokedAt`. */
export const isValid = (key: StoredKey): boolean => (endOf(key) ?? Number.POSITIVE_INFINITY) > Date.now();

/** The number of the key that has replaced this one, if the feed still says so. */
export const successorOf = ({ ending }: FoundKey): number | undefined => ending?.details.successor_id;

/** The state of a key that has an end, and the word before the time of it. A state of an end within days stands out. */
function endingOf({ revokedAt }: StoredKey, end: number, isReplaced: boolean): [state: string, word: string] {
  if (end <= Date.now()) return ["ended", isReplaced ? "replaced" : end === revokedAt ? "revoked" : "expired"];
  return end <= Date.now() + KEY_ENDING_DAYS * DAY_MS ? ["soon", "ends"] : ["valid", "valid, ends"];
}

export const KeyState: FC<{ found: FoundKey; pathOf: (id: number) => string }> = ({ found, pathOf }) => {
  const end = endOf(found.key);
  const successor = successorOf(found);
  if (end === undefined) return <Badge state="valid" />;
  const [state, word] = endingOf(found.key, end, successor !== undefined);
  return [
    <Badge state={state} text={[word, " ", <Time at={end} />]} />,
    successor !== undefined && [" ", <a href={pathOf(successor)}>its successor</a>],
  ];
};

/** Who has revoked or rolled a key, and why, if the feed still has that event. */
export const Ending: FC<{ found: FoundKey; environment: Environment | undefined }> = ({ found, environment }) => {
  const { ending } = found;
  if (!ending) return null;
  return [
    successorOf(found) === undefined ? "Revoked " : "Rolled ",
    <Time at={ending.at} />,
    <By actor={ending.actor} environment={environment} />,
    <Reason text={ending.details.reason} />,
  ];
};

export const Rights: FC<{ rights: string }> = ({ rights }) => {
  const { access, scopes } = grantOf(rights);
  if (access === null && scopes.length === 0) return <>{rights}</>;
  return access === null ? scopes.join(", ") : ACCESS_WORDS[access];
};

const ACCESS_WORDS = { read: "read groups and events", write: "everything" };

const GRACES: [value: string, text: string][] = [
  ["0", "none: end it now"],
  ["3600", "1 hour"],
  ["86400", "1 day"],
  ["604800", "7 days"],
];

type FieldProps = { name: string; value: string; issues: Issue[] };

export const GraceField: FC<FieldProps & { label: string }> = (props) => <Select options={GRACES} {...props} />;

export const EXPIRY_DEFAULT = "7776000";

const EXPIRIES: [value: string, text: string][] = [
  [EXPIRY_DEFAULT, "after 90 days"],
  ["2592000", "after 30 days"],
  ["31536000", "after a year"],
  ["", "never"],
];

export const ExpiryField: FC<FieldProps> = (props) => <Select label="Expires" options={EXPIRIES} {...props} />;

export const KeyTable: FC<{ rights: string; keys: FoundKey[]; pathOf: (id: number) => string }> = (props) => (
  <Table
    rows={props.keys}
    columns={[
      ["Name", "", ({ key }) => [<Named path={props.pathOf(key.id)} name={key.name} />, <SignIn of={key} />]],
      ["State", "", (found) => <KeyState found={found} pathOf={props.pathOf} />],
      [props.rights, "mid", ({ key }) => <Rights rights={key.rights} />],
      ["Last used", "fit mid", ({ key }) => <Time at={key.lastUsedAt} none="never" />],
      ["Issued", "fit low", ({ key }) => <Time at={key.createdAt} />],
    ]}
  />
);

const SignIn: FC<{ of: StoredKey }> = ({ of }) =>
  of.email && (
    <small>
      <Text value={of.email} />
      {!hasKey(of) && ", no key"}
    </small>
  );

/** What an operator reads of one key, in one line. `number` is what it is called, with its number. */
export const KeyFacts: FC<{ found: FoundKey; number: string; pathOf: (id: number) => string }> = (props) => {
  const { key } = props.found;
  const parts: Child[] = [
    <Rights rights={key.rights} />,
    props.number,
    ...(key.email ? [<Text value={key.email} />] : []),
    ...(hasKey(key) ? [] : ["no key: signs in with the company"]),
    [<KeyState found={props.found} pathOf={props.pathOf} />, endOf(key) === undefined && ", never ends"],
    ["issued ", <Time at={key.createdAt} />],
    ["last used ", <Time at={key.lastUsedAt} none="never" />],
  ];
  return <Dotted parts={parts} />;
};

/** Keys in their order, each with the event that ended it, which `find` reads for those with these numbers. */
export async function withEndings(
  keys: StoredKey[],
  find: (ids: number[]) => Promise<Result<FoundKey[], Failure>>,
): Promise<FoundKey[]> {
  const ids = keys.filter(({ revokedAt }) => revokedAt !== null).map(({ id }) => id);
  const ended = ids.length > 0 ? await find(ids) : ok([]);
  const found = new Map(ended.ok ? ended.value.map((each) => [each.key.id, each]) : []);
  return keys.map((key) => found.get(key.id) ?? { key, ending: undefined });
}
