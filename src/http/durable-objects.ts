import type { DurableObject } from "cloudflare:workers";
import { directoryName, type Environment } from "../../common/environment.ts";
import { DIRECTORY_BACKOFF_MS, DIRECTORY_SECONDS_MAX, DIRECTORY_TRIES_MAX } from "../../common/limits.ts";
import type { Operator } from "../domain/credentials/caller.ts";
import type { IsIdempotent } from "../domain/failure.ts";
import type { GroupDirectory } from "../domain/group-directory.ts";
import { isObject } from "../domain/json.ts";
import { directoryStub, registryStub } from "../domain/placement.ts";
import type { Registry } from "../domain/registry.ts";
import { TimeoutError, withTimeout } from "../domain/with-timeout.ts";
import type { Location } from "../records.ts";
import { RESTORING, UNKNOWN_SCHEMA } from "../storage/migrations.ts";

/**
 * Thrown when a call of a Durable Object fails, with the code of the refusal: `directory_unavailable` if the object could not be reached in time
 * (whether a change was made is unknown), `service_not_configured` if its database belongs to another release, `environment_restoring` while a
 * backup is restored into it, `environment_damaged` if SQLite finds its database damaged or cannot open it, and `environment_full` if the call
 * needs to write and the disk is full. SQLite has made no change then.
 */
class DurableObjectError extends Error {
  readonly code: DurableObjectCode;

  constructor(code: DurableObjectCode, message?: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

type DurableObjectCode =
  | "directory_unavailable"
  | "service_not_configured"
  | "environment_restoring"
  | "environment_damaged"
  | "environment_full";

/** The code of the refusal; `undefined` of an error that no Durable Object explains. */
export const refusalCodeOf = (error: unknown): DurableObjectCode | undefined =>
  error instanceof DurableObjectError ? error.code : undefined;

const FULL_DISK = "The disk is full. Free space on it: reads go on, and changes are refused until then.";

/** What the log says of an error. */
export function problemOf(error: unknown): string {
  if (refusalCodeOf(error) === "environment_full") return FULL_DISK;
  if (error instanceof DurableObjectError && error.code === "environment_damaged") return error.message;
  return (error instanceof Error && error.stack) || String(error);
}

type MethodOf<Target> = Exclude<keyof Target & string, keyof DurableObject>;

/** The RPC methods of a Durable Object. */
type Remote<Target extends Rpc.DurableObjectBranded> = Pick<
  DurableObjectStub<Target>,
  MethodOf<Target> & keyof DurableObjectStub<Target>
>;

/** The RPC methods of an environment's directory, as routes call them. */
export type Directory = Remote<GroupDirectory>;

/** The RPC methods whose type does not say that they are idempotent. */
type UnmarkedMethodOf<Target> = {
  [Method in MethodOf<Target>]: IsIdempotent<Target[Method]> extends true ? never : Method;
}[MethodOf<Target>];

/** Whether these methods are idempotent. Only idempotent methods are retried. */
const UNMARKED_IN_DIRECTORY: Record<UnmarkedMethodOf<GroupDirectory>, boolean> = {
  abandonRestore: true,
  endSessions: false,
  endSessionsByNumber: false,
  erase: true,
  hasNoKeys: true,
  issueKey: false,
  probeDisk: true,
  purge: false,
  remove: false,
  removeByNumber: false,
  restoreProgress: true,
  rollKey: false,
  rotateByNumber: false,
  rotateToken: false,
  stopNotingUse: true,
  update: false,
  updateByNumber: false,
};

const UNMARKED_IN_REGISTRY: Record<UnmarkedMethodOf<Registry>, boolean> = {
  abandonRestore: true,
  bury: true,
  checkStorage: true,
  issueOperator: false,
  issueOperatorWithEmail: false,
  noteRestored: false,
  probeDisk: true,
  purgedAmong: true,
  rollOperator: false,
  stopNotingUse: true,
};

/** The environments whose last call of this isolate has found their database damaged. */
const damaged = new Set<string>();

/** Whether the last call of the environment in this isolate has found its database damaged. */
export const isKnownDamaged = (environment: string): boolean => damaged.has(environment);

/** The directory of an environment. The platform places it by the location hint of its first call. */
export function directoryOf(env: Env, environment: Environment, location?: Location | null): Directory {
  const options = location ? { locationHint: location } : {};
  const name = directoryName(environment);
  return remote<Directory>({
    name,
    stub: () => directoryStub(env, name, options),
    unmarked: UNMARKED_IN_DIRECTORY,
    onResult: () => damaged.delete(name),
    onDamage: () => damaged.add(name),
  });
}

/** The RPC methods of the deployment's registry. */
export type RemoteRegistry = Remote<Registry>;

/** The registry of the deployment. `setOperator` is called with each operator whom it admits. */
export const registryOf = (env: Env, setOperator: (operator: Operator) => void = () => undefined): RemoteRegistry =>
  remote<RemoteRegistry>({
    name: "the registry",
    stub: () => registryStub(env),
    unmarked: UNMARKED_IN_REGISTRY,
    onResult: (result) => {
      const operator = operatorOf(result);
      if (operator) setOperator(operator);
    },
  });

/** The operator in a result of the registry: its value (of `admit`), or the field `operator` of that. */
function operatorOf(result: unknown): Operator | undefined {
  const value = isObject(result) && "value" in result && isObject(result.value) ? result.value : {};
  const operator = "operator" in value ? value.operator : value;
  return isOperator(operator) ? operator : undefined;
}

const isOperator = (value: unknown): value is Operator =>
  isObject(value) && "kind" in value && value.kind === "operator";

/** A Durable Object: its name for the log, its stub, and whether its unmarked methods are idempotent. */
type Target = {
  name: string;
  stub: () => { id: DurableObjectId };
  unmarked: Record<string, boolean>;
  onResult?: (result: unknown) => void;
  onDamage?: () => void;
};

/**
 * The RPC methods of a Durable Object. If the platform reports that a call failed and is `retryable`, an idempotent one is
 * retried with a new stub, since a stub that failed stays broken; an `overloaded` object is not asked again (Durable Objects,
 * "Error handling"). Throws `directory_unavailable` if there is no answer in time.
 *
 * On a full disk, the object starts again after each write that fails, and fails all calls that are under way. So an idempotent
 * call is retried, without a note of its key's use. If it writes nothing else, it succeeds.
 */
function remote<Methods extends object>({
  name,
  stub,
  unmarked,
  onResult = () => undefined,
  onDamage,
}: Target): Methods {
  const call =
    (method: string) =>
    async (...args: unknown[]) => {
      const invoke = (target: object, name: string, ...parameters: unknown[]) =>
        Reflect.apply(Reflect.get(target, name), undefined, parameters) as Promise<unknown>;
      const result = await retry({
        nameInLog: () => `${name} (${stub().id}.sqlite)`,
        call: () => invoke(stub(), method, ...args),
        callOnFullDisk: async () => {
          const target = stub();
          await invoke(target, "stopNotingUse");
          return invoke(target, method, ...args);
        },
        probeDisk: () => invoke(stub(), "probeDisk"),
        triesMax: unmarked[method] === false ? 1 : DIRECTORY_TRIES_MAX,
      }).catch((error: unknown) => {
        if (refusalCodeOf(error) === "environment_damaged") onDamage?.();
        throw error;
      });
      onResult(result);
      return result;
    };
  return new Proxy({} as Methods, {
    // An object with a method `then` would be taken for a promise.
    get: (_, method) => (method === "then" ? undefined : call(String(method))),
  });
}

type Attempts = Record<"call" | "callOnFullDisk" | "probeDisk", () => Promise<unknown>> & {
  nameInLog: () => string;
  triesMax: number;
};

async function retry({ nameInLog, call, callOnFullDisk, probeDisk, triesMax }: Attempts): Promise<unknown> {
  const deadline = Date.now() + DIRECTORY_SECONDS_MAX * 1000;
  const byDeadline = (work: Promise<unknown>) => withTimeout(work, (deadline - Date.now()) / 1000);
  let attempt = call;
  for (let tries = 1; ; tries += 1) {
    try {
      return await byDeadline(attempt());
    } catch (thrown) {
      const failure = await failureOf(thrown, () => byDeadline(probeDisk()));
      const code = refusalCodeOf(failure);
      if (code === "environment_damaged") throw damagedError(nameInLog(), thrown);
      const isTriedAgain = code === "environment_full" || isRetryable(thrown);
      if (!isTriedAgain || code === "service_not_configured" || tries === triesMax) throw failure;
      if (code === "environment_full") attempt = callOnFullDisk;
      else await scheduler.wait(DIRECTORY_BACKOFF_MS * 2 ** (tries - 1) * (0.5 + Math.random() / 2));
    }
  }
}

/**
 * Classifies an error of an RPC. Some errors of a full disk or a damaged database do not name it, such as that of an alarm that cannot
 * be stored: then the probe shows it.
 */
async function failureOf(error: unknown, probeDisk: () => Promise<unknown>): Promise<unknown> {
  const known = knownFailureOf(error);
  if (known) return known;
  const thrown = await probeDisk().then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  const found = knownFailureOf(thrown);
  if (found?.code === "environment_full" || found === DAMAGED) return found;
  return isMasked(error) && isMasked(thrown) ? DAMAGED : error;
}

/** What `failureOf` returns for a damaged database. */
const DAMAGED = new DurableObjectError("environment_damaged");

/** SQLite's result codes for a damaged database, as workerd passes them on. */
const DAMAGE = /SQLITE_(?:CORRUPT|NOTADB)/;

/** Whether workerd hides the reason, as it does if SQLite cannot open the database: then each call of the object fails so. */
const isMasked = (error: unknown): boolean => error instanceof Error && error.message.startsWith("internal error;");

const damagedError = (name: string, cause: unknown): DurableObjectError =>
  new DurableObjectError(
    "environment_damaged",
    `The database of ${name} is damaged or cannot be opened: ${cause}. Check the disk and the owner of the file, and restore it from a ` +
      "backup: docs/operators/customers.md has the steps.",
    { cause },
  );

/** How workerd refuses a call of a method that the class does not have. */
const NO_METHOD = "RPC receiver does not implement the method";

function knownFailureOf(error: unknown): DurableObjectError | undefined {
  const message = error instanceof Error ? error.message : "";
  if (message.includes(UNKNOWN_SCHEMA)) return new DurableObjectError("service_not_configured", message);
  if (message.includes(RESTORING)) return new DurableObjectError("environment_restoring", message);
  if (DAMAGE.test(message)) return DAMAGED;
  // SQLite's result code, as workerd passes it on.
  if (message.includes("SQLITE_FULL")) return new DurableObjectError("environment_full", message, { cause: error });
  // During a deployment, the Durable Objects of the release before lack the methods that this one has added.
  if (isRetryable(error) || isOverloaded(error) || error instanceof TimeoutError || message.includes(NO_METHOD))
    return new DurableObjectError("directory_unavailable", String(error), { cause: error });
  return undefined;
}

const hasFlag = (error: unknown, flag: string): boolean => error instanceof Error && Reflect.get(error, flag) === true;

const isOverloaded = (error: unknown): boolean => hasFlag(error, "overloaded");

const isRetryable = (error: unknown): boolean => hasFlag(error, "retryable") && !isOverloaded(error);

/**
 * The result of an RPC; `undefined` if it fails. Only for data that a page can do without: during a deployment, the Durable Object may be
 * of a release that lacks the method.
 */
export async function ifAnswered<Value>(call: () => Promise<Value>): Promise<Value | undefined> {
  try {
    return await call();
  } catch {
    return undefined;
  }
}
