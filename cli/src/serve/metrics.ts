/** Metrics of the service in OpenMetrics, made from the lines of its log. */
import { once } from "node:events";
import { createServer } from "node:http";
import { PassThrough, type Readable, type Writable } from "node:stream";
import { Counter, Histogram, openMetricsContentType, Registry } from "prom-client";
import { CommandError } from "../../../common/command-error.ts";
import { textLinesOf } from "../support/lines.ts";
import { systemErrorCode } from "../support/output.ts";

/** Of the log line of each request: the route's pattern, its method, and the status and time of the response. */
type RequestLine = { method: string; path: string; status: number; milliseconds: number };

/** Counts the requests that a log records. */
export class Metrics {
  readonly #registry = new Registry();
  readonly #requests: Counter<"method" | "route" | "status">;
  readonly #seconds: Histogram<"method" | "route" | "status">;

  constructor() {
    this.#registry.setContentType(openMetricsContentType as never);
    const shared = { labelNames: ["method", "route", "status"] as const, registers: [this.#registry] };
    this.#requests = new Counter({ ...shared, name: "ug_http_requests", help: "Answered requests." });
    this.#seconds = new Histogram({
      ...shared,
      name: "ug_http_request_duration_seconds",
      help: "Time from a request to its answer.",
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
    });
  }

  /** Copies a log to `output`, and counts what it records. */
  read(log: Readable, output: Writable): void {
    log.pipe(output, { end: false });
    void this.#countAll(log.pipe(new PassThrough()));
  }

  async #countAll(log: Readable): Promise<void> {
    for await (const line of textLinesOf(log)) this.#count(line);
  }

  #count(line: string): void {
    const request = requestIn(line);
    if (!request) return;
    const labels = { method: request.method, route: request.path, status: String(request.status) };
    this.#requests.inc(labels);
    this.#seconds.observe(labels, request.milliseconds / 1000);
  }

  /** Serves them at `/metrics` on loopback. @throws CommandError if that is impossible. */
  async listen(port: number): Promise<{ url: string }> {
    const server = createServer((request, response) => {
      if (request.url !== "/metrics") return void response.writeHead(404).end();
      void this.#registry
        .metrics()
        .then((text) => response.writeHead(200, { "Content-Type": this.#registry.contentType }).end(text));
    });
    server.listen(port, "127.0.0.1").unref();
    try {
      await once(server, "listening");
    } catch (error) {
      const code = systemErrorCode(error);
      throw new CommandError(
        code === "EADDRINUSE"
          ? `Port ${port} for metrics is busy. Choose another: --metrics-port ${port + 1}`
          : `Metrics cannot be served on port ${port}: ${code}.`,
      );
    }
    const address = server.address();
    return { url: `http://127.0.0.1:${typeof address === "object" ? address?.port : port}/metrics` };
  }
}

function requestIn(line: string): RequestLine | undefined {
  if (!line.startsWith("{")) return undefined;
  try {
    const { method, path, status, milliseconds } = JSON.parse(line);
    return typeof status === "number" && typeof milliseconds === "number"
      ? { method, path, status, milliseconds }
      : undefined;
  } catch {
    return undefined;
  }
}
