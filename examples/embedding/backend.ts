/** The backend of a page with a chart. Only it has the API key; the page gets sessions that expire within minutes. */
import { readFileSync } from "node:fs";
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { UserGroupClient } from "user-group-service/client";
import { sessionHandler, signOutHandler } from "user-group-service/server";

const { SERVICE_URL = "", API_KEY = "", PORT = "3000", CUSTOMER = "acme" } = process.env;
/** Where people see this page. Pages of other sites cannot use its sessions. */
const ORIGIN = process.env.ORIGIN ?? `http://localhost:${PORT}`;
const groups = new UserGroupClient({ url: SERVICE_URL, apiKey: API_KEY });
const page = readFileSync(new URL("page.html", import.meta.url), "utf8").replace("SERVICE_URL", SERVICE_URL);
const viewerScript = readFileSync(new URL(import.meta.resolve("user-group-service/viewer")), "utf8");

type Person = { id: string; customer: string };
/** Who has signed in, by their cookie. A sign-in that ends here is over, also for somebody who has kept the cookie. */
const signIns = new Map<string, Person>();
const cookieOf = (request: Request) => /\bsid=([\w-]+)/.exec(request.headers.get("Cookie") ?? "")?.[1] ?? "";

const product = {
  client: groups,
  /** Replace this by your own sign-in: who makes this request, and whose data may that person see? */
  user: (request: Request) => signIns.get(cookieOf(request)),
  customer: (person: Person) => person.customer,
  viewer: (person: Person) => ({ viewerId: person.id }),
  origins: [ORIGIN],
};
const session = sessionHandler(product);
const signOut = signOutHandler({
  ...product,
  signOut: (request) => {
    signIns.delete(cookieOf(request));
    return new Response(null, { status: 204, headers: { "Set-Cookie": "sid=; Max-Age=0; Path=/" } });
  },
});

const app = new Hono()
  .get("/", (c) => {
    if (product.user(c.req.raw) || !CUSTOMER) return c.html(page);
    // This example has no passwords: everybody who opens the page is Jane.
    const sid = crypto.randomUUID();
    signIns.set(sid, { id: "jane", customer: CUSTOMER });
    return c.html(page, 200, { "Set-Cookie": `sid=${sid}; HttpOnly; SameSite=Strict; Path=/` });
  })
  .get("/viewer.js", (c) => c.body(viewerScript, 200, { "Content-Type": "text/javascript" }))
  .post("/session", (c) => session(c.req.raw))
  .post("/sign-out", (c) => signOut(c.req.raw));

serve({ fetch: app.fetch, hostname: "localhost", port: Number(PORT) }, () => console.info(`The page is at ${ORIGIN}`));
