import type { Context } from "hono";
import type { Environment } from "../../common/environment.ts";
import type { Jurisdiction } from "../../common/settings/settings.ts";
import type { Caller, Operator, PresentedKey, PresentedOperator } from "../domain/credentials/caller.ts";
import type { SigningRing, VerifiedClaim } from "../domain/credentials/credential.ts";
import type { VerifiedSession } from "../domain/credentials/viewer-session.ts";
import type { Failure } from "../domain/failure.ts";
import type { Person } from "../domain/sql/variables.ts";
import type { GroupSnapshot } from "../records.ts";
import type { Access } from "./access.ts";
import type { Directory } from "./durable-objects.ts";
import type { Place } from "./request/places.ts";

/** The credential of a request, as far as it can be judged without a Durable Object. `bootstrap` is OPERATOR_TOKEN. */
export type Credential =
  | VerifiedClaim
  | { kind: "viewer_session"; session: VerifiedSession }
  | { kind: "bootstrap" | "unknown" | "none" };

/** What every request has. The optional fields are for its log line and for the messages of refusals. */
export type RequestEnv = {
  Bindings: Env;
  Variables: {
    requestId: string;
    /** The pattern of the route that answers the request. */
    pattern: string;
    /** The headers of every answer to this request. */
    headers: Record<string, string>;
    credential?: Credential;
    access?: Access;
    body?: Uint8Array;
    environment?: Environment;
    operator?: Operator;
    failureCode?: Failure["code"];
    /** What the operator of the deployment has to do, or the stack of a crash. */
    problem?: string;
    /** The place in which the request is worked on, until its answer has it. */
    place?: Place | undefined;
    keyId?: number;
    operatorId?: number;
    /** The group of the credential; otherwise that of the call, once it has succeeded. */
    teamId?: number;
    /** The viewer session of the credential, or the one that the call has minted. */
    sessionId?: string;
    /** The key or operator of the call, once it has succeeded. */
    subjectKeyId?: number;
    subjectOperatorId?: number;
  };
};

/** An `Env` type of Hono with more variables. */
export type With<Base extends RequestEnv, Variables> = { Bindings: Env; Variables: Base["Variables"] & Variables };

/** A request to a service whose settings are usable. */
export type AppEnv = With<RequestEnv, { ring: SigningRing; jurisdiction: Jurisdiction | null; credential: Credential }>;

/** A call that the table of access names. */
export type CallEnv = With<
  AppEnv,
  {
    access: Access;
    /** Among whom the call waits for its turn of long work: those of its environment, and of its caller, or the viewer's group. */
    branch: readonly string[];
    /** The body of a call that takes one; empty without one. */
    body: Uint8Array;
    /** The fields of the body, once they are validated. */
    fields?: object;
    /** Checks a caller whom otherwise only the call's own RPC checks. Returns the failure; `undefined` if it was checked before. */
    checkCaller: () => Promise<Failure | undefined>;
    /** The caller, on calls to a directory, and on calls of operators. */
    caller?: Caller;
    presentedOperator?: PresentedOperator;
  }
>;

/** An operator, whom the registry checks within the call's own RPC. */
export type UncheckedOperator = { presentedOperator: PresentedOperator };

/** An operator: the credential that the registry checks, and the operator whom it has admitted. */
export type AdmittedOperator = UncheckedOperator & { operator: Operator };

/** The caller of a directory: an API key, or an operator who has named the directory's environment. */
export type DirectoryCaller = {
  environment: Environment;
  directory: Directory;
  caller: Caller;
  presentedOperator?: PresentedOperator;
};

/** A viewer: the group that its token or session shows, and when that ends, in milliseconds since 1970, or `null`. */
export type Viewer = {
  kind: "token" | "viewer_session";
  group: GroupSnapshot;
  environment: Environment;
  expiresAt: number | null;
} & Person;

/** Who reads a feed: that of an environment, or of the deployment. */
export type FeedReader = DirectoryCaller | (UncheckedOperator & { environment?: never });

/** Any caller. */
export type Identity =
  | ({ kind: "api_key"; key: PresentedKey } & DirectoryCaller)
  | ({ kind: "operator" } & AdmittedOperator)
  | Viewer;

/** A call of an API key, or of an operator who names an environment. */
export type CallerEnv = With<CallEnv, DirectoryCaller>;

/** A call of an API key. */
export type KeyEnv = With<CallerEnv, { keyId: number }>;

/** A call of an operator about the deployment. */
export type OperatorEnv = With<CallEnv, UncheckedOperator>;

/** A call of an operator who names an environment. */
export type ManagerEnv = With<CallerEnv, AdmittedOperator>;

/** A call that reads a feed. */
export type FeedEnv = With<CallEnv, { feedReader: FeedReader }>;

/** A call of a viewer. */
export type ViewerEnv = With<CallEnv, { viewer: Viewer }>;

/** A call of any kind of caller. */
export type IdentityEnv = With<CallEnv, { identity: Identity }>;

/**
 * The part of a request's context that functions take. A context with more variables fits too; as Hono's own `Context` it would
 * not, because of its `set`. `get` is faster than `var`, which copies all variables; `var` is here for its type.
 */
export interface RequestContext<E extends RequestEnv = RequestEnv>
  extends Pick<Context<RequestEnv>, "req" | "env" | "executionCtx"> {
  readonly var: Readonly<E["Variables"]>;
  get<Name extends keyof E["Variables"]>(name: Name): E["Variables"][Name];
  set<Name extends keyof E["Variables"]>(name: Name, value: E["Variables"][Name]): void;
}

/** An operator as operations take it. */
export type OperatorContext = RequestContext<With<AppEnv, UncheckedOperator>>;

/** An operator who has named an environment, as operations take it. */
export type ManagerContext = RequestContext<
  With<AppEnv, Pick<DirectoryCaller & AdmittedOperator, "environment" | "directory" | "operator">>
>;

/** A call of the table of access, as functions take it. */
export type CallContext = RequestContext<CallEnv>;
