/** `npm run demo`: starts the service and the product of examples/product, which show what customers see. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { parseArgs } from "node:util";
import { demoFiles } from "./serve/demo.ts";
import { readPort } from "./serve/options.ts";

const USAGE = `Usage: npm run demo [-- --port PORT --service-port PORT --persist-to DIR]

Starts the service at http://localhost:8787 and a product at http://localhost:3000, in which two customers look at their sales.`;

const { values } = parseArgs({
  options: {
    port: { type: "string", default: "3000" },
    "service-port": { type: "string", default: "8787" },
    "persist-to": { type: "string", default: ".ug/product" },
    help: { type: "boolean", default: false },
  },
});

/** The port that an option names; for 0, one that nobody listens on. */
async function portOf(option: string): Promise<number> {
  const server = createServer().listen(readPort(option), "localhost");
  await Promise.race([once(server, "listening"), once(server, "error").then(([error]) => Promise.reject(error))]);
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address ? address.port : 0;
}

/** Resolves when a program has printed a text that `pattern` matches. Rejects with all that it has printed if it ends first. */
function printed(child: ChildProcess, pattern: RegExp): Promise<void> {
  let output = "";
  return new Promise((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr])
      stream?.on("data", (chunk) => {
        output += chunk;
        if (pattern.test(output)) resolve();
      });
    child.on("exit", () => reject(new Error(output)));
  });
}

async function main(): Promise<void> {
  if (values.help) return console.info(USAGE);
  const persistTo = values["persist-to"];
  const [port, servicePort] = [await portOf(values.port), await portOf(values["service-port"])];
  const children: ChildProcess[] = [];
  const start = (args: string[], env: NodeJS.ProcessEnv = {}) => {
    const child = spawn(process.execPath, args, { env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] });
    children.push(child);
    return child;
  };
  // Whatever ends, all end: a product without its service shows nothing.
  const stop = () => {
    for (const child of children) child.kill("SIGTERM");
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, stop);

  const serviceUrl = `http://localhost:${servicePort}`;
  const serve = ["scripts/ug.mjs", "serve", "--demo", "--port", `${servicePort}`, "--persist-to", persistTo];
  const keys = demoFiles({ persistTo });
  try {
    await printed(start(serve), /Ctrl-C stops the service/);
    const env = { SERVICE_URL: serviceUrl, API_KEY: readFileSync(keys.key, "utf8").trim(), PORT: `${port}` };
    const product = start(["examples/product/start.ts"], env);
    product.stderr?.pipe(process.stderr);
    await printed(product, /The product is at/);
    console.info(introductionOf(`http://localhost:${port}`, serviceUrl, keys.operatorKey));
    await Promise.race(children.map((child) => once(child, "exit")));
  } finally {
    stop();
  }
}

const introductionOf = (product: string, serviceUrl: string, operatorKeyFile: string) => `
The product is ready at ${product}: sign in as Ada, and in a private window as Chloe, who is another customer.
The service is at ${serviceUrl}. In another terminal, be its operator:

  export SERVICE_URL=${serviceUrl} UG_WORKSPACE=demo UG_ENVIRONMENT=Testing
  npx ug groups suspend --key-file ${operatorKeyFile} --id harbour-coffee --reason unpaid
  npx ug groups resume --key-file ${operatorKeyFile} --id harbour-coffee

Ctrl-C stops both.`;

await main().catch((error: Error) => {
  console.error(error.message);
  process.exitCode = 1;
});
