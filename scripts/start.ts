/** `npm start`: runs the service on the local runtime with secrets that it makes, and prints how to call it. */
import { createServer } from "node:net";
import { CommandError, stopWithNpm, systemErrorCode } from "./command.ts";
import { demoKey, demoKeyFile, NoDemoKey } from "./start/demo-key.ts";
import { type Service, startService } from "./start/local-runtime.ts";
import { HELP, type Options, readOptions } from "./start/options.ts";
import { prepareSecrets } from "./start/secrets.ts";
import { openStateFolder } from "./start/state-folder.ts";

/** Refuses a busy port. `localhost` has two addresses, and the local runtime would take the one that is free. */
async function requireFreePort({ ip, port }: Options): Promise<void> {
  const hosts = ip === undefined || ip === "localhost" ? ["127.0.0.1", "::1"] : [ip];
  for (const host of hosts) {
    const error = await new Promise<NodeJS.ErrnoException | undefined>((settle) => {
      const probe = createServer()
        .once("error", settle)
        .listen({ host, port }, () => probe.close(() => settle(undefined)));
    });
    if (error?.code === "EADDRINUSE")
      throw new CommandError(
        `Port ${port} is busy. Stop what listens there, or choose another port: npm start -- --port ${port + 1}`,
      );
  }
}

async function greet(service: Service, options: Options, operatorToken: string | undefined): Promise<void> {
  const { url } = service;
  try {
    const key = await demoKey(service, options, operatorToken);
    // The certificate of https is self-signed.
    const curl = options.isSecure ? "curl -k" : "curl";
    console.info(
      [
        `\nThe user group service is ready at ${url}`,
        `API key of workspace demo, environment Testing (kept in ${demoKeyFile(options)}):\n`,
        `  ${key}\n`,
        "Get or create a user group:\n",
        `  ${curl} -X GET ${url}/api/user -H 'Authorization: Token ${key}' -H 'Content-Type: application/json' -d '{"user_group_id":"first"}'\n`,
        "Then mint a viewer session for a page that shows its data:\n",
        `  ${curl} ${url}/api/viewer_sessions -H 'Authorization: Token ${key}' -H 'Content-Type: application/json' -d '{"user_group_id":"first"}'\n`,
        `See what the page's viewer sees, with the session that this shows: ${url}/demo\n`,
        `Every call and refusal: ${url}/docs\n`,
        "Ctrl-C stops the service. What follows is its log.\n",
      ].join("\n"),
    );
  } catch (error) {
    if (!(error instanceof NoDemoKey)) throw error;
    console.info(`\nThe user group service is ready at ${url}`);
    console.error(
      `No API key could be issued: ${error.message}\n` +
        `If ${options.secretsFile} lacks a secret, add it as .dev.vars.example shows, and start again. If you delete the file, npm start makes\n` +
        "new secrets, and the service refuses all tokens and keys that it issued before.\n",
    );
  }
}

async function start(): Promise<void> {
  const options = readOptions(process.env);
  if (!options) return console.info(HELP);
  const stop = () => process.exit(0);
  // Before wrangler adds handlers of its own, which would exit with another status. Its processes end with this one.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, stop);
  stopWithNpm(stop);
  // New files of the state are readable by their owner only.
  process.umask(0o077);
  const state = openStateFolder(options);
  const operatorToken = prepareSecrets(options, state);
  await requireFreePort(options);
  await greet(await startService(options), options, operatorToken);
}

try {
  await start();
} catch (error) {
  if (!(error instanceof Error) || !(error instanceof CommandError || systemErrorCode(error))) throw error;
  console.error(`\n${error.message}\n`);
  process.exit(1);
}
