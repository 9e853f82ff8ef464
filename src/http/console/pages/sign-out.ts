import { Hono } from "hono";
import { registryFor } from "../../request/admit-caller.ts";
import type { FormEnv } from "../console-env.ts";
import { SIGN_IN } from "../paths.ts";
import { cookieHeader } from "../request/session-cookie.ts";
import { redirect } from "../response/redirect.ts";
import { refuseWithPage } from "../response/respond-with-page.tsx";

/** Ends the session of the request. */
export const signOut = new Hono<FormEnv>().post("/", async (c) => {
  const ended = await registryFor(c).endConsoleSessions(c.get("presentedOperator"), "current");
  return ended.ok ? redirect(c, SIGN_IN, cookieHeader(c.get("origin"), "")) : refuseWithPage(c, ended.failure);
});
