import type { Answered, Ask, Call } from "./linearizability.ts";

/** A service with one id, real or simulated. It throws for a call without an answer. */
export type Service = (ask: Ask) => Promise<Answered>;

/** How often each kind of call is made, as a share of all. */
const SHARES: [Ask["do"], number][] = [
  ["ensure", 3],
  ["update", 2],
  ["suspend", 3],
  ["resume", 2],
  ["rotate", 2],
  ["remove", 4],
  ["view", 5],
  ["restore", 4],
  ["purge", 3],
  ["mint", 5],
  ["view session", 6],
  ["end session", 2],
  ["end person", 2],
  ["end group", 1],
  ["mint by key", 3],
  ["revoke key", 1],
  ["use operator", 2],
  ["revoke operator", 1],
  ["search", 4],
  ["search deleted", 2],
  ["history", 3],
];
const KINDS = SHARES.flatMap(([kind, share]) => Array.from({ length: share }, () => kind));

/** Makes calls of some concurrent clients, with the tokens, sessions and numbers in any of their answers, and records them. */
export async function record(
  service: Service,
  random: (below: number) => number,
  clients = 4,
  callsEach = 4,
): Promise<Call[]> {
  const calls: Call[] = [];
  const tokens: string[] = [];
  const teamIds: number[] = [];
  const sessions: string[] = [];
  const names: string[] = [];
  let time = 0;
  const tick = () => {
    time += 1;
    return time;
  };
  const recent = <Value>(values: Value[]) => values[Math.max(0, values.length - 1 - random(3))];
  const nextAsk = (): Ask => {
    const kind = KINDS[random(KINDS.length)];
    const token = recent(tokens);
    const teamId = recent(teamIds);
    if (kind === undefined || token === undefined || teamId === undefined) return { do: "ensure" };
    if (kind === "update") {
      // One word, because a search finds the words of a text anywhere.
      const name = `name-${tick()}.`;
      names.push(name);
      return { do: kind, name };
    }
    if (kind === "search") return { do: kind, name: random(2) === 0 ? undefined : recent(names) };
    if (kind === "restore" || kind === "purge" || kind === "history") return { do: kind, teamId };
    if (kind === "mint" || kind === "mint by key" || kind === "end person")
      return { do: kind, viewerId: `viewer ${random(2)}` };
    if (kind === "view session" || kind === "end session") {
      const session = recent(sessions);
      return session === undefined ? { do: "mint", viewerId: "viewer 0" } : { do: kind, session };
    }
    return kind === "rotate" || kind === "remove" || kind === "view" ? { do: kind, token } : { do: kind };
  };
  const note = ({ token, teamId, session }: Answered) => {
    if (session !== undefined) sessions.push(session);
    if (token !== undefined && !tokens.includes(token)) tokens.push(token);
    if (teamId !== undefined && !teamIds.includes(teamId)) teamIds.push(teamId);
  };
  const client = async () => {
    for (let count = 0; count < callsEach; count += 1) {
      const ask = nextAsk();
      const begunAt = tick();
      const answer = await service(ask).catch(() => undefined);
      if (answer) note(answer);
      calls.push({ ask, answer, begunAt, endedAt: tick() });
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  return calls;
}
