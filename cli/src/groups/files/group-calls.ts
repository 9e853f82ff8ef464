/** The calls of an import and an export: with the names of the wire, and with fields that this release does not know. */
import { isTemporary } from "../../../../client/src/resources/event.ts";
import {
  type Connection,
  connectionOf,
  type Protocol,
  type Query,
} from "../../../../client/src/transport/connection.ts";
import type { JsonObject } from "../../../../client/src/transport/json.ts";
import { pagedList } from "../../../../client/src/transport/paged-list.ts";
import { serverProtocol } from "../../../../client/src/transport/server-protocol.ts";
import type { UserGroupServiceError } from "../../../../client/src/transport/user-group-service-error.ts";
import { CommandError } from "../../../../common/command-error.ts";
import { LIST_ITEMS_MAX } from "../../../../common/limits.ts";
import { explainedError, type ServiceAccess } from "../../service-access.ts";
import { connectionTo, sentenceOf } from "../../support/transport.ts";

/** The service, and the credential to call it with. */
export type Service = Pick<ServiceAccess<unknown>, "url" | "credential">;

/** `sentenceOf` shows the issues of a refusal, so its message is the service's alone. */
const PROTOCOL: Protocol = { ...serverProtocol, detailsOf: () => ({ facts: {} }) };

/** `stop` ends waits between tries, but no request. */
export const groupCalls = ({ url, credential }: Service, stop?: AbortSignal): Connection =>
  connectionOf(connectionTo(url, { isLong: true, ...(stop && { stop }) }), "the key", credential.text, PROTOCOL);

export async function* listedGroups(service: Service, filters: Query): AsyncGenerator<JsonObject[], void, undefined> {
  const list = pagedList(groupCalls(service), { path: "/api/user_groups", field: "user_groups", toItem: () => null });
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const input = { cursor, pageSize: LIST_ITEMS_MAX };
    const { body, nextCursor } = await list.page(input, {}, filters).catch((error: unknown) => {
      throw endingError(error, service);
    });
    yield body.values("user_groups") as JsonObject[];
    cursor = nextCursor;
  }
}

/** The error with which the command ends, for an error of one of its calls. */
export const endingError = (error: unknown, { url, credential }: Service): unknown =>
  isTemporary(error) && error.status !== undefined
    ? unavailable(url, error)
    : explainedError(error, url, credential, sentenceOf);

function unavailable(url: URL, error: UserGroupServiceError): CommandError {
  // Such an answer is of a proxy.
  const isProxy = error.code === "unexpected_answer";
  const message = isProxy ? "" : ` Its message: ${sentenceOf(error)}`;
  return new CommandError(
    `The service at ${url.origin} takes no more calls at the moment (status ${error.status}).${message}`,
    isProxy ? { code: "unreachable" } : {},
  );
}
