import { inject } from "vitest";
import { type IssueKeyInput, OperatorClient, UserGroupClient } from "../../../client/src/index.ts";

/** Issues a key of a workspace that only one test uses, so that its lists and events contain no other changes. */
export async function keyOfWorkspace(workspace: string, input: Partial<IssueKeyInput> = {}): Promise<string> {
  const { url, operatorToken } = inject("service");
  const operator = new OperatorClient({ url, operatorKey: operatorToken });
  return (await operator.issueKey({ workspace, environment: "Testing", name: "backend", ...input })).key;
}

/** A client with such a key. */
export const groupsOfWorkspace = async (...issued: Parameters<typeof keyOfWorkspace>): Promise<UserGroupClient> =>
  new UserGroupClient({ url: inject("service").url, apiKey: await keyOfWorkspace(...issued) });
