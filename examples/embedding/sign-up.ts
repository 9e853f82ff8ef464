/** Creates the group of a new customer. Run this once, when the customer signs up, and never when somebody signs in. */
import { UserGroupClient } from "user-group-service/client";

const { SERVICE_URL = "", API_KEY = "", CUSTOMER = "acme", CUSTOMER_NAME = CUSTOMER } = process.env;
const groups = new UserGroupClient({ url: SERVICE_URL, apiKey: API_KEY });

// If the answer is lost, the client sends the call again: it finds the group that it has created.
const { group } = await groups.ensure({ userGroupId: CUSTOMER, name: CUSTOMER_NAME });
// Store this number with the customer: verifiers and tables know the customer by it.
console.info(JSON.stringify({ team_id: group.teamId }));
