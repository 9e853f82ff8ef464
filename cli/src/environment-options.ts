/** The options that name an environment. */
import type { Environment } from "../../client/src/index.ts";
import { UsageError } from "../../common/command-error.ts";
import { directoryName, tagWord } from "../../common/environment.ts";
import { quoted } from "./support/printable.ts";

export type EnvironmentOptions = { workspace?: string; environment?: string };

/** Shorter than any credential. */
const GIVEN_UNITS_MAX = 40;

/** The environment that the options name. @throws UsageError if they name none. */
export function environmentOf({ workspace, environment }: EnvironmentOptions): Environment {
  if (workspace === undefined) throw new UsageError("Give --workspace as the slug of the workspace.");
  if (environment === "untagged") return { workspace, environment: null };
  if (environment === "Customer" || environment === "Testing") return { workspace, environment };
  // A longer text may be a credential that was pasted in the wrong place.
  const given = environment !== undefined && environment.length <= GIVEN_UNITS_MAX ? quoted(environment) : undefined;
  throw new UsageError(`Give --environment as Customer, Testing or untagged${given ? `, not ${given}` : ""}.`);
}

/** An environment as people write it, such as `acme/Customer`. */
export const environmentName = (environment: Environment): string =>
  directoryName({ workspace: environment.workspace, tag: environment.environment });

/** The environment that the options name, as the query of a call takes it. @throws UsageError if they name none. */
export function environmentQueryOf(options: EnvironmentOptions): { workspace: string; environment: string } {
  const { workspace, environment } = environmentOf(options);
  return { workspace, environment: tagWord(environment) };
}
