import { inject } from "vitest";
import { OperatorClient, UserGroupClient } from "../../../client/src/index.ts";

/** A customer, by the client of their environment, and the token of their group. */
export type Customer = { groups: UserGroupClient; userGroupId: string; teamId: number; token: string };

const ORIGINAL = { tag: "Testing", suffix: "" } as const;
const OTHERS = {
  "another tag": { tag: "Customer", suffix: "" },
  "no tag": { tag: null, suffix: "" },
  "another workspace": { tag: "Testing", suffix: "-too" },
} as const;

/**
 * Makes the environment `<workspace>/Testing` with two customers, and two with the same ids and numbers in each of three other
 * environments, whose sessions must be refused.
 */
export async function environmentsOf(workspace: string) {
  const newClient = async ({ tag, suffix }: { tag: "Customer" | "Testing" | null; suffix: string }) => {
    const { url, operatorToken } = inject("service");
    const operator = new OperatorClient({ url, operatorKey: operatorToken });
    const { key } = await operator.issueKey({ workspace: workspace + suffix, environment: tag, name: "backend" });
    return new UserGroupClient({ url, apiKey: key });
  };
  const newCustomer = async (groups: UserGroupClient, userGroupId: string): Promise<Customer> => {
    const { group } = await groups.ensure({ userGroupId });
    return { groups, userGroupId, teamId: group.teamId, token: group.token ?? "" };
  };
  const groups = await newClient(ORIGINAL);
  const own = await newCustomer(groups, "acme");
  const other = await newCustomer(groups, "hooli");
  const foreign: Record<string, Customer> = {};
  for (const [name, environment] of Object.entries(OTHERS)) {
    const client = await newClient(environment);
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
