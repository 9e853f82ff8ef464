/** A crowd of clients, in a process of their own: each sends a request, as bytes, and reads the answer, or nothing of it. */
import { connect } from "node:net";

/** What the crowd sends: each connection one of `requests` in turn. With `everyMs`, it sends the next one after that time, and so on. */
export type Crowd = { port: number; requests: string[]; connections: number; reads: boolean; everyMs?: number };

/** How many answers had which status, of a crowd that reads. */
export type CrowdAnswers = Record<string, number>;

const CONNECTIONS_PER_TURN = 50;

process.on("message", async ({ port, requests, connections, reads, everyMs }: Crowd) => {
  const answers: CrowdAnswers = {};
  let sent = 0;
  const next = () => requests[sent++ % requests.length] ?? "";
  for (let opened = 0; opened < connections; opened += 1) {
    const socket = connect({ host: "127.0.0.1", port });
    socket.on("error", () => undefined);
    if (reads) socket.on("data", (bytes) => process.send?.(counted(answers, bytes.toString("latin1"))));
    else socket.on("connect", () => socket.pause());
    socket.write(next());
    if (everyMs) setInterval(() => socket.write(next()), everyMs);
    if (opened % CONNECTIONS_PER_TURN === 0) await new Promise(setImmediate);
  }
});

function counted(answers: CrowdAnswers, text: string): CrowdAnswers {
  for (const [, status = ""] of text.matchAll(/HTTP\/1\.1 (\d{3})/g)) answers[status] = (answers[status] ?? 0) + 1;
  return answers;
}
