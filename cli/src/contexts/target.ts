/** The deployment that a command calls. */
import { UsageError } from "../../../common/command-error.ts";
import { serviceUrl } from "../support/service.ts";
import { type Context, nameInUse, readContext } from "./context-store.ts";

/** A deployment, and the context that named it. The key of a context is sent only to its own deployment. */
export type Target = { url: URL; context?: Context };

/** The options that name a deployment. */
export type TargetOptions = { url?: string; context?: string };

/** Variables that set a deployment or a credential. If one is set, the context in use is ignored. */
const VARIABLES = ["SERVICE_URL", "API_KEY", "OPERATOR_KEY", "OPERATOR_TOKEN"] as const;

/** The variables that are set, so that the context in use is ignored. */
export const variablesBeforeContext = (env: NodeJS.ProcessEnv): string[] => VARIABLES.filter((name) => env[name]);

/** The context that an option or UG_CONTEXT names; `undefined` if none does. */
export const namedContext = ({ context }: TargetOptions, env: NodeJS.ProcessEnv): string | undefined =>
  context ?? (env.UG_CONTEXT || undefined);

/**
 * The deployment of a command: from --url, or --context or UG_CONTEXT, or the variables, or the context in use. No credential is sent to a
 * deployment that another of these sources has named.
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

/** A deployment as messages name it. */
export const describedTarget = ({ url, context }: Target): string =>
  context === undefined ? url.origin : `${url.origin} (context ${context.name})`;
