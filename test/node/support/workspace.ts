import { inject } from "vitest";
import { OperatorClient } from "../../../src/client/index.ts";

/** Issues a key of a workspace of the test's own, so that no other test's changes are in its lists and events. */
export async function keyOfWorkspace(workspace: string): Promise<string> {
  const { url, operatorToken } = inject("service");
  const operator = new OperatorClient({ url, operatorKey: operatorToken });
  return (await operator.issueKey({ workspace, environment: "Testing", name: "backend" })).key;
}
