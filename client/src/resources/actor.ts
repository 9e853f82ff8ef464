import type { ResponseBody } from "../transport/response-body.ts";

/**
 * Who made a change. `id` is the number of an API key or an operator in their lists. It is `null` for the bootstrap token, and
 * for the kind `system`: the service itself, which purges deleted groups when they can no longer be restored.
 */
export type Actor = { kind: string; id: number | null; name: string };

export const actorOf = (actor: ResponseBody): Actor => ({
  kind: actor.text("kind"),
  id: actor.numberOrNull("id"),
  name: actor.text("name"),
});

/** The actor in a field that may be null. */
export const actorOrNull = (body: ResponseBody, name: string): Actor | null =>
  body.jsonOrNull(name) && actorOf(body.object(name));
