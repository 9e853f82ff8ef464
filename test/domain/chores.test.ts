import { expect, it, vi } from "vitest";
import { type Chore, Chores } from "../../src/domain/chores.ts";
import { logLines } from "../support/each-test.ts";

const NOW = Date.parse("2035-01-01T00:00:00.000Z");

/** A chore that is due at these times, one after the other, and records when it ran. */
function choreAt(times: number[], fails = false): Chore & { ran: number[] } {
  const ran: number[] = [];
  const run = (now: number) => {
    if (fails) throw new Error("broken");
    ran.push(now);
    times.shift();
  };
  return { name: "a chore", dueAt: () => times[0], run, ran };
}

function newChores(chores: Chore[]) {
  vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
  const alarms: number[] = [];
  return { alarms, chores: new Chores(chores, (time) => alarms.push(time)) };
}

it("runs what is due, and sets the alarm for what is due next", () => {
  const [due, later] = [choreAt([NOW, NOW + 500]), choreAt([NOW + 1000])];
  const { alarms, chores } = newChores([due, later]);
  chores.run();
  expect([due.ran, later.ran]).toEqual([[NOW], []]);
  expect(alarms).toEqual([NOW + 500]);
});

it("a chore that throws does not stop the others, and is tried again", () => {
  const [broken, sound] = [choreAt([NOW], true), choreAt([NOW])];
  const { alarms, chores } = newChores([broken, sound]);
  chores.run();
  expect(sound.ran).toEqual([NOW]);
  expect(alarms).toEqual([NOW + 60_000]);
  expect(JSON.stringify(logLines)).toContain("a chore");
});

it("a change sets the alarm once, and again only for an earlier time", () => {
  const { alarms, chores } = newChores([choreAt([NOW + 1000])]);
  for (const dueAt of [NOW + 1000, NOW + 2000, NOW + 500, NOW + 700]) chores.schedule(dueAt);
  expect(alarms).toEqual([NOW + 1000, NOW + 500]);
});

it("sets no alarm where no chore is due", () => {
  const { alarms, chores } = newChores([choreAt([])]);
  chores.run();
  expect(alarms).toEqual([]);
});

it("logs once that an alarm is late, by the next change or when it runs at last", () => {
  const { chores } = newChores([choreAt([NOW + 1000, NOW + 2000])]);
  const late = () => logLines.filter(({ message }) => message === "An alarm is late.");
  chores.schedule(NOW + 1000);
  vi.setSystemTime(NOW + 60_000);
  chores.schedule(NOW + 1000);
  expect(late()).toEqual([]);
  vi.setSystemTime(NOW + 61_000);
  for (let change = 0; change < 3; change += 1) chores.schedule(NOW + 1000);
  chores.run();
  expect(late()).toMatchObject([{ level: "warn", seconds: 60 }]);
});
