import type { Child, FC } from "hono/jsx";
import { directoryName, type Environment, findEnvironment } from "../../../../common/environment.ts";
import type { Issue } from "../../../../common/issue.ts";
import { OPERATOR_TOKEN_UNITS_MIN, SEARCH_UNITS_MAX } from "../../../../common/limits.ts";
import { ok, type Result } from "../../../../common/result.ts";
import { isWholeCredential } from "../../../domain/credentials/credential.ts";
import { type CredentialBeginning, readBeginning } from "../../../domain/credentials/key-beginning.ts";
import type { FoundKey } from "../../../domain/credentials/keys.ts";
import type { Reason } from "../../../domain/credentials/reasons.ts";
import type { SessionClaims } from "../../../domain/credentials/verified-sessions.ts";
import type { Failure } from "../../../domain/failure.ts";
import type { InspectedGroup } from "../../../domain/user-groups/overview.ts";
import { stateOf } from "../../../domain/user-groups/user-group.ts";
import { directoryOf, ifAnswered } from "../../durable-objects.ts";
import { type Explanation, explainCredential, findKeysOf } from "../../operations/explain-credential.ts";
import { registryFor } from "../../request/admit-caller.ts";
import { countRefused, isOperatorToken } from "../../request/authenticate.ts";
import { describeLength } from "../../resources/fields.ts";
import { REASONS } from "../../response/reasons.ts";
import { CREDENTIAL } from "../components/content.ts";
import { Badge, EnvironmentName, Facts } from "../components/detail.tsx";
import { By, Named, Reason as Quoted } from "../components/events.tsx";
import { Ending, KeyFacts } from "../components/key-details.tsx";
import { Text, Time } from "../components/text.tsx";
import type { SignedInCall } from "../console-env.ts";
import { ENVIRONMENTS, environmentPath, groupPath, keyPath, withQuery } from "../paths.ts";
import { redirect, refuseWithPage, respondWithPage } from "../response/respond-with-page.tsx";

/** Answers with what was found. The text that was given is not shown again: it may be a secret. */
const respond = (c: SignedInCall, found: Child, issues: Issue[] = []): Promise<Response> =>
  respondWithPage(c, { title: "Search", issues, children: found });

/**
 * Shows what is known of a credential, and leads with any other text to the list of groups or environments. So no credential is ever in
 * an address, which browsers and proxies keep.
 */
export async function search(c: SignedInCall): Promise<Response> {
  const text = (c.get("form").get("text") ?? "").trim();
  // People paste whole headers and lines of logs.
  const [credential] = CREDENTIAL.exec(text) ?? [];
  if (credential !== undefined) return respondWithCredential(c, credential);
  const admitted = await registryFor(c).admit(c.get("presentedOperator"), "viewer", undefined);
  if (!admitted.ok) return refuseWithPage(c, admitted.failure);
  const likeTokens = likeTokensIn(text);
  if (likeTokens.length > 0 && !(await countRefused(c))) return refuseWithPage(c, { code: "rate_limited" });
  for (const each of likeTokens)
    if (await isOperatorToken(c.env, each)) return respond(c, <Notice>{BOOTSTRAP}</Notice>);
  if (OTHER_SECRETS.test(text)) return respond(c, <Notice>{OTHER_SECRET}</Notice>);
  if (text === "" || text.length > SEARCH_UNITS_MAX) return respond(c, null, [{ path: ["text"], message: LENGTH }]);
  const environment = findEnvironment(c.get("form").get("environment") ?? "");
  const path = environment ? `${environmentPath(environment)}/groups` : ENVIRONMENTS;
  return redirect(c, withQuery(path, { search: text }));
}

/** What may be the bootstrap token in a header, a line of a file or a command; each word as it is, too, since a token may have any sign. */
function likeTokensIn(text: string): string[] {
  const words = text.split(/\s+/, WORDS_MAX);
  const bare = words.map((word) => word.replace(/^["']?[\w-]*["']?[=:]/, "").replace(/^["']+|["',;]+$/g, ""));
  return [...new Set([...words, ...bare])].filter(({ length }) => length >= OPERATOR_TOKEN_UNITS_MIN);
}

/** More words are no search, whose texts are short. */
const WORDS_MAX = 16;
/**
 * Secrets that show what they are: lines of the file of secrets, keys that decrypt backups, a signing key (32 to 64 bytes in base64, of which
 * only those that end in `=` differ from a hash), and the cookie of a console session.
 */
const OTHER_SECRETS =
  /SIGNING_KEYS\s*=|OPERATOR_TOKEN\s*=|AGE-SECRET-KEY-1|[\w-]:[\w+/]{42,86}=|[\w-]\.[\w-]{43}(?:\.[\w-]+)?\.[\w-]{22}(?![\w-])/i;
const OTHER_SECRET =
  "It looks like a secret of an operator, so the service has not looked for it. If others may have seen it, replace it.";
const LENGTH = `Give a text of ${describeLength(SEARCH_UNITS_MAX)}, or a credential of this service: ugk_…, ugo_…, ugt_… or a session.`;
const BOOTSTRAP =
  "It is the bootstrap token, which issues the first operators. It is valid until OPERATOR_TOKEN is changed.";

const Notice: FC<{ children: Child }> = ({ children }) => (
  <div class="notice found" role="status">
    <div>{children}</div>
  </div>
);

async function respondWithCredential(c: SignedInCall, text: string): Promise<Response> {
  // `search` compares only texts of another form with OPERATOR_TOKEN.
  const explained = await explainCredential(c, { text }, async () => ok(false));
  if (!explained.ok) return refuseWithPage(c, explained.failure);
  const explanation = explained.value;
  const known =
    explanation.kind === "unknown"
      ? await beginningOf(c, text)
      : ok(<Known of={explanation} {...(await namesOf(c, explanation))} />);
  return known.ok ? respond(c, <Notice>{known.value}</Notice>) : refuseWithPage(c, known.failure);
}

/** What is known of a text that is no credential of this service as a whole. */
async function beginningOf(c: SignedInCall, text: string): Promise<Result<Child, Failure>> {
  if (text.startsWith("eyJ")) return ok(NO_SESSION);
  const beginning = readBeginning(text);
  if (!beginning) return ok(TOO_SHORT);
  const found = await answerTo(c, beginning);
  if (!found.ok) return found;
  return ok([found.value, isWholeCredential(text) && <p>{UNSIGNED}</p>]);
}

/** The group of a token or a session, and the key that minted a session, as far as they are still stored. */
type Names = { group?: InspectedGroup | undefined; minter?: FoundKey | undefined };

async function namesOf(c: SignedInCall, { environment, number, session, kind }: Explanation): Promise<Names> {
  const operator = c.get("operator");
  const isOfGroup = kind === "user_group_token" || kind === "viewer_session";
  if (!environment || !operator || number === null || !isOfGroup) return {};
  const directory = directoryOf(c.env, environment);
  const [group, minters] = await Promise.all([
    ifAnswered(async () => directory.inspect(operator, number)),
    session && ifAnswered(async () => directory.findKeys(operator, [session.keyId])),
  ]);
  return { group: group?.ok ? group.value : undefined, minter: minters?.ok ? minters.value[0] : undefined };
}

/** A credential of this service, whose it is, and why it is refused. */
const Known: FC<{ of: Explanation } & Names> = ({ of, group, minter }) => {
  const { environment, session, key, kind, number, reasons } = of;
  const what = kind === "user_group_token" ? "the token of a group" : kind === "viewer_session" && "a viewer session";
  return [
    what &&
      environment &&
      number !== null && [<h2>It is {what}</h2>, <GroupOf environment={environment} teamId={number} group={group} />],
    session && <SessionFacts session={session} minter={minter} />,
    (kind === "api_key" || kind === "operator") && (
      <FoundKeys keys={key ? [key] : []} environment={environment} isWhole={true} />
    ),
    <Reasons reasons={reasons} environment={environment} />,
  ];
};

const GroupOf: FC<{ environment: Environment; teamId: number; group: InspectedGroup | undefined }> = (props) => {
  const { environment, teamId, group } = props;
  return (
    <p>
      <Named path={groupPath(environment, teamId)} name={group?.group.name ?? String(teamId)} />{" "}
      {group && <Badge state={stateOf(group.group)} />} of <EnvironmentName of={environment} />
    </p>
  );
};

const Reasons: FC<{ reasons: Reason[]; environment: Environment | undefined }> = ({ reasons, environment }) =>
  reasons.length === 0 ? (
    <p>Nothing refuses it: it is valid.</p>
  ) : (
    <>
      <p>Calls with it are refused:</p>
      <ul>
        {reasons.map(({ name, since, by, why }) => (
          <li>
            <code>{REASONS[name].code}</code> {REASONS[name].message}
            {since !== null && [" Since ", <Time at={since} />]}
            <By actor={by} environment={environment} />
            <Quoted text={why} />
          </li>
        ))}
      </ul>
    </>
  );

const TOO_SHORT = "It is the beginning of a credential, and ends before its number. Give more of it.";
const UNSIGNED =
  "The text is whole, but no signing key of the service verifies it: it is mistyped, of another deployment, was signed with a key that has been removed, or is forged. Calls with it are refused.";
const ERASED = "Its environment does not exist: it was erased, or the key is of another deployment.";
const NO_SESSION =
  "It looks like a viewer session, but no signing key of the service verifies it: it is cut off, of another deployment, was signed with a key that has been removed, or is forged. Calls with it are refused.";

const SessionFacts: FC<{ session: SessionClaims; minter: FoundKey | undefined }> = ({
  session: { environment, id, viewerId, origins, keyId, expiresAtSeconds },
  minter,
}) => (
  <Facts
    facts={[
      ["Session", <code>{id}</code>],
      ["Viewer", viewerId === undefined ? undefined : <Text value={viewerId} />],
      ["Origins", origins ? <Text value={origins.join(", ")} /> : "any"],
      [
        "Minted by",
        ["the API key ", <Named path={keyPath(environment, keyId)} name={minter?.key.name ?? String(keyId)} />],
      ],
      ["Expires", <Time at={expiresAtSeconds * 1000} />],
    ]}
  />
);

/** What is known of the beginning of a key or a token. */
async function answerTo(
  c: SignedInCall,
  { kind, environment, ids }: CredentialBeginning,
): Promise<Result<Child, Failure>> {
  if ((kind !== "operator_key" && !environment) || ids.length === 0) return ok(TOO_SHORT);
  if (kind === "token") return ok(environment && <TokenFacts environment={environment} ids={ids} />);
  const keys = await findKeysOf(c, environment, ids);
  if (!keys.ok) return keys;
  return ok(keys.value ? <FoundKeys keys={keys.value} environment={environment} isWhole={false} /> : ERASED);
}

const TokenFacts: FC<{ environment: Environment; ids: number[] }> = ({ environment, ids }) => (
  <>
    It is the token of a group of {directoryName(environment)}, of the number:{" "}
    {ids.map((id) => [<a href={groupPath(environment, id)}>{id}</a>, " "])}
    Give the whole token to see whether it is the current one.
  </>
);

type FoundKeysProps = { keys: FoundKey[]; environment: Environment | undefined; isWhole: boolean };

const FoundKeys: FC<FoundKeysProps> = ({ keys, environment, isWhole }) => {
  const where = environment ? directoryName(environment) : "the deployment";
  if (keys.length === 0)
    return (
      <p>{`Unknown: ${where} has no such key. It is of another deployment, forged, or so old that a newer key has its place.`}</p>
    );
  const which = isWhole ? "It is this key" : keys.length === 1 ? "It may be this key" : "It may be one of these keys";
  const pathOf = (id: number) => keyPath(environment, id);
  const kind = environment ? "API key" : "operator";
  return [
    <p>{`${which} of ${where}:`}</p>,
    keys.map((found) => (
      <>
        <h2>
          <Named path={pathOf(found.key.id)} name={found.key.name} />
        </h2>
        <p class="hint">
          <KeyFacts found={found} number={`${kind} ${found.key.id}`} pathOf={pathOf} />
        </p>
        <p>
          <Ending found={found} environment={environment} />
        </p>
      </>
    )),
  ];
};
