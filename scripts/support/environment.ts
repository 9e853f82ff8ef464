import type { Environment } from "../../src/client/index.ts";
import { CommandError } from "../command.ts";

/** The options by which a command names an environment. */
export const ENVIRONMENT_OPTIONS = { workspace: { type: "string" }, environment: { type: "string" } } as const;

type Named = { workspace?: string | undefined; environment?: string | undefined };

/** The environment that the options name. */
export function environmentOf({ workspace, environment }: Named): Environment {
  if (workspace === undefined) throw new CommandError("Give --workspace as the slug of the workspace.");
  if (environment === "untagged") return { workspace, environment: null };
  if (environment === "Customer" || environment === "Testing") return { workspace, environment };
  throw new CommandError("Give --environment as Customer, Testing or untagged.");
}

/** The name of an environment, as the options take it. */
export const tagOf = ({ environment }: Environment): string => environment ?? "untagged";
