import { expect, inject, it } from "vitest";
import { hasAnotherRound, report } from "../proof/effort.ts";
import { byNumber } from "../support/by-number.ts";
import { type Answer, call, codeOf } from "../support/client.ts";
import { randomOf } from "../support/random.ts";
import { newIntegrator } from "../support/states.ts";

const { seed } = inject("effort");

it("64 racing restores, creates and renames of one id have exactly one winner", async () => {
  const random = randomOf(seed);
  const startedAt = Date.now();
  const wins: Record<string, number> = { create: 0, restore: 0, "restore under this id": 0, rename: 0 };

  let rounds = 0;
  let integrator = await newIntegrator();
  for (; hasAnotherRound(rounds, startedAt, 20, 5000, 0.02); rounds += 1) {
    // A key may read 600 lists a minute.
    if (rounds % 100 === 99) integrator = await newIntegrator();
    const { key, get } = integrator;
    const { update, remove, restore, list, events } = byNumber(key);
    const newGroup = async (id: string): Promise<number> => (await get({ user_group_id: id })).body.user_group.team_id;
    const newDeleted = async (id: string): Promise<number> => {
      const teamId = await newGroup(id);
      await remove(teamId);
      return teamId;
    };
    const id = `contested ${rounds}`;
    const namesakes = [await newDeleted(id), await newDeleted(id)];
    const others = [await newDeleted(`${id}, once another`), await newDeleted(`${id}, once another`)];
    const living = [await newGroup(`${id}, a`), await newGroup(`${id}, b`)];
    const pick = (teamIds: number[]): number => teamIds[random(teamIds.length)] ?? 0;
    const claims: Record<string, () => Promise<Answer>> = {
      create: () => get({ user_group_id: id }),
      restore: () => restore(pick(namesakes), random(2) === 0 ? {} : { rotate_token: true }),
      "restore under this id": () => restore(pick(others), { new_user_group_id: id }),
      rename: () => update(pick(living), { new_user_group_id: id }),
    };
    const names = Object.keys(claims);
    const { next_cursor: cursor } = (await call("GET", "/api/events?cursor=latest", { credential: key })).body;
    const answers = await Promise.all(
      Array.from({ length: 64 }, async () => {
        const name = names[random(names.length)] ?? "";
        return { name, answer: (await claims[name]?.()) as Answer };
      }),
    );

    const won = answers.filter(({ answer }) => answer.status === 200);
    const lost = answers.filter(({ answer }) => answer.status !== 200);
    expect(lost.map(({ answer }) => codeOf(answer))).toEqual(lost.map(() => [409, "user_group_id_taken"]));
    const winners = new Set(won.map(({ answer }): number => answer.body.user_group.team_id));
    expect([...winners]).toHaveLength(1);
    expect(won.filter(({ answer }) => answer.body.new_user_group).length).toBeLessThan(2);
    expect((await list({ user_group_id_prefix: id })).body.user_groups).toMatchObject([
      { team_id: [...winners][0], provided_id: id },
      ...living.filter((each) => !winners.has(each)).map(() => ({})),
    ]);
    const claiming: { type: string }[] = await events({ cursor });
    expect(claiming).toHaveLength(1);
    const kind = { "user_group.created": "create", "user_group.restored": "restore", "user_group.updated": "rename" }[
      claiming[0]?.type ?? ""
    ];
    const isOther = others.some((each) => winners.has(each));
    const winner = isOther ? "restore under this id" : (kind ?? "");
    wins[winner] = (wins[winner] ?? 0) + 1;
  }
  report("races for an id", { rounds, ...wins });
  expect(Object.values(wins).filter((count) => count === 0)).toEqual([]);
});
