/** `npm run clients -- --url URL [CLIENT ...]`: the matrix of clients, against any service. Only the clients named run. */
import { CLIENTS, type Client, loseBody, type Outcome, type Target, walk } from "./clients/matrix.ts";
import { apiKeyOf, Refusal, readArguments, runCommand, serviceUrl } from "./command.ts";

const USAGE = `Usage: API_KEY=... npm run --silent clients -- --url URL [CLIENT ...]

Runs the examples of all clients, or of those named, against the service at URL, with an API key that may write. Each makes
a group of its own and deletes it. To have a service, run npm start in another terminal; its key is in .demo-keys/default:

  API_KEY=$(cat .demo-keys/default) npm run --silent clients -- --url http://localhost:8787

Clients: ${CLIENTS.map(({ name }) => name).join(", ")}.`;

const COLUMNS = ["client", "version", "create/update/rotate/view/delete", "chunked GET", "GET without Content-Length"];

/** The service, when it answers there, and the key for it. */
async function targetOf(text: string | undefined): Promise<Target> {
  if (!process.env.API_KEY || text === undefined) throw new Refusal(USAGE);
  const key = apiKeyOf(process.env);
  const url = serviceUrl(text);
  const health = await fetch(new URL("/health", url)).catch(() => undefined);
  if (!health?.ok)
    throw new Refusal(`No user group service answers at ${url.origin}${health ? ` (status ${health.status})` : ""}.`);
  return { url: url.origin, key };
}

const line = (cells: string[], widths: number[]) =>
  cells
    .map((cell, column) => cell.padEnd(widths[column] ?? 0))
    .join("  ")
    .trimEnd();

async function run(): Promise<void> {
  const { values, positionals } = readArguments({ url: { type: "string" }, help: { type: "boolean" } });
  if (values.help) return console.info(USAGE);
  const target = await targetOf(values.url);
  const unknown = positionals.filter((name) => !CLIENTS.some((client) => client.name === name));
  if (unknown.length > 0) throw new Refusal(`There is no client ${unknown.join(", ")}.\n\n${USAGE}`);

  const clients = CLIENTS.filter(({ name }) => positionals.length === 0 || positionals.includes(name)).map(
    (client) => ({
      client,
      version: client.version(),
    }),
  );
  const widths = COLUMNS.map((name) => Math.max(name.length, "body_required".length));
  for (const { client, version = "" } of clients)
    for (const [column, cell] of [client.name, version].entries())
      widths[column] = Math.max(widths[column] ?? 0, cell.length);

  /** What the table has no room for, told below it. */
  const notes: string[] = [];

  function note({ name }: Client, what: string, outcome: Outcome): boolean {
    if (!outcome.ok) notes.push(`${name}, ${what}: ${outcome.detail}`);
    return outcome.ok;
  }

  const count = { worked: 0, failed: 0, skipped: 0 };
  console.info(line(COLUMNS, widths));
  for (const { client, version } of clients) {
    if (version === undefined) {
      count.skipped += 1;
      console.info(line([client.name, "-", `skipped: ${client.needs} is missing`], widths));
      continue;
    }
    const outcomes = [
      await walk(client, target),
      await loseBody(client.chunked, target),
      await loseBody(client.noLength, target),
    ];
    console.info(line([client.name, version, ...outcomes.map(({ saw }) => saw)], widths));
    const worked = outcomes.map((outcome, column) => note(client, COLUMNS[column + 2] ?? "", outcome));
    count[worked.every(Boolean) ? "worked" : "failed"] += 1;
    for (const loss of [client.chunked, client.noLength])
      if ("cannot" in loss) notes.push(`${client.name} cannot: it ${loss.cannot}.`);
  }
  if (notes.length > 0) console.info(`\n${notes.join("\n")}`);
  console.info(`\n${count.worked} worked, ${count.failed} failed, ${count.skipped} skipped`);
  process.exitCode = count.failed > 0 ? 1 : 0;
}

await runCommand(run);
