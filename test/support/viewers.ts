import { env } from "cloudflare:workers";
import { type Answer, call } from "./client.ts";

/** The header by which a viewer accepts an answer from a lease. */
export const STALE = { "Cache-Control": "max-age=60" };

/** Presents a token to `GET /api/viewer`, as a dashboard does. */
export const view = (token: string | undefined, headers: Record<string, string> = {}, callEnv = env): Promise<Answer> =>
  call("GET", "/api/viewer", { credential: token, headers, env: callEnv });

/** Presents a token with a template to bind. */
export const query = (
  token: string | undefined,
  body: object | string,
  headers: Record<string, string> = {},
): Promise<Answer> => call("POST", "/api/viewer/query", { credential: token, body, headers });

/** Who answered a viewer: the directory or the index. */
export const answeredBy = ({ headers }: Answer): string | null => headers.get("X-Answered-By");
