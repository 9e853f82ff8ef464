/** The deployment that a command calls. */
import { UsageError } from "../../../common/command-error.ts";
import { serviceUrl } from "../support/service.ts";
import { type Context, nameInUse, readContext } from "./context-store.ts";

/** A deployment, and the context that named it. The key of a context is sent to its own deployment alone. */
export type Target = { url: URL; context?: Context };

/** The options that name a deployment. */
export type TargetOptions = { url?: string; context?: string };

/** Each of them sets a deployment or a credential, so that the context in use counts for neither. */
const VARIABLES = ["SERVICE_URL", "API_KEY", "OPERATOR_KEY", "OPERATOR_TOKEN"] as const;

/** The variables that are set, in place of which the context in use would count. */
export const variablesBeforeContext = (env: NodeJS.ProcessEnv): string[] => VARIABLES.filter((name) => env[name]);

/** The context that an option or UG_CONTEXT names; `undefined` if none does. */
export const namedContext = ({ context }: TargetOptions, env: NodeJS.ProcessEnv): string | undefined =>
  context ?? (env.UG_CONTEXT || undefined);

/**
 * The deployment of a command: of --url, or of --context or UG_CONTEXT, or of the variables, or of the context in use. A
 * credential and a deployment from different places never meet.
 */
export function targetOf(options: TargetOptions, env: NodeJS.ProcessEnv): Target {
  if (options.url !== undefined) {
    if (options.context !== undefined)
      throw new UsageError("Give --context or --url, not both: the key of a context goes to its own deployment alone.");
    return { url: serviceUrl(options.url, env) };
  }
  const name = namedContext(options, env) ?? (variablesBeforeContext(env).length > 0 ? undefined : nameInUse());
  if (name === undefined) return { url: serviceUrl(undefined, env) };
  const context = readContext(name);
  return { url: new URL(context.url), context };
}

/** A deployment, so that a person recognizes it. */
export const describedTarget = ({ url, context }: Target): string =>
  context === undefined ? url.origin : `${url.origin} (context ${context.name})`;
