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

/** Checks that the service responds there, and takes the key. */
async function checkTarget(url: URL, key: string): Promise<Target> {
  const call = { method: "GET", credential: key };
  const { status, text } = await send(new URL("/api/user_groups?limit=1", url), call);
  const body = readBody(key, text);
  if (!body) throw notTheService(url, status);
  if (status === 401) throw apiKeyRefused(url, body.error?.code ?? "");
  return { url: url.origin, key };
}

/** Runs a client that is installed. Returns its outcomes, and the notes for below the table. */
async function runClient(client: Client, target: Target) {
  const losses = [client.chunked, client.noLength];
  const outcomes: Outcome[] = [await checkExample(client, target)];
  for (const loss of losses) outcomes.push(await checkLostBody(loss, target));
  const failures = outcomes.flatMap(({ ok, detail }, index) =>
    ok ? [] : [`${client.name}, ${COLUMNS[index + 2]}: ${detail}`],
  );
  const limits = losses.flatMap((loss) => ("cannot" in loss ? [`${client.name} cannot: it ${loss.cannot}.`] : []));
  const state = failures.length > 0 ? ("failed" as const) : ("worked" as const);
  return { state, cells: outcomes.map(({ result }) => result), notes: [...failures, ...limits] };
}

async function runClients(clients: readonly Client[], target: Target): Promise<void> {
  const installed = clients.map((client) => ({ client, version: client.version() }));
  const widths = widthsOf([
    COLUMNS,
    ...installed.map(({ client: { name }, version = "" }) => [name, version, ...Array(3).fill(WIDEST_OUTCOME)]),
  ]);
  const allNotes: string[] = [];
  const count = { worked: 0, failed: 0, skipped: 0 };
  console.info(lineOf(COLUMNS, widths));
  for (const { client, version } of installed) {
    const missing = { state: "skipped" as const, cells: [`skipped: ${client.needs} is missing`], notes: [] };
    const { state, cells, notes } = version === undefined ? missing : await runClient(client, target);
    console.info(lineOf([client.name, version ?? "-", ...cells], widths));
    count[state] += 1;
    allNotes.push(...notes);
  }
  if (allNotes.length > 0) console.info(`\n${allNotes.join("\n")}`);
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
  await runClients(named, target);
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
