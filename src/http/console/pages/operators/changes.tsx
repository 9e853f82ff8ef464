import { createFactory } from "hono/factory";
import type { FoundKey } from "../../../../domain/credentials/keys.ts";
import { allowsRole } from "../../../../domain/credentials/rights.ts";
import type { RequestContext } from "../../../app-env.ts";
import { rollOperator } from "../../../operations/keys.ts";
import { operatorCall, registryFor } from "../../../request/admit-caller.ts";
import { Text, Time } from "../../components/text.tsx";
import type { SignedInEnv } from "../../console-env.ts";
import { OPERATORS, operatorPath } from "../../paths.ts";
import { refuseWithPage } from "../../response/respond-with-page.tsx";
import { type KeyKind, revokeKeyOf, rollKeyOf, showKeyOf, showRevokePage, showRollPage } from "../key-changes.tsx";

type Call = RequestContext<SignedInEnv>;

/** The operator with this number. Only an admin may change one. */
async function findOperator(c: Call, id: number, toChange: boolean): Promise<FoundKey | undefined | Response> {
  const found = await registryFor(c).findOperators(c.get("presentedOperator"), [id]);
  if (!found.ok) return refuseWithPage(c, found.failure);
  if (toChange && found.value.operator.role !== "admin")
    return refuseWithPage(c, { code: "insufficient_access", required_role: "admin" });
  return found.value.found[0];
}

/** The operators of the deployment. */
const operatorsOf = (c: Call): KeyKind => ({
  listPath: OPERATORS,
  listTitle: "Operators",
  environment: undefined,
  pathOf: operatorPath,
  rights: "Role",
  canChange: () => allowsRole(c.get("operator")?.role ?? "viewer", "admin"),
  titleOf: (id) => `Operator ${id}`,
  describe: ({ key }) => (
    <>
      Operator {key.id}, <Text value={key.name} />: {key.rights}. Last used <Time at={key.lastUsedAt} none="never" />.
    </>
  ),
  find: (id, toChange) => findOperator(c, id, toChange),
  setSubject: (id) => c.set("subjectOperatorId", id),
  roll: {
    title: (id) => `Roll the key of operator ${id}`,
    effects: [
      "A new key with the same name, role, expiry and email takes its place. Its text is shown once, on the next page.",
      "After the grace, the old key is refused, and the sessions that it has in the console end.",
    ],
    graceSeconds: "0",
    run: (input) => rollOperator(operatorCall(c), input),
  },
  revoke: {
    title: (id) => `Revoke operator ${id}`,
    effects: ({ key }) => [
      "From now on the service refuses the key, and its sessions in the console end. What it has issued stays.",
      ...(key.rights === "admin"
        ? ["If no other admin is left, only the bootstrap token can issue operators after that."]
        : []),
      "This cannot be undone.",
    ],
    button: "Revoke the operator",
    run: (id) => registryFor(c).revokeOperator(c.get("presentedOperator"), id),
  },
});

const factory = createFactory<SignedInEnv>();

/** The page of an operator. */
export const showOperator = factory.createHandlers((c) => showKeyOf(c, operatorsOf(c)));

/** The page on which to roll an operator's key. */
export const rollOperatorPage = factory.createHandlers((c) => showRollPage(c, operatorsOf(c)));

/** Rolls an operator's key, and shows the text of the new one once. */
export const rollOperatorKey = factory.createHandlers((c) => rollKeyOf(c, operatorsOf(c)));

/** The page on which to revoke an operator. */
export const revokeOperatorPage = factory.createHandlers((c) => showRevokePage(c, operatorsOf(c)));

/** Revokes an operator. */
export const revokeOperator = factory.createHandlers((c) => revokeKeyOf(c, operatorsOf(c)));
