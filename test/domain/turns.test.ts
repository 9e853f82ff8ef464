import { describe, it } from "vitest";
import { Turns } from "../../src/domain/turns.ts";

describe("turns", () => {
  it("serve callers one after the other, however many reads each has in flight", async ({ expect }) => {
    const turns = new Turns();
    const served: string[] = [];
    const take = (caller: string, name: string) => turns.take(caller, () => served.push(name));
    await Promise.all([
      take("1", "a1"),
      take("1", "a2"),
      take("1", "a3"),
      take("2", "b1"),
      take("2", "b2"),
      take("3", "c1"),
    ]);
    expect(served).toEqual(["a1", "a2", "b1", "c1", "a3", "b2"]);
  });

  it("let other work run between two reads", async ({ expect }) => {
    const turns = new Turns();
    const order: string[] = [];
    const first = turns.take("1", () => order.push("first")).then(() => order.push("between"));
    const second = turns.take("1", () => order.push("second"));
    await Promise.all([first, second]);
    expect(order).toEqual(["first", "between", "second"]);
  });

  it("reject the read that throws, and continue with the next", async ({ expect }) => {
    const turns = new Turns();
    const failing = turns.take("1", () => {
      throw new Error("broken");
    });
    const next = turns.take("1", () => "read");
    await expect(failing).rejects.toThrow("broken");
    expect(await next).toBe("read");
  });
});
