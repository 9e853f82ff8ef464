/** Metrics of the service in OpenMetrics, made from the lines of its log. */
import { once } from "node:events";
import { createServer } from "node:http";
import { PassThrough, type Readable, type Writable } from "node:stream";
import { Counter, Gauge, Histogram, openMetricsContentType, Registry } from "prom-client";
import { attempt } from "../../../../common/attempt.ts";
import { CommandError } from "../../../../common/command-error.ts";
import { onSystemError } from "../../support/errors.ts";
import { textLinesOf } from "../../support/lines.ts";
import { type Box, measureBox } from "./box-metrics.ts";

/** Of the log line of each request: the route's pattern, its method, the status and time of the response, and the code of a refusal. */
type RequestLine = { method: string; path: string; status: number; milliseconds: number; failure?: string };

/** How the Worker logs a damaged database, and the calls after which it is whole again. */
const DAMAGED = /^The database of (.+?) \(\w+\.sqlite\) is damaged/;
const REPAIRS = ["POST /api/restore", "DELETE /api/environments"];

/** The message with which an object logs an alarm that has not run in time. */
const LATE_ALARM = "An alarm is late.";

/** The codes in `deploy/alerts.yml`. They are 0 from the start, because an increase needs a value before it. */
const WATCHED_CODES = [
  ...["internal_error", "service_not_configured", "environment_full", "overloaded"],
  ...["directory_unavailable", "secret_key_in_browser", "rate_limited"],
];

export class Metrics {
  readonly #registry = new Registry();
  readonly #registers = [this.#registry];
  readonly #shared = { labelNames: ["method", "route", "status"] as const, registers: this.#registers };
  readonly #requests = new Counter({ ...this.#shared, name: "ug_http_requests", help: "Answered requests." });
  readonly #seconds = new Histogram({
    ...this.#shared,
    name: "ug_http_request_duration_seconds",
    help: "Time from a request to its answer.",
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
  });
  readonly #refusals = new Counter({
    name: "ug_refusals",
    help: "Refused requests, by the code of the refusal.",
    labelNames: ["code"],
    registers: this.#registers,
  });
  readonly #lateAlarms = new Counter({
    name: "ug_late_alarms",
    help: "Alarms that did not run in time.",
    registers: this.#registers,
  });
  /** The names of the environments whose database is damaged, as of the last call that showed it. */
  readonly #damaged = new Set<string>();

  constructor() {
    this.#registry.setContentType(openMetricsContentType as never);
    for (const code of WATCHED_CODES) this.#refusals.inc({ code }, 0);
    const damaged = this.#damaged;
    new Gauge({
      name: "ug_databases_damaged",
      help: "Environments, and the registry, whose database a call has found damaged.",
      registers: this.#registers,
      collect() {
        this.set(damaged.size);
      },
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
    const fields = fieldsOf(line);
    if (fields?.message === LATE_ALARM) this.#lateAlarms.inc();
    const request = fields && requestIn(fields);
    if (!request) return;
    this.#noteDamage(request, fields);
    if (request.failure !== undefined) this.#refusals.inc({ code: request.failure });
    const labels = { method: request.method, route: request.path, status: String(request.status) };
    this.#requests.inc(labels);
    this.#seconds.observe(labels, request.milliseconds / 1000);
  }

  #noteDamage({ method, path, status }: RequestLine, { problem, workspace, environment }: Record<string, unknown>) {
    const [, name] = DAMAGED.exec(String(problem)) ?? [];
    if (name !== undefined) this.#damaged.add(name);
    if (status !== 200 || !REPAIRS.includes(`${method} ${path}`)) return;
    this.#damaged.delete(workspace === undefined ? "the registry" : `${workspace}/${environment ?? "untagged"}`);
  }

  /** Adds those of the machine. */
  measure(box: Box): void {
    measureBox(this.#registry, box);
  }

  /** Serves them at `/metrics` on loopback. @throws CommandError if that is impossible. */
  async listen(port: number): Promise<{ url: string }> {
    const server = createServer((request, response) => {
      if (request.url !== "/metrics") return void response.writeHead(404).end();
      void this.#registry
        .metrics()
        .then((text) => response.writeHead(200, { "Content-Type": this.#registry.contentType }).end(text))
        // What cannot be measured, such as a disk that is gone, ends no service.
        .catch((error) => response.writeHead(500).end(`${error}\n`));
    });
    server.listen(port, "127.0.0.1").unref();
    const failureOf = (code: string) =>
      new CommandError(
        code === "EADDRINUSE"
          ? `Port ${port} for metrics is busy. Choose another: --metrics-port ${port + 1}`
          : `Metrics cannot be served on port ${port}: ${code}.`,
      );
    await once(server, "listening").catch(onSystemError(failureOf));
    const address = server.address();
    return { url: `http://127.0.0.1:${typeof address === "object" ? address?.port : port}/metrics` };
  }
}

/** The fields of a line of the log; `undefined` for a line of another kind. */
const fieldsOf = (line: string): Record<string, unknown> | undefined =>
  line.startsWith("{") ? attempt(() => JSON.parse(line)) : undefined;

const requestIn = (fields: Record<string, unknown>): RequestLine | undefined =>
  typeof fields.status === "number" && typeof fields.milliseconds === "number" ? (fields as RequestLine) : undefined;
