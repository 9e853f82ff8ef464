import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { it, vi } from "vitest";
import { GroupDirectory } from "../../src/domain/group-directory.ts";
import type { UserGroup } from "../../src/domain/user-group.ts";

// Far ahead, so that no alarm of the runtime, whose clock goes on, is due before the test runs it.
const NOW = Date.parse("2035-01-01T00:00:00.000Z");
const LATE_SECONDS_MAX = 60;
/** What a client has of a group. */
type Held = Pick<UserGroup, "teamId" | "nonce">;

const never = new Promise<never>(() => undefined);

/**
 * The only places where a directory awaits are its writes to KV. Each is a point at which it may be no more: before the
 * write has reached KV, after it was done and before that was heard, or with the write still on its way, to be done at the
 * last possible moment.
 */
const DEATHS = ["before the write", "after the write", "with the write on its way"] as const;
/** How many writes later the next directory ends as well, with that one on its way; 0 for never. */
const SECOND_DEATHS = [0, 1, 2, 3];
/** After so long without a call the platform ends a directory: a later alarm finds a new one. */
const QUIET_SECONDS = 10;

it("survives being interrupted at every point where it awaits", async ({ expect }) => {
  vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
  let points = 0;

  for (const [death, later] of DEATHS.flatMap((each) => SECOND_DEATHS.map((writes) => [each, writes] as const)))
    for (let dieAt = 1; ; dieAt += 1) {
      vi.setSystemTime(NOW);
      const entries = new Map<string, string>();
      const late: { dueAt: number; apply: () => void }[] = [];
      let writes = 0;
      let life = 0;
      let isDying = false;
      const kvOfLife = (mine: number) => {
        const write = async (apply: () => void) => {
          if (mine !== life || isDying) return never;
          writes += 1;
          const isSecond = later > 0 && writes === dieAt + later;
          if (writes !== dieAt && !isSecond) return apply();
          isDying = true;
          const how = isSecond ? "with the write on its way" : death;
          if (how === "after the write") apply();
          if (how === "with the write on its way") late.push({ dueAt: Date.now() + LATE_SECONDS_MAX * 1000, apply });
          return never;
        };
        return {
          put: (name: string, value: string) => write(() => void entries.set(name, value)),
          delete: (name: string) => write(() => void entries.delete(name)),
        } as unknown as KVNamespace;
      };
      const wait = (seconds: number) => {
        vi.setSystemTime(Date.now() + seconds * 1000);
        for (const each of late.splice(0)) {
          if (Date.now() >= each.dueAt) each.apply();
          else late.push(each);
        }
      };

      await runInDurableObject(env.GROUP_DIRECTORY.getByName(`${death}-${dieAt}-${later}`), async (_, state) => {
        const newDirectory = () => new GroupDirectory(state, { ...env, TOKEN_INDEX: kvOfLife(life) });
        let directory = newDirectory();
        const key = directory.issueKey({ name: "test", access: "write" });
        const caller = { id: key.id, nonce: new Uint8Array(key.nonce) };
        const proofOf = (group: Held) => ({ id: group.teamId, nonce: new Uint8Array(group.nonce) });
        const groupOf = (result: { ok: true; value: Held } | { ok: false }): Held => {
          if (!result.ok) throw new Error("A call was refused.");
          return result.value;
        };
        const created = directory.ensure(caller, { providedId: "acme" });
        if (!created.ok) throw new Error("The create was refused.");
        let group: Held = created.value.group;
        const isViewed = () => expect(directory.view(proofOf(group), true)).toMatchObject({ ok: true });
        isViewed();

        /** Runs the alarms that are set until nothing is left to write, each on a new directory where the old one is no more. */
        const settle = async () => {
          const left = () => Number(state.storage.sql.exec("SELECT count(*) AS entries FROM outbox").one().entries);
          for (let turn = 0; turn < 60; turn += 1) {
            if (left() === 0) return;
            const alarm = await state.storage.getAlarm();
            expect(alarm, `died ${death} ${dieAt}, with entries left and no alarm`).not.toBeNull();
            const seconds = Math.max(1000, (alarm ?? 0) - Date.now()) / 1000;
            wait(seconds);
            if (isDying || seconds > QUIET_SECONDS) {
              isDying = false;
              life += 1;
              directory = newDirectory();
            }
            await state.storage.deleteAlarm();
            await Promise.race([directory.alarm(), vi.waitUntil(() => isDying, { timeout: 60_000, interval: 1 })]);
            // The platform runs an alarm again whose directory has ended in it.
            if (isDying) await state.storage.setAlarm(Date.now() + 1000);
          }
          throw new Error("The outbox did not empty.");
        };

        await settle();
        group = groupOf(directory.update(caller, "acme", { name: "renamed" }, undefined));
        await settle();
        group = groupOf(directory.rotateToken(caller, proofOf(group), 3600, undefined));
        isViewed();
        await settle();
        group = groupOf(directory.rotateToken(caller, proofOf(group), 0, undefined));
        isViewed();
        await settle();
        expect([...entries.values()].map((value) => JSON.parse(value).name)).toEqual(["renamed"]);
        expect(directory.remove(caller, proofOf(group), {}, undefined)).toMatchObject({ ok: true });
        await settle();
        wait(LATE_SECONDS_MAX);
        expect([...entries.values()], `died ${death} ${dieAt}, and ${later} later`).toEqual([]);
      });
      if (writes < dieAt) break;
      points += 1;
    }

  expect(points).toBeGreaterThan(20);
});
