import type { Failure } from "../../domain/failure.ts";
import type { CallEnv, RequestContext } from "../app-env.ts";
import { refuse } from "./failures.ts";

/**
 * Checks the caller before a request is refused for its content, so that a caller without a valid key gets the authentication
 * error and learns nothing about the content. Returns the failure to report.
 */
export const failureAfterCheck = async (c: RequestContext<CallEnv>, failure: Failure): Promise<Failure> =>
  (await c.get("checkCaller")()) ?? failure;

/** Refuses a request for its content, after its caller was checked. */
export const refuseRequest = async (c: RequestContext<CallEnv>, failure: Failure): Promise<Response> =>
  refuse(c, await failureAfterCheck(c, failure));

/** The same for what is wrong with one field of the body or the query, or one header. */
export const refuseField = (c: RequestContext<CallEnv>, name: string, message: string): Promise<Response> =>
  refuseRequest(c, { code: "invalid_body", issues: [{ path: [name], message }] });
