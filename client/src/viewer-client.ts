import { type Caller, viewerWhoami } from "./resources/caller.ts";
import { toViewedGroup, type ViewedGroup } from "./resources/user-group.ts";
import { type CallOptions, type Connection, type ConnectionOptions, connectionOf } from "./transport/connection.ts";
import type { JsonObject, JsonValue } from "./transport/json.ts";
import { type SessionConnection, type SessionFunction, sessionConnection } from "./transport/session-connection.ts";
import { viewerProtocol } from "./transport/viewer-protocol.ts";

/** The service's address, and either the token of the group to show or the function that gets viewer sessions. */
export type ViewerClientOptions = ConnectionOptions & {
  /**
   * The environment that the credential must be of, as `<workspace>/<environment>`, such as `acme/Customer`; any other is refused with
   * `audience_mismatch`. A server that takes credentials from requests must name it; a page with its own session need not.
   */
  audience?: string;
} & (
    | {
        /** The token of a user group. `undefined`, which `ensure` returns to a key without `tokens:read`, is a `TypeError`. */
        token: string | undefined;
        session?: undefined;
      }
    | {
        /** Gets a viewer session from your backend. It is called when the first is needed, and to renew it. */
        session: SessionFunction;
        token?: undefined;
      }
  );

/** The session that a page presents at the moment. */
export type CurrentSession = {
  token: string;
  /** The rest of its life, in seconds. */
  expiresInSeconds: number;
};

/** Which session to get. */
export type CurrentSessionInput = {
  /** The token of a session that your own API has refused with 401: you get another one. */
  refused?: string | undefined;
};

/** How stale the response may be. By default it is fresh. */
export type ViewInput = {
  /**
   * Allows a response that is at most this old. With a group token, less than 60 seconds has no effect; leave it out where a revoked
   * token must be refused at once. With a session it shortens what the backend has allowed with `maxStaleSeconds`.
   */
  maxAgeSeconds?: number | undefined;
};

/** The group as its viewer sees it, and its variables. */
export type View = {
  /** The environment of the credential, as `<workspace>/<environment>`; `null` from a service before 1.1, which does not name it. */
  audience: string | null;
  group: ViewedGroup;
  /** The variables that dashboards read: `user_group_id`, `user_group_name`, and `user_group.<key>` for each property. */
  variables: JsonObject;
};

/** A value of the page for a template: one, or a list of at most 100 of one type. */
export type QueryValue = string | number | boolean | null | readonly string[] | readonly number[] | readonly boolean[];

/** An SQL template, into which the service binds the group's variables and values of the page. */
export type BindQueryInput = {
  /** SQL with `{{variable}}` for each value, and `[[ ... ]]` around optional clauses; 16 KiB at most. */
  sql: string;
  /**
   * What your database's driver takes: `"?"` by default, `"$1"` (PostgreSQL), `"%s"` (psycopg, PyMySQL; a `%` of the template is doubled)
   * or `"@p1"` (SQL Server). For `"{p1:String}"` (ClickHouse) see `NamedBindQueryInput`.
   */
  placeholders?: "?" | "$1" | "%s" | "@p1" | undefined;
  /**
   * Values such as the dates of a filter, which the template names `{{value.name}}`: at most 50, of 16 KiB as JSON. A clause without its value
   * is dropped. They only filter: the person at the page can choose any. A Map or `URLSearchParams` in their place is a `TypeError`.
   */
  values?: Readonly<Record<string, QueryValue>>;
};

/** A template for ClickHouse, whose placeholders have names and the types of their values. */
export type NamedBindQueryInput = Omit<BindQueryInput, "placeholders"> & { placeholders: "{p1:String}" };

/** SQL that a database can run. */
export type BoundQuery = {
  sql: string;
  /** The values of the placeholders, in their order: the first is that of `$1` and `@p1`. */
  params: JsonValue[];
  /** The missing variables and values for which optional clauses were dropped. */
  dropped: string[];
};

/** SQL that ClickHouse can run, with the values of the placeholders by their names. */
export type NamedBoundQuery = Omit<BoundQuery, "params"> & { params: JsonObject };

/**
 * The calls of a dashboard, with the token of a user group or viewer sessions. It works in browsers, on any origin.
 *
 * @example
 * import { UserGroupClient, ViewerClient } from "user-group-service/client";
 *
 * const url = "http://localhost:8787";
 * const groups = new UserGroupClient({ url, apiKey: process.env.API_KEY ?? "" });
 * await groups.ensure({ userGroupId: "viewed", name: "Viewed Inc." });
 *
 * // In a page: session: () => fetch("/session", { method: "POST" })
 * const viewer = new ViewerClient({ url, session: () => groups.mintSession({ userGroupId: "viewed" }) });
 * const { group } = await viewer.view();
 * console.info(group.name);
 * // Viewed Inc.
 */
export class ViewerClient {
  readonly #audience: string | undefined;
  readonly #connect: () => Connection | SessionConnection;
  #connection: Connection | SessionConnection;

  constructor({ token, session, ...options }: ViewerClientOptions) {
    // Without one, each environment's credentials are taken: a setting that is missing by mistake must not mean that.
    if ("audience" in options && !/^[\w/-]+$/.test(options.audience ?? "")) throw new TypeError("Give audience.");
    this.#audience = options.audience;
    if (token !== undefined && session !== undefined) throw new TypeError("Give session or token.");
    this.#connect = () =>
      session === undefined
        ? connectionOf(options, "token", token, viewerProtocol)
        : sessionConnection(options, session);
    this.#connection = this.#connect();
  }

  /**
   * Gets the group that has the token, and its variables.
   *
   * @example
   * await groups.ensure({ userGroupId: "viewing", properties: { plan: "gold" } });
   * const viewer = new ViewerClient({ url, session: () => groups.mintSession({ userGroupId: "viewing" }) });
   * const { group, variables } = await viewer.view();
   * console.info(group.userGroupId, variables["user_group.plan"]);
   * // viewing gold
   */
  async view({ maxAgeSeconds }: ViewInput = {}, options?: CallOptions): Promise<View> {
    const headers = maxAgeSeconds === undefined ? {} : { "Cache-Control": `max-age=${maxAgeSeconds}` };
    const query = this.#audience ? `?audience=${this.#audience}` : "";
    const { body } = await this.#connection.send({ method: "GET", path: `/api/viewer${query}`, headers }, options);
    return {
      audience: body.textOrNull("audience"),
      group: toViewedGroup(body.object("user_group")),
      variables: body.json("variables"),
    };
  }

  /**
   * Replaces each variable of the template by a placeholder. Values become parameters, never text of the SQL.
   *
   * @example
   * await groups.ensure({ userGroupId: "binding" });
   * const viewer = new ViewerClient({ url, session: () => groups.mintSession({ userGroupId: "binding" }) });
   * const { sql, params } = await viewer.bindQuery({ sql: "SELECT * FROM orders WHERE customer = {{user_group_id}}" });
   * console.info(sql, params);
   * // SELECT * FROM orders WHERE customer = ? [ 'binding' ]
   *
   * // A filter of the page, whose clause is dropped while it is empty.
   * const filtered = await viewer.bindQuery({ sql: "SELECT 1 [[WHERE at >= {{value.from}}]]", values: { from: "2026-10-01" } });
   * console.info(filtered.sql, filtered.params);
   * // SELECT 1 WHERE at >= ? [ '2026-10-01' ]
   */
  bindQuery(input: NamedBindQueryInput, options?: CallOptions): Promise<NamedBoundQuery>;
  bindQuery(input: BindQueryInput, options?: CallOptions): Promise<BoundQuery>;
  async bindQuery(
    input: BindQueryInput | NamedBindQueryInput,
    options?: CallOptions,
  ): Promise<BoundQuery | NamedBoundQuery> {
    const { sql, placeholders, values } = input;
    // JSON has nothing of a Map or URLSearchParams. Their method has a name that no value can have.
    if ("values" in input) refuseLost({ values: values?.forEach ?? values, ...values });
    const call = {
      method: "POST" as const,
      path: "/api/viewer/query",
      body: { sql, placeholders, values, audience: this.#audience },
      retryable: true,
    };
    const { body } = await this.#connection.send(call, options);
    const params = body[placeholders === "{p1:String}" ? "json" : "values"]("params");
    return { sql: body.text("sql"), params, dropped: body.texts("dropped") } as BoundQuery | NamedBoundQuery;
  }

  /**
   * Gets the session that the calls present, renewed as for them, so that your page can send it to your own API.
   *
   * @example
   * await groups.ensure({ userGroupId: "current" });
   * const viewer = new ViewerClient({ url, session: () => groups.mintSession({ userGroupId: "current" }) });
   * const { token } = await viewer.session();
   * const headers = { Authorization: `Bearer ${token}` };
   * console.info((await fetch(`${url}/api/viewer`, { headers })).status);
   * // 200
   */
  async session({ refused }: CurrentSessionInput = {}, options?: CallOptions): Promise<CurrentSession> {
    const { token, endsAt } = await this.#sessions().current(options, refused);
    return { token, expiresInSeconds: (endsAt - performance.now()) / 1000 };
  }

  /**
   * Forgets the session, for a page whose person signs out or changes. Calls in flight reject with an `AbortError`, and nothing that was
   * minted before is used afterwards. The next call gets a new session.
   *
   * @example
   * await groups.ensure({ userGroupId: "first" });
   * await groups.ensure({ userGroupId: "second" });
   * let userGroupId = "first";
   * const viewer = new ViewerClient({ url, session: () => groups.mintSession({ userGroupId }) });
   * const first = viewer.view();
   * userGroupId = "second";
   * viewer.reset();
   * console.info(await first.catch(({ name }: Error) => name), (await viewer.view()).group.name);
   * // AbortError second
   */
  reset(): void {
    this.#sessions().end();
    this.#connection = this.#connect();
  }

  /** Gets the group's number, its name and its environment, and the end of the token's grace. */
  whoami(options?: CallOptions): Promise<Caller> {
    return viewerWhoami(this.#connection, options);
  }

  #sessions(): SessionConnection {
    if (!("end" in this.#connection)) throw new TypeError("Give session, not token.");
    return this.#connection;
  }
}

/** Throws a `TypeError` for a value that JSON would leave out, which would drop the clause of a filter, or turn into null. */
function refuseLost(values: Record<string, unknown>): void {
  for (const name in values)
    if (values[name] !== null && JSON.stringify([values[name]]) === "[null]") throw new TypeError(`Give ${name}.`);
}
