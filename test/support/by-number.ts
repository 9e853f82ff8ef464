import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { type Answer, type CallOptions, call } from "./client.ts";

/** What an operator's query names the environment of tests by. */
export const IN_ACME = { workspace: "acme", environment: "Testing" };

/** The calls on the groups of an environment by their number, with one credential. `search` names an operator's environment. */
export function byNumber(credential: string, search: Record<string, string> = {}) {
  const send =
    (method: string, path = "", query: Record<string, string> = {}) =>
    (teamId: number | string, body?: object | string, options: CallOptions = {}): Promise<Answer> =>
      call(method, `/api/user_groups/${teamId}${path}?${new URLSearchParams({ ...search, ...query })}`, {
        credential,
        body,
        ...options,
      });
  return {
    show: send("GET"),
    showDeleted: send("GET", "", { state: "deleted" }),
    update: send("PUT"),
    rotate: send("POST", "/rotate"),
    remove: send("DELETE"),
    restore: send("POST", "/restore"),
    purge: send("POST", "/purge"),
    list: (query: Record<string, string> = {}): Promise<Answer> =>
      call("GET", `/api/user_groups?${new URLSearchParams({ ...search, ...query })}`, { credential }),
    events: async (query: Record<string, string> = {}) =>
      (await call("GET", `/api/events?${new URLSearchParams({ ...search, limit: "1000", ...query })}`, { credential }))
        .body.events,
  };
}

/**
 * All rows of all tables of a directory as text, by table, with bytes in hex. When an API key was last used is left out:
 * any call may write it.
 */
export const rowsOf = (directory: string): Promise<Record<string, string[]>> =>
  runInDurableObject(env.GROUP_DIRECTORY.getByName(directory), (_, { storage: { sql } }) => {
    const tables = sql.exec<{ name: string }>(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_cf%' ESCAPE '\\'",
    );
    return Object.fromEntries(
      [...tables].map(({ name }) => [name, [...sql.exec(`SELECT * FROM ${name}`)].map(textOf)]),
    );
  });

const textOf = ({ last_used_at: _, ...row }: Record<string, SqlStorageValue>): string =>
  Object.entries(row)
    .map(([name, value]) => `${name}=${value instanceof ArrayBuffer ? new Uint8Array(value).toHex() : value}`)
    .join("\n");
