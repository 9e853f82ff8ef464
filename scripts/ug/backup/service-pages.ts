/** Reads the pages of backups from the service, and sends them to it. */

import { setTimeout as delay } from "node:timers/promises";
import { LIST_ITEMS_MAX } from "../../../src/limits.ts";
import { type HttpResponse, readBody, send } from "../../support/http.ts";
import { notTheService, unreachable } from "../../support/service.ts";
import { CommandError } from "../errors.ts";
import { sentenceOf } from "../groups/retrying-caller.ts";

/** The environment of a backup, as a query names it; `undefined` is the registry. */
export type Place = { workspace: string; environment: string } | undefined;

/** The service, and the admin's credential. */
export type Admin = { url: URL; credential: string };

export const nameOf = (place: Place): string => (place ? `${place.workspace}/${place.environment}` : "the registry");

const TRIES_MAX = 10;
const TRIES_TO_MENTION = 3;
const WAIT_MS_MAX = 60_000;
const TEMPORARY = [429, 502, 503, 504];
/** Refusals that last until an operator acts: a retry would only wait. */
const LASTING = /"(environment_restoring|service_not_configured)"/;

type Request = { method: "GET" | "POST"; path: string; query: Record<string, string>; text?: string };

/** Sends an idempotent call, and retries it after a lost connection and after temporary refusals. */
async function call({ url, credential }: Admin, { method, path, query, text }: Request): Promise<HttpResponse> {
  const target = new URL(path, url);
  for (const [name, value] of Object.entries(query)) target.searchParams.set(name, value);
  for (let tries = 1; ; tries += 1) {
    const headers: Record<string, string> = text === undefined ? {} : { "Content-Type": "application/x-ndjson" };
    const response = await send(target, { method, credential, headers, ...(text !== undefined && { text }) }).catch(
      (error: unknown) => {
        if (error instanceof CommandError || tries >= TRIES_MAX)
          throw error instanceof CommandError ? error : unreachable(url);
        return undefined;
      },
    );
    const isTemporary = !response || (TEMPORARY.includes(response.status) && !LASTING.test(response.text));
    if (response && (!isTemporary || tries >= TRIES_MAX)) return response;
    if (tries === TRIES_TO_MENTION) console.error("The service does not answer yet. Trying again for three minutes.");
    const retryAfterMs = Number(response?.retryAfter ?? 0) * 1000 || 0;
    await delay(Math.min(WAIT_MS_MAX, Math.max(retryAfterMs, 250 * 2 ** tries)));
  }
}

/** The error of a refusal. */
function refusedBy({ url, credential }: Admin, { status, text }: HttpResponse): CommandError {
  const body = readBody<object>(credential, text);
  if (!body?.error) return notTheService(url, status);
  const { code } = body.error;
  const where = code === "invalid_backup" ? ` (${reasonIn(text)})` : "";
  return new CommandError(sentenceOf(body.error) + where, {
    code,
    ...(body.request_id !== undefined && { requestId: body.request_id }),
  });
}

function reasonIn(text: string): string {
  const { line, reason } = JSON.parse(text).error as { line?: unknown; reason?: unknown };
  return `line ${Number(line)} of the page: ${JSON.stringify(String(reason))}`;
}

/** The pages of a backup, as text, one at a time. */
export async function* pagesOf(admin: Admin, place: Place): AsyncGenerator<string, void, undefined> {
  for (let cursor: string | null = ""; cursor !== null; ) {
    const query = { ...place, ...(cursor !== "" && { cursor }) };
    const response = await call(admin, { method: "GET", path: "/api/backup", query });
    if (response.status !== 200) throw refusedBy(admin, response);
    const last = lastLineOf(response.text);
    if (last === undefined) throw notTheService(admin.url, response.status);
    yield response.text;
    cursor = last.next_cursor;
  }
}

function lastLineOf(page: string): { next_cursor: string | null } | undefined {
  try {
    const line = JSON.parse(page.slice(page.lastIndexOf("\n", page.length - 2) + 1));
    return line.kind === "page" ? line : undefined;
  } catch {
    return undefined;
  }
}

/** What to do with the credentials of a backup, once it is restored. */
export type RestoreOptions = { rotateTokens?: boolean; revokeKeys?: boolean };

/** Sends a page to be restored. Returns whether it was the last one. */
export async function sendPage(
  admin: Admin,
  place: Place,
  text: string,
  { rotateTokens, revokeKeys }: RestoreOptions = {},
): Promise<boolean> {
  const query = {
    ...place,
    ...(rotateTokens && { rotate_tokens: "true" }),
    ...(revokeKeys && { revoke_keys: "true" }),
  };
  const response = await call(admin, { method: "POST", path: "/api/restore", query, text });
  if (response.status !== 200) throw refusedBy(admin, response);
  return JSON.parse(response.text).done === true;
}

/** The environments of the deployment, as a query names them. */
export async function* environmentsOf(admin: Admin): AsyncGenerator<NonNullable<Place>, void, undefined> {
  for (let cursor: string | null = ""; cursor !== null; ) {
    const query = { limit: String(LIST_ITEMS_MAX), ...(cursor !== "" && { cursor }) };
    const response = await call(admin, { method: "GET", path: "/api/environments", query });
    if (response.status !== 200) throw refusedBy(admin, response);
    const body = JSON.parse(response.text) as {
      environments: { workspace: string; environment: string | null }[];
      next_cursor: string | null;
    };
    for (const { workspace, environment } of body.environments)
      yield { workspace, environment: environment ?? "untagged" };
    cursor = body.next_cursor;
  }
}
