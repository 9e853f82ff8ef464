import type { Answered, Ask, Call } from "./linearizability.ts";

/** A service with one id, real or simulated. It throws for a call without an answer. */
export type Service = (ask: Ask) => Promise<Answered>;

/** Makes calls of some concurrent clients, with the tokens in any of their answers, and records them. */
export async function record(
  service: Service,
  random: (below: number) => number,
  clients = 4,
  callsEach = 4,
): Promise<Call[]> {
  const calls: Call[] = [];
  const tokens: string[] = [];
  let time = 0;
  const tick = () => {
    time += 1;
    return time;
  };
  const nextAsk = (): Ask => {
    const token = tokens[Math.max(0, tokens.length - 1 - random(3))];
    const choice = random(10);
    if (token === undefined || choice < 3) return { do: "ensure" };
    if (choice < 5) return { do: "update", name: `name ${tick()}` };
    if (choice < 7) return { do: "rotate", token };
    return choice < 8 ? { do: "remove", token } : { do: "view", token };
  };
  const client = async () => {
    for (let count = 0; count < callsEach; count += 1) {
      const ask = nextAsk();
      const begunAt = tick();
      const answer = await service(ask).catch(() => undefined);
      if (answer?.token && !tokens.includes(answer.token)) tokens.push(answer.token);
      calls.push({ ask, answer, begunAt, endedAt: tick() });
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  return calls;
}
