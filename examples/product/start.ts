/** Starts the product: a group for each customer, a database with their sales, and the server. */
import { serve } from "@hono/node-server";
import { UserGroupClient } from "user-group-service/client";
import { productApp } from "./app.ts";
import { CUSTOMERS } from "./people.ts";
import { openSales } from "./sales.ts";

const { SERVICE_URL = "http://localhost:8787", API_KEY = "", AUDIENCE = "demo/Testing", PORT = "3000" } = process.env;
const origin = process.env.ORIGIN ?? `http://localhost:${PORT}`;
const groups = new UserGroupClient({ url: SERVICE_URL, apiKey: API_KEY });

const customers = await Promise.all(
  CUSTOMERS.map(async (customer) => {
    // A real product does this once, when the customer signs up, and stores the number with the customer.
    const { group } = await groups.ensure({ userGroupId: customer.id, name: customer.name });
    return { ...customer, teamId: group.teamId };
  }),
);
const sales = await openSales(customers, AUDIENCE);
const app = productApp({ origin, serviceUrl: SERVICE_URL, audience: AUDIENCE, groups, sales });
const server = serve({ fetch: app.fetch, hostname: "localhost", port: Number(PORT) }, () =>
  console.info(`The product is at ${origin}`),
);
server.on("error", (error) => {
  console.error(`The product cannot listen on port ${PORT}: ${error.message}. Choose another PORT.`);
  process.exit(1);
});
