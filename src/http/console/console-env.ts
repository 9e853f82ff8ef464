import type { Environment } from "../../../common/environment.ts";
import type { Issue } from "../../../common/issue.ts";
import type { Assertion } from "../../domain/credentials/assertion.ts";
import type { Operator, PresentedConsoleSession, PresentedOperator } from "../../domain/credentials/caller.ts";
import type { ConsoleSession } from "../../domain/credentials/console-cookie.ts";
import type { AppEnv, RequestContext, With } from "../app-env.ts";
import type { Directory } from "../durable-objects.ts";
import type { KeyReason } from "./page-access.ts";

/** A request to the console that `protect` has not refused. */
export type ConsoleEnv = With<
  AppEnv,
  {
    origin: string;
    session?: ConsoleSession;
    form?: URLSearchParams;
    presentedOperator?: PresentedOperator & { key: PresentedConsoleSession };
  }
>;

/** An operator with a session, whom the registry checks within the page's own RPC. */
export type SignedInEnv = With<
  ConsoleEnv,
  {
    session: ConsoleSession;
    presentedOperator: PresentedOperator & { key: PresentedConsoleSession };
    /** The person of a session that began with an assertion, by the assertion of this request. */
    assertion?: Assertion;
    /** The fields of the form that was sent; empty for a GET. */
    form: URLSearchParams;
    /** Why the form of the page asks for the operator's own key, or for a recent assertion; `undefined` if it does not. */
    asksForKey: KeyReason | undefined;
    /** What is wrong with that key in the form that was sent, or with the assertion. */
    ownKeyIssues?: Issue[];
  }
>;

/** A form of an operator whom the registry has admitted with the role that the form needs. */
type FormEnv = With<SignedInEnv, { operator: Operator }>;

/** A page of an environment, of an operator whom the registry has admitted. */
export type EnvironmentEnv = With<FormEnv, { environment: Environment; directory: Directory }>;

/** Requests of these kinds, as functions take them. */
export type ConsoleCall = RequestContext<ConsoleEnv>;
export type SignedInCall = RequestContext<SignedInEnv>;
export type FormCall = RequestContext<FormEnv>;
export type EnvironmentCall = RequestContext<EnvironmentEnv>;
