import type { Child, FC } from "hono/jsx";
import type { Issue } from "../../../../common/issue.ts";
import type { FoundKey } from "../../../domain/credentials/keys.ts";
import type { StoredKey } from "../../../records.ts";
import { FIND_KEY } from "../paths.ts";
import { Select } from "./fields.tsx";
import { Text, Time } from "./text.tsx";
import { Wide } from "./wide.tsx";

/** The state of a key in words. A key that was rolled with a grace is still valid, until its `revokedAt`. */
const KeyState: FC<{ value: StoredKey }> = ({ value: { revokedAt, expiresAt } }) => {
  const now = Date.now();
  if (revokedAt !== null && revokedAt <= now)
    return (
      <>
        revoked <Time at={revokedAt} />
      </>
    );
  if (expiresAt !== null && expiresAt <= now)
    return (
      <>
        expired <Time at={expiresAt} />
      </>
    );
  const endsAt = Math.min(revokedAt ?? Number.POSITIVE_INFINITY, expiresAt ?? Number.POSITIVE_INFINITY);
  return Number.isFinite(endsAt) ? (
    <>
      valid until <Time at={endsAt} />
    </>
  ) : (
    <>valid</>
  );
};

/** Whether a key can still be used. */
const isValid = ({ revokedAt, expiresAt }: StoredKey): boolean =>
  [revokedAt, expiresAt].every((end) => end === null || end > Date.now());

/** The state of a key, and who ended it and why, if the feed still has that event. */
export const Ending: FC<{ found: FoundKey }> = ({ found: { key, ending } }) => (
  <>
    <KeyState value={key} />
    {ending && (
      <>
        {" "}
        by <Text value={ending.actor.name} /> ({ending.actor.kind.replace("_", " ")}
        {ending.actor.id === null ? "" : ` ${ending.actor.id}`})
        {ending.details.reason !== undefined && (
          <>
            , because: <Text value={ending.details.reason} />
          </>
        )}
      </>
    )}
  </>
);

const GRACES: [value: string, text: string][] = [
  ["0", "none: end it now"],
  ["3600", "1 hour"],
  ["86400", "1 day"],
  ["604800", "7 days"],
];

type FieldProps = { value: string; issues: Issue[] };

/** How long a credential stays valid beside its successor. */
export const GraceField: FC<FieldProps & { label: string }> = (props) => (
  <Select name="grace_seconds" options={GRACES} {...props} />
);

const EXPIRIES: [value: string, text: string][] = [
  ["", "never"],
  ["2592000", "after 30 days"],
  ["7776000", "after 90 days"],
  ["31536000", "after a year"],
];

/** When a new key ends. */
export const ExpiryField: FC<FieldProps> = (props) => (
  <Select name="expires_in_seconds" label="Expires" options={EXPIRIES} {...props} />
);

const KeyTable: FC<{ label: string; rights: string; keys: StoredKey[]; path: string | undefined }> = ({
  label,
  rights,
  keys,
  path,
}) => (
  <Wide label={label}>
    <table>
      <thead>
        <tr>
          <th class="number">Number</th>
          <th>Name</th>
          <th>{rights}</th>
          <th>State</th>
          <th>Last used</th>
          <th>Issued</th>
          <th>Change</th>
        </tr>
      </thead>
      <tbody>
        {keys.map((key) => (
          <tr>
            <td class="number">{key.id}</td>
            <td>
              <Text value={key.name} />
            </td>
            <td>{key.rights}</td>
            <td>
              <KeyState value={key} />
            </td>
            <td>
              <Time at={key.lastUsedAt} none="never" />
            </td>
            <td>
              <Time at={key.createdAt} />
            </td>
            <td>
              {path !== undefined && isValid(key) ? (
                <>
                  <a href={`${path}/${key.id}/roll`}>Roll</a> <a href={`${path}/${key.id}/revoke`}>Revoke</a>
                </>
              ) : (
                "–"
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </Wide>
);

/** A page of keys, in the order of `keys`, and what an admin may do with each. `path` is that of the list. */
export const KeyList: FC<{
  label: string;
  /** The head of the column with their rights. */
  rights: string;
  path: string;
  isAdmin: boolean;
  /** The link that issues another one. */
  issue: string;
  /** What a list without keys says. */
  none: string;
  keys: StoredKey[];
  done: Child;
  paging: Child;
}> = ({ label, rights, path, isAdmin, issue, none, keys, done, paging }) => (
  <>
    {done}
    <p class="actions">
      {isAdmin && <a href={`${path}/issue`}>{issue}</a>} <a href={FIND_KEY}>Find a key by its text</a>
    </p>
    {keys.length > 0 ? (
      <KeyTable label={label} rights={rights} keys={keys} path={isAdmin ? path : undefined} />
    ) : (
      <p>{none}</p>
    )}
    {paging}
  </>
);
