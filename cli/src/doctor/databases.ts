import { OperatorClient, UserGroupServiceError } from "../../../client/src/index.ts";
import { LIST_ITEMS_MAX } from "../../../common/limits.ts";
import { environmentName } from "../environment-options.ts";
import { connectionTo } from "../support/transport.ts";
import { type Finding, failed, ok, skipped } from "./finding.ts";

const CHECK = "databases";
const ENVIRONMENTS_MAX = 1000;
const STEPS = "docs/operators/customers.md has the steps.";
const LOST = `has no keys: its database may be missing. Restore it, or erase it if it should be empty. ${STEPS}`;

/** Asks each environment as an operator for a group and a key: whether its database can be read, and is there. */
export async function checkDatabases(url: URL, operatorKey: string): Promise<Finding[]> {
  const operator = new OperatorClient({ ...connectionTo(url), operatorKey });
  const findings: Finding[] = [];
  let asked = 0;
  try {
    for await (const environment of operator.environments({ pageSize: LIST_ITEMS_MAX })) {
      if (asked === ENVIRONMENTS_MAX) break;
      const problem = await problemOf(operator, environment);
      if (problem !== undefined) findings.push(failed(CHECK, `${environmentName(environment)} ${problem}`));
      asked += 1;
    }
  } catch (error) {
    if (!(error instanceof UserGroupServiceError)) throw error;
    if (error.code === "insufficient_access") return [skipped(CHECK, "this operator's role may not read environments")];
    findings.push(failed(CHECK, `The environments cannot be listed: ${error.code}. ${STEPS}`));
  }
  const all = asked === ENVIRONMENTS_MAX ? `the first ${asked}` : `all ${asked}`;
  return findings.length > 0 ? findings : [ok(CHECK, `${all} environments can be read`)];
}

type Environment = Parameters<OperatorClient["inEnvironment"]>[0];

/** What is wrong with an environment. @throws UserGroupServiceError if the operator may not read it */
async function problemOf(operator: OperatorClient, environment: Environment): Promise<string | undefined> {
  try {
    await operator.inEnvironment(environment).listPage({ pageSize: 1 });
    const { keys } = await operator.keyPage({ ...environment, pageSize: 1 });
    return keys.length > 0 ? undefined : LOST;
  } catch (error) {
    if (!(error instanceof UserGroupServiceError) || error.code === "insufficient_access") throw error;
    if (error.code === "environment_not_found") return LOST;
    if (error.code === "environment_damaged") return `is damaged: its database cannot be read. ${STEPS}`;
    return error.code === "environment_restoring" ? undefined : `cannot be read: ${error.code}.`;
  }
}
