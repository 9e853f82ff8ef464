import type { AppEnv } from "../../app-env.ts";
import { Hono } from "../../hono.ts";
import { explainCredential } from "../../operations/explain-credential.ts";
import { askIfOperatorToken } from "../../request/authenticate.ts";
import { authorizeOperators } from "../../request/authorize.ts";
import { jsonBody } from "../../request/body/json-body.ts";
import { refuse } from "../../response/failures.ts";
import { respond } from "../../response/respond.ts";
import { ExplainBody, explanationBody } from "./wire.ts";

/** What operators ask about the credentials of others. */
export const credentials = new Hono<AppEnv>()
  .use(authorizeOperators)

  .post("/explain", jsonBody(ExplainBody), async (c) => {
    const { credential: text, audience, origin } = c.req.valid("json");
    const explained = await explainCredential(c, { text, audience, origin }, askIfOperatorToken);
    if (!explained.ok) return refuse(c, explained.failure);
    return respond(c, { success: 1, credential: explanationBody(explained.value) });
  });
