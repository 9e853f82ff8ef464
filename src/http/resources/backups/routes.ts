import { directoryName, type Environment } from "../../../../common/environment.ts";
import { fail, ok, type Result } from "../../../../common/result.ts";
import type { BackupPage } from "../../../domain/backup/backup.ts";
import type { RestorePage, RestoreProgress } from "../../../domain/backup/restore.ts";
import type { Failure } from "../../../domain/failure.ts";
import type { AppEnv, OperatorEnv, RequestContext } from "../../app-env.ts";
import { directoryOf } from "../../durable-objects.ts";
import { Hono } from "../../hono.ts";
import { admitAgain, registryFor } from "../../request/admit-caller.ts";
import { authorizeFeedReaders, authorizeOperators } from "../../request/authorize.ts";
import { namedEnvironment, validQuery } from "../../request/query.ts";
import { refuse, refuseField, refuseRequest } from "../../response/failures.ts";
import { respond, respondWithText } from "../../response/respond.ts";
import { type BackupCursor, itemsOf, pageText, parseCursor, readPage } from "./pages.ts";
import { BackupQuery, RestoreQuery } from "./wire.ts";

const CURSOR_MESSAGE = "Give the next_cursor of a page of this backup, as it came.";

/** One page of an environment's backup, or of the registry's for an operator who names none. */
export const backups = new Hono<AppEnv>()
  .use(authorizeFeedReaders)

  .get("/", validQuery(BackupQuery), async (c) => {
    const { cursor: text } = c.req.valid("query");
    const reader = c.get("feedReader");
    const source = { environment: reader.environment, ring: c.get("ring") };
    const cursor = text === undefined ? undefined : await parseCursor(text, source);
    if (text !== undefined && !cursor) return refuseField(c, "cursor", CURSOR_MESSAGE);
    if (!reader.environment) {
      const read = await registryFor(c).backup(reader.presentedOperator, cursor?.position);
      if (!read.ok) return refuse(c, read.failure);
      return respondWithPage(c, undefined, read.value, cursor);
    }
    const { caller, directory, environment } = reader;
    if (caller.kind !== "operator") return refuse(c, { code: "unauthenticated" });
    const read = await admitAgain(c, await directory.backup(caller, cursor?.position));
    return read.ok ? respondWithPage(c, environment, read.value, cursor) : refuse(c, read.failure);
  });

async function respondWithPage(
  c: RequestContext<AppEnv>,
  environment: Environment | undefined,
  page: BackupPage,
  cursor: BackupCursor | undefined,
): Promise<Response> {
  const headers = { ...c.get("headers"), "Content-Type": "application/x-ndjson" };
  return respondWithText(c, await pageText({ environment, ring: c.get("ring") }, page, cursor), headers);
}

/** Takes the pages of a backup into an empty environment, or into an empty registry. */
export const restores = new Hono<AppEnv>()
  .use(authorizeOperators)

  .post("/", validQuery(RestoreQuery), async (c) => {
    const { rotate_tokens: rotateTokens, revoke_keys: revokeKeys, unsigned: isUnsigned } = c.req.valid("query");
    const named = namedEnvironment(c);
    if (!named.ok) return refuseRequest(c, named.failure);
    const body = c.get("body");
    if (body.byteLength === 0) return refuseRequest(c, { code: "body_required" });
    const target = named.value ? directoryTarget(c, named.value) : registryTarget(c);
    const progress = await target.progress();
    if (!progress.ok) return refuse(c, progress.failure);
    const destination = { environment: named.value, ring: c.get("ring"), isUnsigned };
    const page = await readNext(body, progress.value, destination);
    if (!page.ok) {
      await target.abandon();
      return refuse(c, page.failure);
    }
    const taken = await target.take({ ...page.value, rotateTokens, revokeKeys }, isUnsigned);
    if (!taken.ok) return refuse(c, taken.failure);
    return respond(c, { success: 1, page: page.value.number, done: taken.value.isDone });
  });

type Page = Omit<RestorePage, "skipped" | "rotateTokens" | "revokeKeys">;
type Settings = Pick<RestorePage, "rotateTokens" | "revokeKeys">;

/** The object that takes the pages: a directory or the registry. `progress` is called first, and admits the operator. */
type Target = {
  progress: () => Promise<Result<RestoreProgress, Failure>>;
  take: (page: Page & Settings, isUnsigned: boolean) => Promise<Result<{ isDone: boolean }, Failure>>;
  abandon: () => Promise<void>;
};

/** Parses a page, and checks it if it can be the next one. The Durable Object refuses the others, so they have no items here. */
async function readNext(
  body: Uint8Array,
  { page: last, sha256: lastHash, isRestoring, isEmpty }: RestoreProgress,
  destination: Parameters<typeof itemsOf>[2],
): Promise<Result<Page, Failure>> {
  const isOpen = isRestoring || isEmpty;
  const page = readPage(body);
  if (!page.ok) return isOpen ? page : fail({ code: "environment_not_empty" });
  const { number, sha256 } = page.value.line;
  const isRepeated = number === last && sha256 === lastHash;
  const isNext = number === 1 || (isRestoring && number === last + 1);
  const previous = number === 1 ? "" : lastHash;
  if (!isOpen || isRepeated || !isNext) return ok({ number, sha256, previous, items: [] });
  const items = await itemsOf(page.value, previous, destination);
  return items.ok ? ok({ number, sha256, previous, items: items.value }) : items;
}

function directoryTarget(c: RequestContext<OperatorEnv>, environment: Environment): Target {
  const registry = registryFor(c);
  const operator = c.get("presentedOperator");
  const directory = directoryOf(c.env, environment);
  c.set("environment", environment);
  return {
    progress: async () => {
      const admitted = await registry.admit(operator, "admin", undefined);
      if (!admitted.ok) return admitted;
      return ok(await directory.restoreProgress());
    },
    take: async (page, isUnsigned) => {
      // As with its first key, an environment is recorded before anything is in it.
      const recorded =
        page.number === 1 && page.items.length > 0
          ? await registry.recordEnvironment(operator, environment, undefined)
          : undefined;
      if (recorded && !recorded.ok) return recorded;
      const groups = page.items.filter((item) => item.kind === "user_group").map(({ record }) => record);
      const tombstones = groups.map(({ teamId, createdAt }) => ({ teamId, createdAt }));
      const skipped = tombstones.length > 0 ? await registry.purgedAmong(directoryName(environment), tombstones) : [];
      const taken = await directory.restorePage({ ...page, skipped });
      if (!taken.ok || !taken.value.isDone || taken.value.isRepeated) return taken;
      // The hash of the last page covers all pages, so its MAC alone decides whether the backup is signed.
      const noted = await registry.noteRestored(operator, environment, isUnsigned);
      return noted.ok ? taken : noted;
    },
    abandon: () => directory.abandonRestore(),
  };
}

function registryTarget(c: RequestContext<OperatorEnv>): Target {
  const registry = registryFor(c);
  const operator = c.get("presentedOperator");
  return {
    progress: () => registry.restoreProgress(operator),
    take: (page) => registry.restorePage(operator, { ...page, skipped: [] }),
    abandon: () => registry.abandonRestore(operator),
  };
}
