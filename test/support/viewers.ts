import { env } from "cloudflare:workers";
import { type Answer, call } from "./client.ts";

/** What a viewer sends that allows an answer from the index. */
export const STALE = { "Cache-Control": "max-age=60" };

/** Shows a token, as a dashboard does that asks whose it is. */
export const view = (token: string | undefined, headers: Record<string, string> = {}, callEnv = env): Promise<Answer> =>
  call("GET", "/api/viewer", { credential: token, headers, env: callEnv });

/** Shows a token with a template to bind. */
export const query = (
  token: string | undefined,
  body: object | string,
  headers: Record<string, string> = {},
): Promise<Answer> => call("POST", "/api/viewer/query", { credential: token, body, headers });

/** Which of the two has answered a viewer. */
export const answeredBy = ({ headers }: Answer): string | null => headers.get("X-Answered-By");
