import { createFactory } from "hono/factory";
import type { Child } from "hono/jsx";
import { directoryName, type Environment } from "../../../../common/environment.ts";
import type { Issue } from "../../../../common/issue.ts";
import { fail, ok, type Result } from "../../../../common/result.ts";
import type { Operator } from "../../../domain/credentials/caller.ts";
import {
  isWholeCredential,
  sameBytes,
  type VerifiedClaim,
  verifyCredential,
} from "../../../domain/credentials/credential.ts";
import { type CredentialBeginning, readBeginning } from "../../../domain/credentials/key-beginning.ts";
import type { FoundKey } from "../../../domain/credentials/keys.ts";
import type { Failure } from "../../../domain/failure.ts";
import type { RequestContext } from "../../app-env.ts";
import { directoryOf } from "../../durable-objects.ts";
import { registryFor } from "../../request/admit-caller.ts";
import { TextField } from "../components/fields.tsx";
import { Form } from "../components/form.tsx";
import { Ending } from "../components/keys.tsx";
import { Text } from "../components/text.tsx";
import type { SignedInEnv } from "../console-env.ts";
import { environmentPath, FIND_KEY, groupPath, OPERATORS } from "../paths.ts";
import { refuseWithPage, respondWithPage } from "../response/respond-with-page.tsx";

type Call = RequestContext<SignedInEnv>;

/** What the service knows of a credential: the keys that it may be, or a sentence. */
type Answer = { keys: FoundKey[]; environment: Environment | undefined; isWhole: boolean } | { sentence: Child };

const HINT = "Its beginning is enough, such as ugk_customer_AQJrMQ…: people have that from a log or a screenshot.";

/** The page's form, and what was found. The text that was given is not shown again: it may be a secret. */
function respond(c: Call, found: Child, issues: Issue[] = []): Promise<Response> {
  return respondWithPage(c, {
    title: "Find a key",
    issues,
    children: (
      <>
        {found}
        <Form ring={c.get("ring")} session={c.get("session")} action={FIND_KEY}>
          <TextField
            name="text"
            type="password"
            label="The key, or its beginning"
            hint={HINT}
            required
            issues={issues}
          />
          <p class="actions">
            <button type="submit">Find it</button>
          </p>
        </Form>
      </>
    ),
  });
}

const factory = createFactory<SignedInEnv>();

/** The page on which to find a key by its text. */
export const findKeyPage = factory.createHandlers(async (c) => {
  const admitted = await registryFor(c).admit(c.get("presentedOperator"), "viewer", undefined);
  if (!admitted.ok) return refuseWithPage(c, admitted.failure);
  return respond(c, null);
});

/** Shows which keys the text may belong to, and the state of each. */
export const findKey = factory.createHandlers(async (c) => {
  const text = (c.get("form").get("text") ?? "").trim();
  const admitted = await registryFor(c).admit(c.get("presentedOperator"), "viewer", undefined);
  if (!admitted.ok) return refuseWithPage(c, admitted.failure);
  const beginning = readBeginning(text);
  const message = "Give a credential of this service, ugk_…, ugo_… or ugt_…, or its beginning.";
  if (!beginning) return respond(c, null, [{ path: ["text"], message }]);
  const verified = await verifyCredential(c.get("ring"), text);
  const found = await answerTo(c, beginning, verified, admitted.value);
  if (!found.ok) return refuseWithPage(c, found.failure);
  const isUnsigned = !verified && isWholeCredential(text);
  return respond(
    c,
    <>
      <Found answer={found.value} />
      {isUnsigned && <p class="notice">{UNSIGNED}</p>}
    </>,
  );
});

async function answerTo(
  c: Call,
  beginning: CredentialBeginning,
  verified: VerifiedClaim | undefined,
  operator: Operator,
): Promise<Result<Answer, Failure>> {
  const { kind, environment, ids } = beginning;
  if (kind !== "operator_key" && !environment) return ok({ sentence: TOO_SHORT });
  if (ids.length === 0) return ok({ sentence: TOO_SHORT });
  if (kind === "token") return ok({ sentence: tokenSentence(environment, ids) });
  const keys = await foundKeys(c, environment, ids, operator);
  if (!keys.ok) return keys.failure.code === "environment_not_found" ? ok({ sentence: ERASED }) : keys;
  const isOf = ({ key }: FoundKey) => !verified || sameBytes(key.nonceHash, verified.nonceHash);
  return ok({ keys: keys.value.filter(isOf), environment, isWhole: verified !== undefined });
}

const TOO_SHORT = "The text ends before the number of the key. Give more of it.";
const UNSIGNED =
  "The text is whole, but no signing key of the service verifies it: it was signed with a key that has been removed, is of another deployment, or is mistyped or forged. Calls with it are refused.";
const ERASED = "Its environment does not exist: it was erased, or the key is of another deployment.";

const tokenSentence = (environment: Environment | undefined, ids: number[]): Child => (
  <>
    It is the token of a group of {environment && directoryName(environment)}, of the number:{" "}
    {environment &&
      ids.map((id) => (
        <>
          <a href={groupPath(environment, id)}>{id}</a>{" "}
        </>
      ))}
    Only the API shows whether it is the current one.
  </>
);

async function foundKeys(
  c: Call,
  environment: Environment | undefined,
  ids: number[],
  operator: Operator,
): Promise<Result<FoundKey[], Failure>> {
  const presented = c.get("presentedOperator");
  if (!environment) {
    const found = await registryFor(c).findOperators(presented, ids);
    return found.ok ? ok(found.value.found) : fail(found.failure);
  }
  const admitted = await registryFor(c).admit(presented, "viewer", environment);
  return admitted.ok ? directoryOf(c.env, environment).findKeys(operator, ids) : admitted;
}

const Found = ({ answer }: { answer: Answer }): Child => {
  if ("sentence" in answer)
    return (
      <div class="notice" role="status">
        {answer.sentence}
      </div>
    );
  const { keys, environment, isWhole } = answer;
  const where = environment ? directoryName(environment) : "the deployment";
  const path = environment ? `${environmentPath(environment)}/keys` : OPERATORS;
  return (
    <div class="notice" role="status">
      {keys.length === 0 ? (
        <p>
          Unknown: {where} has no such key. It is of another deployment, or forged, or so old that a newer key has taken
          its place.
        </p>
      ) : (
        <p>
          {isWhole ? "It is this key" : keys.length === 1 ? "It may be this key" : "It may be one of these keys"} of{" "}
          <a href={path}>{where}</a>:
        </p>
      )}
      <ul>
        {keys.map((found) => (
          <li>
            {found.key.id}, <Text value={found.key.name} /> (<code>{found.key.rights}</code>): <Ending found={found} />
          </li>
        ))}
      </ul>
    </div>
  );
};
