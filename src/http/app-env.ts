import type { SigningRing, VerifiedClaim } from "../domain/credential.ts";
import type { Environment } from "../domain/environment.ts";
import type { Failure } from "../domain/failure.ts";
import type { Caller } from "../domain/group-directory.ts";
import type { GroupSnapshot } from "../records.ts";
import type { Directory } from "./directory.ts";

/** The credential of a request, as far as it can be judged without the directory. */
export type Credential =
  | { kind: "api_key" | "token"; claim: VerifiedClaim }
  | { kind: "operator_token" | "unknown" | "none" };

/** What middleware adds to a request for its route. The optional fields are for the log line. */
export type AppEnv = {
  Bindings: Env;
  Variables: {
    requestId: string;
    /** The headers of every answer to this request. */
    headers: Record<string, string>;
    ring: SigningRing;
    credential: Credential;
    /** The kind of credential that the route takes, for the message to a caller without it. */
    takes?: string;
    environment: Environment;
    caller: Caller;
    directory: Directory;
    /** The group of a viewer's token. */
    group: GroupSnapshot;
    failureCode?: Failure["code"];
    keyId?: number;
    /** The group or key of the call, once it has succeeded. */
    teamId?: number;
    subjectKeyId?: number;
    operator?: string;
  };
};
