/** Reads the pages of backups from the service, and sends them to it. */
import * as z from "zod";
import {
  type Call,
  connectionOf,
  type Protocol,
  parse,
  type ServiceResponse,
} from "../../../client/src/transport/connection.ts";
import type { ResponseBody } from "../../../client/src/transport/response-body.ts";
import { serverProtocol } from "../../../client/src/transport/server-protocol.ts";
import { UserGroupServiceError } from "../../../client/src/transport/user-group-service-error.ts";
import { attempt } from "../../../common/attempt.ts";
import { CommandError } from "../../../common/command-error.ts";
import { findEnvironment } from "../../../common/environment.ts";
import { LIST_ITEMS_MAX } from "../../../common/limits.ts";
import { accessToDeployment, type ServiceOptions } from "../service-access.ts";
import { quoted } from "../support/printable.ts";
import { connectionTo, sentenceOf, unansweredError } from "../support/transport.ts";

/** The environment of a backup, as a query names it; `undefined` is the registry. */
export type Place = { workspace: string; environment: string } | undefined;

/** The service, called by an admin. */
export type Admin = {
  url: URL;
  call: <Value>(call: Call, read: (response: ServiceResponse) => Value) => Promise<Value>;
};

/** `sentenceOf` shows the issues of a refusal. A page of a backup is not JSON. */
const PROTOCOL: Protocol = {
  ...serverProtocol,
  parse: (text) => (parsed(text)?.success === undefined ? { success: 1, page: text } : parse(text)),
  detailsOf: (code, refusal) => ({ facts: {}, sentences: code === "invalid_backup" ? [positionIn(refusal)] : [] }),
};

const positionIn = (refusal: ResponseBody): string =>
  `(line ${refusal.number("line")} of the page: ${quoted(refusal.text("reason"))})`;

/** The calls of the admin whose credential the options of a command name. */
export function adminFor(options: ServiceOptions): Admin {
  const { url, credential } = accessToDeployment(options);
  return adminOf(url, credential.text);
}

/** The calls of this admin, which are retried while the service restarts. */
export function adminOf(url: URL, credential: string): Admin {
  const connection = connectionOf(connectionTo(url, { isLong: true }), "the key", credential, PROTOCOL);
  return {
    url,
    call: (call, read) =>
      connection
        .send(call)
        .then(read)
        .catch((error: unknown) => {
          if (!(error instanceof UserGroupServiceError)) throw error;
          throw unansweredError(error, url) ?? new CommandError(sentenceOf(error), error);
        }),
  };
}

/** The place of these names; `undefined` unless a service can have such an environment. The name of a file is made of it. */
export function placeNamed(workspace: unknown, environment: unknown): Place {
  const place = { workspace: String(workspace), environment: environment === null ? "untagged" : String(environment) };
  return findEnvironment(nameOf(place)) && place;
}

export const nameOf = (place: Place): string => (place ? `${place.workspace}/${place.environment}` : "the registry");

type Page<Content> = { content: Content; next: string | null };

/** The pages of a list. @throws CommandError for a cursor of before, which would make the list endless. */
async function* listOf<Content>(
  { url, call }: Admin,
  list: Pick<Call, "query"> & { path: string },
  read: (response: ServiceResponse) => Page<Content>,
): AsyncGenerator<Content, void, undefined> {
  const seen = new Set([""]);
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const { content, next } = await call({ ...list, method: "GET", query: { ...list.query, cursor } }, read);
    yield content;
    if (next !== null && seen.has(next))
      throw new CommandError(`The service at ${url.origin} repeats a page of ${list.path}, so it has no end.`);
    seen.add(next ?? "");
    cursor = next;
  }
}

/** The pages of a backup, as text, one at a time. */
export const pagesOf = (admin: Admin, place: Place): AsyncGenerator<string, void, undefined> =>
  listOf(admin, { path: "/api/backup", query: { ...place } }, ({ body, unexpected }) => {
    const content = body.text("page");
    const last = lastLineOf(content);
    if (!last) throw unexpected("is no page of a backup");
    return { content, next: last.next_cursor };
  });

/** The end of a page; `undefined` for a text that is none. */
export function lastLineOf(page: string): z.infer<typeof PageEnd> | undefined {
  return PageEnd.safeParse(parsed(page.slice(page.lastIndexOf("\n", page.length - 2) + 1))).data;
}

const PageEnd = z.object({
  kind: z.literal("page"),
  next_cursor: z.nullable(z.string()),
  signed_by: z.optional(z.string()),
});

/** The JSON of a line, if it is an object. */
export const parsed = (line: string): Record<string, unknown> | undefined =>
  attempt(() => JSON.parse(line)) ?? undefined;

/** What to do with the credentials of a backup, once it is restored; and whether signatures are not checked. */
export type RestoreOptions = { rotateTokens?: boolean; revokeKeys?: boolean; unsigned?: boolean };

/** Sends a page to be restored. Returns whether it was the last one. */
export async function sendPage(
  admin: Admin,
  place: Place,
  text: string,
  { rotateTokens, revokeKeys, unsigned }: RestoreOptions = {},
): Promise<boolean> {
  const query = {
    ...place,
    ...(rotateTokens && { rotate_tokens: "true" }),
    ...(revokeKeys && { revoke_keys: "true" }),
    ...(unsigned && { unsigned: "true" }),
  };
  const page = { body: text, contentType: "application/x-ndjson", retryable: true };
  return admin.call({ method: "POST", path: "/api/restore", query, ...page }, ({ body }) =>
    body.oneOf("done", [true, false]),
  );
}

/** Of a name that a service should not have. */
const NAME_UNITS_SHOWN = 60;

/** The environments of the deployment, as a query names them. */
export async function* environmentsOf(admin: Admin): AsyncGenerator<NonNullable<Place>, void, undefined> {
  const list = { path: "/api/environments", query: { limit: String(LIST_ITEMS_MAX) } };
  const pages = listOf(admin, list, ({ body, unexpected }) => {
    if (!body.has("next_cursor")) throw unexpected("has no next_cursor");
    return { content: body.objects("environments"), next: body.textOrNull("next_cursor") };
  });
  for await (const environments of pages)
    for (const each of environments) {
      const [workspace, environment] = [each.text("workspace"), each.textOrNull("environment")];
      const place = placeNamed(workspace, environment);
      if (!place)
        throw new CommandError(
          `The service at ${admin.url.origin} lists ${quoted(`${workspace}/${environment}`.slice(0, NAME_UNITS_SHOWN))}, which is no name of an environment.`,
        );
      yield place;
    }
}
