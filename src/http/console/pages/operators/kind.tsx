import { ok } from "../../../../../common/result.ts";
import { allowsRole } from "../../../../domain/credentials/rights.ts";
import type { RequestContext } from "../../../app-env.ts";
import { rollOperator } from "../../../operations/keys.ts";
import { operatorCall, registryFor } from "../../../request/admit-caller.ts";
import { Text, Time } from "../../components/text.tsx";
import type { SignedInEnv } from "../../console-env.ts";
import { OPERATORS, operatorPath } from "../../paths.ts";
import type { KeyKind } from "../key-pages.tsx";

/** The operators of the deployment. */
export const operatorsOf = (c: RequestContext<SignedInEnv>): KeyKind => ({
  listPath: OPERATORS,
  listTitle: "Operators",
  issue: "Issue an operator's key",
  empty: "No operators yet: only the bootstrap token signs in. Issue a key for each person.",
  done: {
    issued: "The operator is issued: it signs in with your company, and has no key.",
    revoked: "The operator is revoked: the key is refused, and so are its sessions in the console.",
  },
  list: (query = { start: 0, limit: 50 }) => registryFor(c).listOperators(c.get("presentedOperator"), query),
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
  find: async (ids) => {
    const found = await registryFor(c).findOperators(c.get("presentedOperator"), ids);
    return found.ok ? ok(found.value.found) : found;
  },
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
