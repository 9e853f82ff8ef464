/** Which calls of the service a text names. */
import { type Call, callsOf, type Document } from "./document.ts";

const METHOD = "GET|PUT|POST|DELETE";

/** The methods and paths that a line names: `GET /api/user`, GET `/api/user`, and calls of curl. */
function* namedIn(line: string): Generator<[method: string, path: string]> {
  for (const [, method = "", path = ""] of line.matchAll(new RegExp(`\\b(${METHOD})\\b[\`"' |]*(/[\\w.{}/$-]*)`, "g")))
    yield [method, path];
  const [, path] = /\bcurl\b.*?(?:SERVICE_URL\}?|localhost:8787)(\/[\w.{}/$-]*)/.exec(line) ?? [];
  const [, method] = new RegExp(`-X (${METHOD})`).exec(line) ?? [];
  if (path !== undefined) yield [method ?? (/ -d\b| --data/.test(line) ? "POST" : "GET"), path];
}

/** Finds the calls of a document by how texts name them. */
export class CallFinder {
  readonly #calls: (Call & { pattern: RegExp })[];

  constructor(document: Document) {
    this.#calls = callsOf(document).map((call) => ({
      ...call,
      pattern: new RegExp(
        `^${call.path.replaceAll(".", "\\.").replaceAll(/\{\w+\}/g, "(?:\\{\\w+\\}|\\$\\w+|\\d+)")}$`,
      ),
    }));
  }

  /** The call with this method and path, whose numbers may be filled in or be variables of the shell. */
  find(method: string, path: string): Call | undefined {
    return this.#calls.find((call) => call.method === method.toLowerCase() && call.pattern.test(path));
  }

  /** How often a text names each call, by the ids of the operations. */
  countsIn(text: string): Map<string, number> {
    // A call of curl may go on after a backslash.
    const lines = text.replaceAll("\\\n", " ").split("\n");
    const counts = new Map<string, number>();
    for (const [method, path] of lines.flatMap((line) => [...namedIn(line)])) {
      const { operationId: id } = this.find(method, path)?.operation ?? {};
      if (id !== undefined) counts.set(id, (counts.get(id) ?? 0) + 1);
    }
    return counts;
  }
}
