import type { Environment } from "../../src/client/index.ts";
import { CommandError } from "../command.ts";
import { quoted } from "./printable.ts";

/** The options by which a command names an environment. */
export const ENVIRONMENT_OPTIONS = { workspace: { type: "string" }, environment: { type: "string" } } as const;

/** Shorter than any credential. */
const GIVEN_UNITS_MAX = 40;

/** The values of these options. */
export type NamedEnvironment = { workspace?: string | undefined; environment?: string | undefined };

/** The environment that the options name. */
export function environmentOf({ workspace, environment }: NamedEnvironment): Environment {
  if (workspace === undefined) throw new CommandError("Give --workspace as the slug of the workspace.");
  if (environment === "untagged") return { workspace, environment: null };
  if (environment === "Customer" || environment === "Testing") return { workspace, environment };
  // A longer text may be a credential that was pasted in the wrong place.
  const given = environment !== undefined && environment.length <= GIVEN_UNITS_MAX ? quoted(environment) : undefined;
  throw new CommandError(`Give --environment as Customer, Testing or untagged${given ? `, not ${given}` : ""}.`);
}

/** The name of an environment, as the options take it. */
export const tagOf = ({ environment }: Environment): string => environment ?? "untagged";
