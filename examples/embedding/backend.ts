/** The backend of a page with a chart. Only it has the API key; the page gets sessions that expire within minutes. */
import { readFileSync } from "node:fs";
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { UserGroupClient } from "user-group-service/client";

const { SERVICE_URL = "", API_KEY = "", PORT = "3000", CUSTOMER = "acme" } = process.env;
/** Where people see this page. Pages of other sites cannot use its sessions. */
const ORIGIN = process.env.ORIGIN ?? `http://localhost:${PORT}`;
const groups = new UserGroupClient({ url: SERVICE_URL, apiKey: API_KEY });
const page = readFileSync(new URL("page.html", import.meta.url), "utf8").replace("SERVICE_URL", SERVICE_URL);
const viewerScript = readFileSync(new URL(import.meta.resolve("user-group-service/viewer")), "utf8");

/** Replace this by your own sign-in: whose data may the person see who makes this request? */
const customerOf = (_request: Request): string | undefined => CUSTOMER;

const app = new Hono()
  .get("/", (c) => c.html(page))
  .get("/viewer.js", (c) => c.body(viewerScript, 200, { "Content-Type": "text/javascript" }))
  .post("/session", async (c) => {
    const userGroupId = customerOf(c.req.raw);
    if (userGroupId === undefined) return c.json({ error: "Sign in first." }, 401);
    return c.json(await groups.mintSession({ userGroupId, origins: [ORIGIN] }), 200, { "Cache-Control": "no-store" });
  });

serve({ fetch: app.fetch, hostname: "localhost", port: Number(PORT) }, () => console.info(`The page is at ${ORIGIN}`));
