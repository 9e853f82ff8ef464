import type { SigningRing } from "../domain/credential.ts";
import type { Failure } from "../domain/failure.ts";
import type { GroupDirectory, Proof } from "../domain/group-directory.ts";
import type { Environment, GroupSnapshot } from "../domain/user-group.ts";

/** What a request gathers on its way to its route. The optional ones are for the log line. */
export type AppEnv = {
  Bindings: Env;
  Variables: {
    requestId: string;
    /** What every answer to this request carries. */
    headers: Record<string, string>;
    ring: SigningRing;
    environment: Environment;
    caller: Proof;
    directory: DurableObjectStub<GroupDirectory>;
    /** The group whose token a viewer shows. */
    group: GroupSnapshot;
    failureCode?: Failure["code"];
    keyId?: number;
  };
};
