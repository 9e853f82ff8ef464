import { type CallOptions, Connection, type ConnectionOptions } from "./connection.ts";
import type { JsonObject, JsonValue } from "./json.ts";
import { type ViewedGroup, viewedGroup } from "./user-group.ts";

/** Where the service is, and whose dashboards to show. */
export type ViewerClientOptions = ConnectionOptions & {
  /** The token of a user group. */
  token: string;
};

/** How old the answer may be; not at all by default. */
export type ViewInput = {
  /** Allows an answer that is some time old, from 60 seconds on. Leave it out where a revoked token must stop at once. */
  maxAgeSeconds?: number | undefined;
};

/** What a viewer sees of the group. */
export type View = {
  group: ViewedGroup;
  /** What dashboards read: `user_group_id`, `user_group_name`, and `user_group.<key>` for each property. */
  variables: JsonObject;
};

/** A template to bind the variables into. */
export type BindQueryInput = {
  /** SQL with `{{variable}}` for each value, and `[[ ... ]]` around optional clauses; 16 KiB at most. */
  sql: string;
  /** `"?"` by default. */
  placeholders?: "?" | "$1" | undefined;
};

/** SQL that a database can run. */
export type BoundQuery = {
  sql: string;
  /** The values of the placeholders, in their order. */
  params: JsonValue[];
  /** The missing variables for which optional clauses were dropped. */
  dropped: string[];
};

/** What a dashboard asks with the token of a user group. It works in browsers, of any origin. */
export class ViewerClient {
  readonly #connection: Connection;

  constructor({ token, ...options }: ViewerClientOptions) {
    this.#connection = new Connection(options, "token", token);
  }

  /** Whose token it is, and the variables that follow from it. */
  async view({ maxAgeSeconds }: ViewInput = {}, { signal }: CallOptions = {}): Promise<View> {
    const headers = maxAgeSeconds === undefined ? {} : { "Cache-Control": `max-age=${maxAgeSeconds}` };
    const { body } = await this.#connection.send(
      { method: "GET", path: "/api/viewer", headers, repeatable: true },
      signal,
    );
    return { group: viewedGroup(body.object("user_group")), variables: body.json("variables") };
  }

  /** Puts a placeholder for each variable of the template; their values become parameters and never text of the SQL. */
  async bindQuery({ sql, placeholders }: BindQueryInput, { signal }: CallOptions = {}): Promise<BoundQuery> {
    const { body } = await this.#connection.send(
      { method: "POST", path: "/api/viewer/query", body: { sql, placeholders }, repeatable: true },
      signal,
    );
    return { sql: body.text("sql"), params: body.values("params"), dropped: body.texts("dropped") };
  }
}
