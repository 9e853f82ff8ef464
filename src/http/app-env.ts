import type { Caller, Operator, PresentedOperator } from "../domain/credentials/caller.ts";
import type { SigningRing, VerifiedClaim } from "../domain/credentials/credential.ts";
import type { VerifiedSession } from "../domain/credentials/viewer-session.ts";
import type { Environment } from "../domain/environment.ts";
import type { Failure } from "../domain/failure.ts";
import type { GroupSnapshot } from "../records.ts";
import type { Access } from "./access.ts";
import type { Directory } from "./durable-objects.ts";

/** The credential of a request, as far as it can be judged without a Durable Object. `bootstrap` is OPERATOR_TOKEN. */
export type Credential =
  | VerifiedClaim
  | { kind: "viewer_session"; session: VerifiedSession }
  | { kind: "bootstrap" | "unknown" | "none" };

/** What middleware adds to a request for its route. The optional fields are for the log line. */
export type AppEnv = {
  Bindings: Env;
  Variables: {
    requestId: string;
    /** The headers of every answer to this request. */
    headers: Record<string, string>;
    ring: SigningRing;
    credential: Credential;
    /** Who may make this call. */
    access?: Access;
    /** The kind of credential that the route takes, for the message to a caller without it. */
    takes?: string;
    /** The body of a call that takes one; empty without one. */
    body: Uint8Array;
    environment: Environment;
    caller: Caller;
    directory: Directory;
    /** The operator who calls, as the registry is asked, and as it has answered. */
    presentedOperator: PresentedOperator;
    operator: Operator;
    /** The group of a viewer. */
    group: GroupSnapshot;
    /** The viewer's id in a session. */
    viewerId?: string | undefined;
    failureCode?: Failure["code"];
    /** What the operator of the deployment has to do, or the stack of a crash. */
    problem?: string;
    keyId?: number;
    operatorId?: number;
    /** The group, key or operator of the call, once it has succeeded. */
    teamId?: number;
    subjectKeyId?: number;
    subjectOperatorId?: number;
  };
};
