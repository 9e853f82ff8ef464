/** `npm run clients -- [CLIENT ...]`: the matrix of clients, against any service. Only the clients named run. */

import { Command } from "commander";
import { apiKeyFrom, apiKeyRefused, notTheService, serviceUrl } from "../cli/src/support/service.ts";
import { lineOf, widthsOf } from "../cli/src/support/table.ts";
import { CommandError } from "../common/command-error.ts";
import { readBody, send } from "./call.ts";
import { CLIENTS, type Client, checkExample, checkLostBody, type Outcome, type Target } from "./clients/matrix.ts";
import { runTool, URL_OPTION } from "./command.ts";

const COLUMNS = ["client", "version", "create/update/rotate/view/delete", "chunked GET", "GET without Content-Length"];
/** The longest outcome. */
const WIDEST_OUTCOME = "body_required";

/** A client that may run, and its version; none if it is not installed. */
type Entry = { client: Client; version: string | undefined };

/** Checks that the service responds there, and takes the key. */
async function checkTarget(url: URL, key: string): Promise<Target> {
  const call = { method: "GET", credential: key };
  const { status, text } = await send(new URL("/api/user_groups?limit=1", url), call);
  const body = readBody(key, text);
  if (!body) throw notTheService(url, status);
  if (status === 401) throw apiKeyRefused(url, body.error?.code ?? "");
  return { url: url.origin, key };
}

/** Prints a row for a client that is installed, and returns the notes for below the table. */
async function runClient({ client, version = "" }: Entry, target: Target, widths: number[]) {
  const outcomes: Outcome[] = [
    await checkExample(client, target),
    await checkLostBody(client.chunked, target),
    await checkLostBody(client.noLength, target),
  ];
  console.info(lineOf([client.name, version, ...outcomes.map(({ result }) => result)], widths));
  const failures = outcomes.flatMap(({ ok, detail }, index) =>
    ok ? [] : [`${client.name}, ${COLUMNS[index + 2]}: ${detail}`],
  );
  const limits = [client.chunked, client.noLength].flatMap((loss) =>
    "cannot" in loss ? [`${client.name} cannot: it ${loss.cannot}.`] : [],
  );
  return { hasFailed: failures.length > 0, notes: [...failures, ...limits] };
}

async function runClients(entries: readonly Entry[], target: Target): Promise<void> {
  const widths = widthsOf([
    COLUMNS,
    ...entries.map(({ client, version = "" }) => [client.name, version, ...Array(3).fill(WIDEST_OUTCOME)]),
  ]);
  const notes: string[] = [];
  const count = { worked: 0, failed: 0, skipped: 0 };
  console.info(lineOf(COLUMNS, widths));
  for (const entry of entries) {
    if (entry.version === undefined) {
      count.skipped += 1;
      console.info(lineOf([entry.client.name, "-", `skipped: ${entry.client.needs} is missing`], widths));
      continue;
    }
    const outcome = await runClient(entry, target, widths);
    count[outcome.hasFailed ? "failed" : "worked"] += 1;
    notes.push(...outcome.notes);
  }
  if (notes.length > 0) console.info(`\n${notes.join("\n")}`);
  console.info(`\n${count.worked} worked, ${count.failed} failed, ${count.skipped} skipped`);
  process.exitCode = count.failed > 0 ? 1 : 0;
}

/** An unknown name, unless it is so long that it may be a credential. */
const shown = (name: string): string => (name.length <= NAME_UNITS_MAX ? name : "of that name");
const NAME_UNITS_MAX = 30;

async function run(names: string[], { url }: { url?: string }): Promise<void> {
  const unknown = names.filter((name) => !CLIENTS.some((client) => client.name === name));
  if (unknown.length > 0)
    throw new CommandError(`There is no client ${unknown.map(shown).join(", ")}. --help lists all.`);
  const key = apiKeyFrom(process.env);
  const target = await checkTarget(serviceUrl(url, process.env), key);
  const named = CLIENTS.filter(({ name }) => names.length === 0 || names.includes(name));
  await runClients(
    named.map((client) => ({ client, version: client.version() })),
    target,
  );
}

await runTool(
  new Command("API_KEY=... npm run --silent clients --")
    .description(
      "Runs the examples of all clients, or of those named, against the service, with an API key that has write access. Each creates " +
        "a group of its own and deletes it. To have a service, run npm start in another terminal; its key is in .demo-keys/default:\n\n" +
        "  API_KEY=$(cat .demo-keys/default) npm run --silent clients",
    )
    .argument("[client...]", CLIENTS.map(({ name }) => name).join(", "))
    .option(...URL_OPTION)
    .action(run),
);
