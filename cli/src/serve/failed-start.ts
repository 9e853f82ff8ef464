/** What callers get of a service that cannot start, while its socket is open: an answer, and not silence. */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { attempt } from "../../../common/attempt.ts";
import { CommandError } from "../../../common/command-error.ts";
import { readSocketFd } from "./options.ts";

/** How long the calls are refused before this process ends, so that systemd starts the service again. */
const REFUSING_MS = 5_000;
/** The rest of a body is read for this long: the answer to a request with an unread body would be lost with its connection. */
const BODY_MS_MAX = 2_000;
/** How long clients may take the last answers. */
const CLOSING_MS_MAX = 500;
/** That of the socket unit, which a listener on its socket would replace by its own. */
const BACKLOG = 4_096;

/** Says nothing of the cause, which names files. */
const MESSAGE = "The service could not start. Its operator finds the reason in its log.";

/** Thrown when a service ends by itself after it was ready: the next one starts at once. */
export class ServiceEnded extends CommandError {}

/**
 * Refuses each call on the socket that `--socket-fd` names in a command line, for 5 s or until a signal to end. Does nothing without such
 * a socket. Returns whether a signal came.
 */
export async function refuseCalls(args: readonly string[]): Promise<boolean> {
  const [, number = ""] = / --socket-fd[ =](\d{1,4})(?: |$)/.exec(` ${args.join(" ")}`) ?? [];
  const fd = attempt(() => readSocketFd(number));
  if (fd === undefined) return false;
  const server = refusingServer();
  server.listen({ fd, backlog: BACKLOG });
  const isListening = await once(server, "listening").then(
    () => true,
    () => false,
  );
  if (!isListening) return false;
  const wasSignalled = await Promise.race([signalled().then(() => true), delay(REFUSING_MS, false, { ref: false })]);
  server.close();
  await Promise.race([once(server, "close"), delay(CLOSING_MS_MAX)]);
  server.closeAllConnections();
  return wasSignalled;
}

function refusingServer(): Server {
  return createServer((request, response) => {
    const requestId = randomUUID();
    const refuse = () => {
      clearTimeout(timer);
      if (response.headersSent) return;
      const error = { code: "not_ready", message: MESSAGE };
      const body = JSON.stringify({ success: 0, error, request_id: requestId });
      response.writeHead(503, {
        "Content-Type": "application/json",
        "Content-Length": Buffer.byteLength(body),
        "X-Request-Id": requestId,
        "Cache-Control": "no-store",
        "Retry-After": "5",
        Connection: "close",
      });
      response.end(body);
    };
    const timer = setTimeout(refuse, BODY_MS_MAX);
    request.resume().once("end", refuse);
  });
}

/** Resolves at the first signal to end. Further signals change nothing: workerd has 10 s at most. */
export const signalled = (): Promise<undefined> =>
  new Promise((end) => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => end(undefined));
  });
