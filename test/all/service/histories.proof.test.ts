import { rmSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { type Bundle, bundleOf } from "../../../cli/src/serve/bundle.ts";
import { type NumberedGroup, UserGroupClient, UserGroupServiceError } from "../../../client/src/index.ts";
import { issueKey } from "../../../tools/bench/service.ts";
import { runs } from "../../proof/effort.ts";
import { RELEASES, recorded } from "../../support/node/releases.ts";
import { newState, startSkewed } from "../../support/node/skewed-workerd.ts";

/** Histories of groups while releases alternate: an upgrade, a rollback in the middle, and an upgrade again. */

const now = (): Bundle => bundleOf({ isNew: () => undefined });

/** What a test does with a group of its own choice: the number of the group, and the change. */
const CHANGES = ["create", "rename", "suspend", "resume", "delete", "restore", "purge"] as const;
type Change = { which: number; what: (typeof CHANGES)[number] };

type Expected = { types: string[]; name: string; state: "active" | "suspended" | "deleted" | "purged" };

/** Makes a change by the calls that both releases have, and notes its event where one follows. */
async function make(client: UserGroupClient, model: Map<number, Expected>, { which, what }: Change, serial: number) {
  const numbers = [...model.keys()];
  const teamId = numbers[which % Math.max(1, numbers.length)] ?? 0;
  const group = model.get(teamId);
  if (what === "create" || !group) {
    const created = await client.ensure({ userGroupId: `group ${serial}`, name: `Größe ${serial}` });
    model.set(created.group.teamId, { types: ["user_group.created"], name: `Größe ${serial}`, state: "active" });
    return;
  }
  const note = (type: string, changed: Partial<Expected>) => {
    group.types.unshift(type);
    Object.assign(group, changed);
  };
  const isThere = group.state === "active" || group.state === "suspended";
  if (what === "rename" && isThere) {
    await client.updateByNumber({ teamId, name: `Größe ${serial} neu` });
    note("user_group.updated", { name: `Größe ${serial} neu` });
  } else if (what === "suspend" && group.state === "active") {
    await client.suspendByNumber({ teamId });
    note("user_group.suspended", { state: "suspended" });
  } else if (what === "resume" && group.state === "suspended") {
    await client.resumeByNumber({ teamId });
    note("user_group.resumed", { state: "active" });
  } else if (what === "delete" && isThere) {
    await client.removeByNumber({ teamId });
    note("user_group.deleted", { state: "deleted" });
  } else if (what === "restore" && group.state === "deleted") {
    const { state } = await client.restore({ teamId });
    note("user_group.restored", { state });
  } else if (what === "purge" && group.state === "deleted") {
    await client.purge({ teamId });
    note("user_group.purged", { state: "purged" });
  }
}

/** What this release shows of each group: its history, who has ended it, and the name by which a search finds it. */
async function seen(client: UserGroupClient, model: Map<number, Expected>) {
  const shown = new Map<number, Expected & { endedBy: unknown[] }>();
  for (const teamId of model.keys()) {
    const events = await Array.fromAsync(client.history({ teamId, pageSize: 3 }));
    const found: NumberedGroup | undefined = await client
      .get({ teamId })
      .catch(() => client.get({ teamId, state: "deleted" }))
      .catch(() => undefined);
    const state = found?.state ?? "purged";
    const ofState = state === "deleted" ? { state } : {};
    const hits = found ? await Array.fromAsync(client.list({ search: found.name.toUpperCase(), ...ofState })) : [];
    shown.set(teamId, {
      types: events.map(({ type }) => type),
      name: hits.some((hit) => hit.teamId === teamId) ? (found?.name ?? "") : "",
      state,
      endedBy: [found?.suspendedBy, found?.deletedBy]
        .filter((actor) => actor !== undefined)
        .map((actor) => actor?.name),
    });
  }
  return shown;
}

const expectedOf = (model: Map<number, Expected>) =>
  new Map(
    [...model].map(([teamId, { types, name, state }]) => {
      const at = (type: string, undone: string) => {
        const [last, end] = [types.indexOf(type), types.indexOf(undone)];
        return last !== -1 && (end === -1 || last < end) && state !== "purged" ? ["acme"] : [];
      };
      const endedBy = [
        ...at("user_group.suspended", "user_group.resumed"),
        ...at("user_group.deleted", "user_group.restored"),
      ];
      return [teamId, { types, name: state === "purged" ? "" : name, state, endedBy }];
    }),
  );

describe.for(RELEASES)("histories that release %s and this one have written", (release) => {
  const arbitrary = fc.array(
    fc.array(fc.record({ which: fc.nat({ max: 5 }), what: fc.constantFrom(...CHANGES) }), {
      minLength: 4,
      maxLength: 12,
    }),
    { minLength: 4, maxLength: 4 },
  );

  it("are whole after an upgrade, a rollback in the middle and an upgrade again", async () => {
    const [before, after] = [recorded(release).worker, now()];
    await fc.assert(
      fc.asyncProperty(arbitrary, async (phases) => {
        const state = newState();
        const model = new Map<number, Expected>();
        let key = "";
        let serial = 0;
        try {
          for (const [index, changes] of phases.entries()) {
            const release = index % 2 === 0 ? before : after;
            const service = await startSkewed([release], release, state);
            key ||= await issueKey(service.url, "acme");
            const client = new UserGroupClient({ url: service.url, apiKey: key });
            try {
              for (const change of changes) {
                serial += 1;
                await make(client, model, change, serial);
              }
              if (index % 2 === 1) expect(await seen(client, model)).toEqual(expectedOf(model));
            } finally {
              await service.stop();
            }
          }
        } finally {
          rmSync(state.folder, { recursive: true, force: true });
        }
      }),
      runs(2, 100, 0.05),
    );
  });
});

it("searches and histories are refused with 503 while Durable Objects of 1.0.0 are there, and all that it had is answered", async () => {
  const service = await startSkewed([now()], recorded("1.0.0").worker);
  onTestFinished(service.stop);
  const apiKey = await issueKey(service.url, "acme");
  const client = new UserGroupClient({ url: service.url, apiKey, retries: 0 });
  const { teamId } = (await client.ensure({ userGroupId: "acme" })).group;
  const codeOf = (call: Promise<unknown>) =>
    call.then(
      () => "answered",
      (error: unknown) => (error instanceof UserGroupServiceError ? [error.status, error.code] : error),
    );
  const unavailable = [503, "directory_unavailable"];
  expect(await codeOf(client.listPage({ search: "acme" }))).toEqual(unavailable);
  expect(await codeOf(client.listPage({ state: "deleted", prefix: "a" }))).toEqual(unavailable);
  expect(await codeOf(client.historyPage({ teamId }))).toEqual(unavailable);
  const suspended = await client.suspendByNumber({ teamId });
  expect(suspended.state).toBe("suspended");
  expect(suspended).not.toHaveProperty("suspendedBy");
  expect(await codeOf(client.listPage({ prefix: "a" }))).toBe("answered");
});
