import type { DurableObject } from "cloudflare:workers";
import type { GroupDirectory } from "../domain/group-directory.ts";
import { TimeoutError, withTimeout } from "../domain/with-timeout.ts";
import { DIRECTORY_BACKOFF_MS, DIRECTORY_SECONDS_MAX, DIRECTORY_TRIES_MAX } from "../limits.ts";
import { UNKNOWN_SCHEMA } from "../storage/migrations.ts";

/** Thrown when the directory could not be reached in time. Whether a change was made is unknown. */
export class DirectoryUnavailable extends Error {}

/** Thrown when the directory's database belongs to another release. */
export class DirectoryUnreadable extends Error {}

type Stub = DurableObjectStub<GroupDirectory>;
type Method = Exclude<keyof GroupDirectory, keyof DurableObject>;

/**
 * The RPC methods, and whether each is idempotent. Only those are retried. An `ensure` whose first answer was lost reports
 * that it found the group, as it would to a client that calls again.
 */
const IDEMPOTENT: Record<Method, boolean> = {
  checkAccess: true,
  ensure: true,
  issueKey: false,
  list: true,
  listEvents: true,
  listKeys: true,
  remove: false,
  revokeKey: true,
  rollKey: false,
  rotateToken: false,
  show: true,
  update: false,
  view: true,
};

/** The RPC methods of a directory. */
export type Directory = Pick<Stub, Method>;

/**
 * The directory of this name. Each call is one RPC. If the platform reports that a call failed and is `retryable`, an
 * idempotent one is retried with a new stub, since a stub that failed stays broken; an `overloaded` object is not asked
 * again (Durable Objects, "Error handling"). Throws `DirectoryUnavailable` if there is no answer in time.
 */
export function directoryOf(env: Env, name: string): Directory {
  const call =
    (method: Method) =>
    (...args: unknown[]) =>
      retry(() => Reflect.apply(Reflect.get(env.GROUP_DIRECTORY.getByName(name), method), undefined, args), {
        triesMax: IDEMPOTENT[method] ? DIRECTORY_TRIES_MAX : 1,
      });
  return new Proxy({} as Directory, {
    get: (_, method) => (isMethod(method) ? call(method) : undefined),
  });
}

const isMethod = (name: PropertyKey): name is Method => Object.hasOwn(IDEMPOTENT, name);

async function retry(call: () => Promise<unknown>, { triesMax }: { triesMax: number }): Promise<unknown> {
  const deadline = Date.now() + DIRECTORY_SECONDS_MAX * 1000;
  for (let tries = 1; ; tries += 1) {
    try {
      return await withTimeout(call(), (deadline - Date.now()) / 1000);
    } catch (error) {
      if (error instanceof Error && error.message.includes(UNKNOWN_SCHEMA))
        throw new DirectoryUnreadable(error.message);
      if (!isRetryable(error) && !isOverloaded(error) && !(error instanceof TimeoutError)) throw error;
      if (!isRetryable(error) || tries === triesMax) throw new DirectoryUnavailable(String(error), { cause: error });
      await scheduler.wait(DIRECTORY_BACKOFF_MS * 2 ** (tries - 1) * (0.5 + Math.random() / 2));
    }
  }
}

const has = (error: unknown, flag: string): boolean => error instanceof Error && Reflect.get(error, flag) === true;

const isOverloaded = (error: unknown): boolean => has(error, "overloaded");

const isRetryable = (error: unknown): boolean => has(error, "retryable") && !isOverloaded(error);
