import type { UserGroupClient } from "../../../client/src/index.ts";
import { groupsOfWorkspace } from "./workspace.ts";

/** A customer, by the client of their environment, and the token of their group. */
export type Customer = { groups: UserGroupClient; userGroupId: string; teamId: number; token: string };

const OTHERS = {
  "another tag": { environment: "Customer", suffix: "" },
  "no tag": { environment: null, suffix: "" },
  "another workspace": { environment: "Testing", suffix: "-too" },
} as const;

/**
 * Makes the environment `<workspace>/Testing` with two customers, and two with the same ids and numbers in each of three other
 * environments, whose sessions must be refused.
 */
export async function environmentsOf(workspace: string) {
  const newCustomer = async (groups: UserGroupClient, userGroupId: string): Promise<Customer> => {
    const { group } = await groups.ensure({ userGroupId });
    return { groups, userGroupId, teamId: group.teamId, token: group.token ?? "" };
  };
  const groups = await groupsOfWorkspace(workspace);
  const own = await newCustomer(groups, "acme");
  const other = await newCustomer(groups, "hooli");
  const foreign: Record<string, Customer> = {};
  for (const [name, { environment, suffix }] of Object.entries(OTHERS)) {
    const client = await groupsOfWorkspace(workspace + suffix, { environment });
    for (const { userGroupId, teamId } of [own, other]) {
      const customer = await newCustomer(client, userGroupId);
      if (customer.teamId !== teamId) throw new Error("The customers have different numbers.");
      foreign[`${name}, number ${teamId}`] = customer;
    }
  }
  return { audience: `${workspace}/Testing`, own, other, foreign };
}

/** Mints a session for a person of a customer. */
export const sessionOf = async ({ groups, userGroupId }: Customer, claims?: Record<string, string | object>) =>
  (await groups.mintSession({ userGroupId, viewerId: "jane", ...(claims && { claims }) })).token;
