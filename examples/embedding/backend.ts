/** The backend of a page with a chart. Only it has the API key; the page gets sessions that expire within minutes. */
import { readFileSync } from "node:fs";
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { UserGroupClient } from "user-group-service/client";
import { sessionHandler } from "user-group-service/server";

const { SERVICE_URL = "", API_KEY = "", PORT = "3000", CUSTOMER = "acme" } = process.env;
/** Where people see this page. Pages of other sites cannot use its sessions. */
const ORIGIN = process.env.ORIGIN ?? `http://localhost:${PORT}`;
const groups = new UserGroupClient({ url: SERVICE_URL, apiKey: API_KEY });
const page = readFileSync(new URL("page.html", import.meta.url), "utf8").replace("SERVICE_URL", SERVICE_URL);
const viewerScript = readFileSync(new URL(import.meta.resolve("user-group-service/viewer")), "utf8");

/** Replace this by your own sign-in: who makes this request, and whose data may that person see? */
const userOf = (request: Request) =>
  request.headers.get("Cookie")?.includes("signed_out=") || !CUSTOMER ? undefined : { id: "jane", customer: CUSTOMER };

const session = sessionHandler({
  client: groups,
  user: userOf,
  customer: (user) => user.customer,
  viewer: (user) => ({ viewerId: user.id }),
  origins: [ORIGIN],
});

const app = new Hono()
  .get("/", (c) => c.html(page))
  .get("/viewer.js", (c) => c.body(viewerScript, 200, { "Content-Type": "text/javascript" }))
  .post("/session", (c) => session(c.req.raw))
  .post("/sign-out", async (c) => {
    const user = userOf(c.req.raw);
    // All pages of this person stop at once, also in other tabs and on other devices.
    if (user) await groups.endSessions({ userGroupId: user.customer, viewerId: user.id, reason: "signed out" });
    return c.body(null, 204, { "Set-Cookie": "signed_out=1; HttpOnly; SameSite=Strict; Path=/" });
  });

serve({ fetch: app.fetch, hostname: "localhost", port: Number(PORT) }, () => console.info(`The page is at ${ORIGIN}`));
