import { type Command, Option } from "commander";
import { type About, described } from "../help.ts";
import { RELEASE, TRY } from "../release.ts";
import {
  DEFAULT_PORT,
  DEFAULT_SECRETS_FILE,
  DEFAULT_STATE_FOLDER,
  readHeaderName,
  readHost,
  readLimit,
  readPort,
  readSocketFd,
  readVariable,
  refuseOptionsTakenByNpm,
  type ServeOptions,
} from "../serve/options.ts";

const ABOUT: About = {
  summary: "run the service on this machine, on plain workerd with its state on disk",
  examples: {
    [TRY]: "try it: fresh secrets, an API key and an operator's key",
    "ug serve --persist-to /var/lib/user-groups --env-file /etc/user-groups/env": "run it in production",
    "ug serve --var PUBLIC_URL:https://groups.example.com --client-address-header X-Real-IP": "behind a proxy",
  },
  notes: `Variables of the Worker come from wrangler.toml, then the environment, then --env-file, then --var. SIGNING_KEYS and
OPERATOR_TOKEN are secrets: other users can read arguments, so they belong in the file or the environment.`,
};

/** How the help shows the file of secrets for a try. A box has its own. */
const SHOWN = RELEASE === undefined ? undefined : "a file for a try, in this folder";

/** `ug serve`: runs the service on this machine. @throws UsageError if npm took options of `npm start` for itself. */
export function command(): Command {
  refuseOptionsTakenByNpm(process.env);
  return described("serve", ABOUT)
    .option("--port <port>", "the port to listen on; 0 takes any free one", readPort, DEFAULT_PORT)
    .option("--host <address>", "the IP address to listen on", readHost, "127.0.0.1")
    .option("--persist-to <dir>", "the folder that holds the state", DEFAULT_STATE_FOLDER)
    .addOption(new Option("--env-file <file>", "the file that holds the secrets").default(DEFAULT_SECRETS_FILE, SHOWN))
    .option("--var <name:value>", "set a variable of the Worker; may be repeated", readVariable)
    .option("--client-address-header <name>", "the header in which a proxy passes the client's address", readHeaderName)
    .option("--metrics-port <port>", "serve OpenMetrics at /metrics on this port of 127.0.0.1", readPort)
    .option("--backups <dir>", "the folder of ug backup --all, for the metric of the newest backup's age")
    .option("--limit <name=calls/seconds>", "set a rate limit; may be repeated", readLimit)
    .option("--socket-fd <fd>", "listen on this open socket, which systemd passes, in place of a port", readSocketFd)
    .option("--demo", "issue an API key and an operator's key, and print how to call the service")
    .action(async (options: Partial<ServeOptions> & Pick<ServeOptions, "port" | "host" | "persistTo" | "envFile">) => {
      const { serve } = await import("../serve/serve.ts");
      await serve({ var: {}, limit: {}, clientAddressHeader: "", demo: false, ...options });
    });
}
