import type { CallOptions, Connection, Query } from "../transport/connection.ts";
import { type PageInput, pagedList } from "../transport/paged-list.ts";
import type { EnvironmentTag, ResponseBody } from "../transport/response-body.ts";
import { type Because, reasonBodyOf } from "./credential.ts";

/** One environment of a workspace; `null` is the one without a tag. */
export type Environment = { workspace: string; environment: EnvironmentTag };

/** Where an environment's database is placed: a location hint of Durable Objects. */
export type LocationHint = "wnam" | "enam" | "sam" | "weur" | "eeur" | "apac" | "oc" | "afr" | "me";

/** An environment in a list. Times are ISO 8601 in UTC. */
export type ListedEnvironment = Environment & {
  /** The location hint with which the environment was made; `null` if there was none. */
  location: string | null;
  createdAt: string;
};

/** An environment to erase. `confirm` repeats its name: `acme/Customer`, `acme/Testing` or `acme/untagged`. */
export type EraseEnvironmentInput = Environment & Because & { confirm: string };

/** Selects environments; all of them by default. */
export type EnvironmentsInput = PageInput;

/** Some environments, and the cursor of the next page; `null` on the last page. */
export type EnvironmentPage = { environments: ListedEnvironment[]; nextCursor: string | null };

/** Throws a `TypeError` for an environment that is not named: `undefined` is not the one without a tag. */
export function checkEnvironment({ workspace, environment }: Environment): void {
  if (workspace === undefined || environment === undefined)
    throw new TypeError("Give workspace, and environment as Customer, Testing, or null for the one without a tag.");
}

/** The query by which an operator names an environment. */
export function environmentQuery(named: Environment): Query {
  checkEnvironment(named);
  return { workspace: named.workspace, environment: named.environment ?? "untagged" };
}

export const toEnvironment = (environment: ResponseBody): Environment => ({
  workspace: environment.text("workspace"),
  environment: environment.environment("environment"),
});

const toListedEnvironment = (environment: ResponseBody): ListedEnvironment => ({
  ...toEnvironment(environment),
  location: environment.textOrNull("location"),
  createdAt: environment.text("created_at"),
});

export type Environments = ReturnType<typeof environmentsOf>;

/** The calls on the environments of a deployment. */
export function environmentsOf(connection: Connection) {
  const description = { path: "/api/environments", field: "environments", toItem: toListedEnvironment };
  const environments = pagedList(connection, description);

  return {
    /** Gets one page of the deployment's environments. */
    async environmentPage(input: EnvironmentsInput = {}, options?: CallOptions): Promise<EnvironmentPage> {
      const { items, nextCursor } = await environments.page(input, options);
      return { environments: items, nextCursor };
    },

    /**
     * Yields all environments of the deployment, and requests the next page when the one before is used up.
     *
     * @example
     * for await (const { workspace, environment } of operator.environments())
     *   if (workspace === "demo") console.info(environment);
     * // Testing
     */
    environments(
      input: EnvironmentsInput = {},
      options?: CallOptions,
    ): AsyncGenerator<ListedEnvironment, void, undefined> {
      return environments.items(input, options);
    },

    /**
     * Deletes all groups, keys and events of an environment for good. After an interruption, a second call finishes it, or fails
     * with `environment_not_found` if the service has finished it by itself.
     */
    async eraseEnvironment(input: EraseEnvironmentInput, options?: CallOptions): Promise<void> {
      const query = { ...environmentQuery(input), confirm: input.confirm };
      const call = { path: description.path, query, body: reasonBodyOf(input) };
      await connection.send({ method: "DELETE", ...call }, options);
    },
  };
}
