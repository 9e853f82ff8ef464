/** `npm run demo`: starts the service and the product of examples/product, which show what customers see. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { Command } from "commander";
import { demoFiles } from "../cli/src/serve/demo.ts";
import { readPort } from "../cli/src/serve/options.ts";
import { print } from "../cli/src/support/output.ts";
import { CommandError } from "../common/command-error.ts";
import { freePort } from "../test/support/node/free-port.ts";
import { runTool } from "./command.ts";

type Options = { port: string; servicePort: string; persistTo: string };

/** The port that an option names; for 0, one that nobody listens on. */
const portOf = async (option: string): Promise<number> => readPort(option) || (await freePort());

/** Resolves when a program has printed a text that `pattern` matches. Rejects with all that it has printed if it ends first. */
function printed(child: ChildProcess, pattern: RegExp): Promise<void> {
  let output = "";
  return new Promise((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr])
      stream?.on("data", (chunk) => {
        output += chunk;
        if (pattern.test(output)) resolve();
      });
    // The advice of `ug serve` about a busy port, in the words of this command.
    const advice = () => output.trim().replace("npm start -- --port", "npm run demo -- --service-port");
    child.on("close", () => reject(new CommandError(advice())));
  });
}

async function demo({ persistTo, ...options }: Options): Promise<void> {
  const [port, servicePort] = [await portOf(options.port), await portOf(options.servicePort)];
  const serviceUrl = `http://localhost:${servicePort}`;
  const serve = ["cli/ug.mjs", "serve", "--demo", "--port", `${servicePort}`, "--persist-to", persistTo];
  const keys = demoFiles({ persistTo });

  const children: ChildProcess[] = [];
  const start = (args: string[], env: NodeJS.ProcessEnv = {}) => {
    const child = spawn(process.execPath, args, { env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] });
    children.push(child);
    return child;
  };
  const stop = () => {
    for (const child of children) child.kill("SIGTERM");
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, stop);
  try {
    await printed(start(serve), /Ctrl-C stops the service/);
    const env = { SERVICE_URL: serviceUrl, API_KEY: readFileSync(keys.key, "utf8").trim(), PORT: `${port}` };
    const product = start(["examples/product/start.ts"], env);
    await printed(product, /The product is at/);
    product.stderr?.pipe(process.stderr);
    await print(introductionOf(`http://localhost:${port}`, serviceUrl, keys.operatorKey));
    // When one of them ends, all end: a product without its service shows nothing.
    await Promise.race(children.map((child) => once(child, "exit")));
  } finally {
    stop();
  }
}

const introductionOf = (product: string, serviceUrl: string, operatorKeyFile: string) => `
The product is ready at ${product}: sign in as Ada, and in a private window as Chloe, who is another customer.
Be the operator of the service: open its console at ${serviceUrl}/console, with the key in ${operatorKeyFile}, and suspend
Harbour Coffee; or in another terminal:

  export SERVICE_URL=${serviceUrl} UG_WORKSPACE=demo UG_ENVIRONMENT=Testing
  npx ug groups suspend --key-file ${operatorKeyFile} --id harbour-coffee --reason unpaid
  npx ug groups resume --key-file ${operatorKeyFile} --id harbour-coffee

Ctrl-C stops both.`;

await runTool(
  new Command("npm run demo --")
    .description(
      "Starts the service at http://localhost:8788, and at http://localhost:3000 a product in which two customers look at their sales.",
    )
    .option("--port <port>", "the port of the product; 0 takes any free one", "3000")
    .option("--service-port <port>", "the port of the service; 0 takes any free one", "8788")
    .option("--persist-to <dir>", "the folder that holds the service's state", ".ug/product")
    .action(demo),
);
