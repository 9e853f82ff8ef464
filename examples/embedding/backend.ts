/** The backend of a page with a chart. Only it has the API key; the page gets sessions that expire within minutes. */
import { readFileSync } from "node:fs";
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { UserGroupClient, UserGroupServiceError } from "user-group-service/client";

const { SERVICE_URL = "", API_KEY = "", PORT = "3000", CUSTOMER = "acme" } = process.env;
/** Where people see this page. Pages of other sites cannot use its sessions. */
const ORIGIN = process.env.ORIGIN ?? `http://localhost:${PORT}`;
// Two tries of 4 seconds: the page waits for a session for 10 seconds at most.
const groups = new UserGroupClient({
  url: SERVICE_URL,
  apiKey: API_KEY,
  timeoutMs: 4_000,
  retries: 1,
  waitMsMax: 1_000,
});
const page = readFileSync(new URL("page.html", import.meta.url), "utf8").replace("SERVICE_URL", SERVICE_URL);
const viewerScript = readFileSync(new URL(import.meta.resolve("user-group-service/viewer")), "utf8");

/** Replace these by your own sign-in: whose data may the person see who makes this request, and who is that? */
const customerOf = (request: Request): string | undefined =>
  request.headers.get("Cookie")?.includes("signed_out=") ? undefined : CUSTOMER || undefined;
const personOf = (_request: Request): string => "jane";

/** Why there is no session. The page shows `message`, and tries again by itself only after a 503. */
const PROBLEMS = {
  signed_out: { status: 401, message: "Sign in to see the chart." },
  suspended: { status: 403, message: "Your account is suspended. Contact our support." },
  no_such_customer: { status: 404, message: "There is no chart for your account. Contact our support." },
  service_down: { status: 503, message: "The chart is not available at the moment. Try again in a few minutes." },
} as const;

/** What the page may know of a failure. A revoked API key is a problem of this backend: the person is signed in. */
function problemOf(error: UserGroupServiceError, userGroupId: string): keyof typeof PROBLEMS {
  if (error.code === "user_group_suspended") return "suspended";
  if (error.code === "user_group_not_found") return "no_such_customer";
  console.error(`No session for ${userGroupId}: ${error.code}: ${error.message}`);
  return "service_down";
}

async function sessionFor(userGroupId: string | undefined, viewerId: string) {
  if (userGroupId === undefined) return "signed_out";
  try {
    return await groups.mintSession({ userGroupId, viewerId, origins: [ORIGIN] });
  } catch (error) {
    if (!(error instanceof UserGroupServiceError)) throw error;
    return problemOf(error, userGroupId);
  }
}

const app = new Hono()
  .get("/", (c) => c.html(page))
  .get("/viewer.js", (c) => c.body(viewerScript, 200, { "Content-Type": "text/javascript" }))
  .post("/session", async (c) => {
    c.header("Cache-Control", "no-store");
    const session = await sessionFor(customerOf(c.req.raw), personOf(c.req.raw));
    if (typeof session === "object") return c.json(session);
    const { status, message } = PROBLEMS[session];
    return c.json({ problem: session, message }, status);
  })
  .post("/sign-out", async (c) => {
    const userGroupId = customerOf(c.req.raw);
    // All pages of this person stop at once, also in other tabs and on other devices.
    if (userGroupId !== undefined)
      await groups.endSessions({ userGroupId, viewerId: personOf(c.req.raw), reason: "signed out" });
    return c.body(null, 204, { "Set-Cookie": "signed_out=1; HttpOnly; SameSite=Strict; Path=/" });
  });

serve({ fetch: app.fetch, hostname: "localhost", port: Number(PORT) }, () => console.info(`The page is at ${ORIGIN}`));
