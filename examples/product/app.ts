/** The product's server: its own sign-in, a viewer session for its page, and reports for those who present one. */
import { readFileSync } from "node:fs";
import { type Context, Hono } from "hono";
import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import { secureHeaders } from "hono/secure-headers";
import type { UserGroupClient } from "user-group-service/client";
import { requireSession, sessionHandler, signOutHandler } from "user-group-service/server";
import { CUSTOMERS, PEOPLE, type Person } from "./people.ts";
import type { openSales } from "./sales.ts";

const PERIODS = [3, 6, 12];

const file = (path: string) => readFileSync(new URL(path, import.meta.url), "utf8");

export type Product = {
  /** Where people see the product. */
  origin: string;
  /** Where its pages call the service. */
  serviceUrl: string;
  /** The environment of the API key, such as `acme/Customer`. */
  audience: string;
  groups: UserGroupClient;
  sales: Awaited<ReturnType<typeof openSales>>;
};

/** Serves the product. */
export function productApp({ origin, serviceUrl, audience, groups, sales }: Product) {
  /** Who is signed in, by the cookie. A real product stores this, and ends it after a time. */
  const signIns = new Map<string, Person>();
  const userOf = (c: Context) => signIns.get(getCookie(c, "sid") ?? "");

  const signedIn = {
    client: groups,
    user: (_: Request, c: Context) => userOf(c),
    customer: (person: Person) => person.customer,
    viewer: (person: Person) => ({ viewerId: person.id, viewerProperties: { store: person.store } }),
    origins: [origin],
  };
  const session = sessionHandler(signedIn);
  const signOut = signOutHandler({
    ...signedIn,
    signOut: (_, c) => {
      signIns.delete(getCookie(c, "sid") ?? "");
      deleteCookie(c, "sid");
      return c.body(null, 204);
    },
  });
  // Each report asks the service, so that a suspension is seen at once.
  const check = requireSession({ client: groups, audience, origins: [origin] });

  const csp = {
    defaultSrc: ["'none'"],
    scriptSrc: ["'self'"],
    styleSrc: ["'self'"],
    imgSrc: ["'self'"],
    connectSrc: ["'self'", serviceUrl],
    formAction: ["'self'"],
    frameAncestors: ["'none'"],
    baseUri: ["'none'"],
  };

  return new Hono()
    .use(secureHeaders({ contentSecurityPolicy: csp, strictTransportSecurity: false }))
    .get("/", (c) => c.html(file("page/sign-in.html").replace("<!-- people -->", PEOPLE.map(buttonOf).join("\n"))))
    .post("/sign-in", async (c) => {
      const { person } = await c.req.parseBody();
      const found = PEOPLE.find(({ id }) => id === person);
      if (!found) return c.redirect("/", 303);
      const sid = crypto.randomUUID();
      signIns.set(sid, found);
      setCookie(c, "sid", sid, { httpOnly: true, sameSite: "Lax", secure: origin.startsWith("https:"), path: "/" });
      return c.redirect("/dashboard", 303);
    })
    .post("/sign-out", (c) => signOut(c.req.raw, c))
    .get("/dashboard", (c) => {
      const person = userOf(c);
      if (!person) return c.redirect("/", 303);
      c.header("Cache-Control", "no-store");
      return c.html(
        file("page/dashboard.html")
          .replace("SERVICE_URL", serviceUrl)
          .replace("PERSON_NAME", person.name)
          .replace("PERSON_ROLE", person.role),
      );
    })
    .post("/session", (c) => session(c.req.raw, c))
    .get("/report", async (c) => {
      const viewer = await check(c.req.raw);
      if (viewer instanceof Response) return viewer;
      const months = Number(c.req.query("months") ?? PERIODS.at(-1));
      if (!PERIODS.includes(months)) return c.json({ error: { code: "invalid_period" } }, 422);
      return c.json(await sales.report(viewer, months), 200, { "Cache-Control": "no-store" });
    })
    .get("/viewer.js", (c) => script(c, file(import.meta.resolve("user-group-service/viewer"))))
    .get("/dashboard.js", (c) => script(c, file("page/dashboard.js")))
    .get("/charts.js", (c) => script(c, file("page/charts.js")))
    .get("/style.css", (c) => c.body(file("page/style.css"), 200, { "Content-Type": "text/css" }))
    .get("/icon.svg", (c) => c.body(file("page/icon.svg"), 200, { "Content-Type": "image/svg+xml" }));
}

const script = (c: Context, text: string) => c.body(text, 200, { "Content-Type": "text/javascript" });

/** The people are the product's own, so that their names need no escaping. */
function buttonOf({ id, name, role, customer }: Person): string {
  const company = CUSTOMERS.find((each) => each.id === customer)?.name;
  return `<button type="submit" name="person" value="${id}"><strong>${name}</strong> <span>${role}, ${company}</span></button>`;
}
