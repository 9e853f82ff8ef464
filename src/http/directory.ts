import type { GroupDirectory } from "../domain/group-directory.ts";
import { inTime, TooLate } from "../domain/in-time.ts";
import { DIRECTORY_BACKOFF_MS, DIRECTORY_SECONDS_MAX, DIRECTORY_TRIES_MAX } from "../domain/limits.ts";
import type { Environment } from "../domain/user-group.ts";

/** The directory could not be asked. Whether a call that changes something did so is not known. */
export class DirectoryUnavailable extends Error {}

/**
 * Calls after which all is the same when they run twice. The others are never repeated here. An `ensure` whose first run was
 * lost on its way answers that it has found the group, as it would to a client that called again.
 */
const SAFE_CALLS = new Set<PropertyKey>(["checkAccess", "ensure", "list", "listKeys", "revokeKey", "view"]);

/** The name of an environment's directory; who changes it loses sight of all groups. */
export const directoryName = ({ workspace, tag }: Environment): string => `${workspace}/${tag ?? "untagged"}`;

/**
 * The directory of an environment. Each call is one RPC. One that the platform fails with `retryable` is made again, where
 * it is safe, a few times and with a new stub, since a stub that has failed stays broken; `overloaded` never is (Durable
 * Objects, "Error handling"). A call that cannot be made, or is not answered in time, throws `DirectoryUnavailable`.
 */
export function directoryOf(env: Env, environment: Environment): DurableObjectStub<GroupDirectory> {
  const stub = () => env.GROUP_DIRECTORY.getByName(directoryName(environment));
  const calls = {
    get:
      (_: object, method: PropertyKey) =>
      (...args: unknown[]) =>
        ask(() => Reflect.get(stub(), method)(...args), SAFE_CALLS.has(method) ? DIRECTORY_TRIES_MAX : 1),
  };
  return new Proxy({}, calls) as DurableObjectStub<GroupDirectory>;
}

async function ask(call: () => Promise<unknown>, triesMax: number): Promise<unknown> {
  const deadline = Date.now() + DIRECTORY_SECONDS_MAX * 1000;
  for (let tries = 1; ; tries += 1) {
    try {
      return await inTime(call(), (deadline - Date.now()) / 1000);
    } catch (error) {
      if (!isRetryable(error) && !isOverloaded(error) && !(error instanceof TooLate)) throw error;
      if (!isRetryable(error) || tries === triesMax) throw new DirectoryUnavailable(String(error), { cause: error });
      await scheduler.wait(DIRECTORY_BACKOFF_MS * 2 ** (tries - 1) * (0.5 + Math.random() / 2));
    }
  }
}

const has = (error: unknown, flag: string): boolean => error instanceof Error && Reflect.get(error, flag) === true;

const isOverloaded = (error: unknown): boolean => has(error, "overloaded");

const isRetryable = (error: unknown): boolean => has(error, "retryable") && !isOverloaded(error);
