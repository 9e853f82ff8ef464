/** `ug whoami`: what a credential may do. */
import type { Command } from "commander";
import { OperatorClient, UserGroupClient } from "../../../client/src/index.ts";
import { CommandError } from "../../../common/command-error.ts";
import { printOutput, type ServiceOptions, serviceCommand } from "../command.ts";
import { anyCredential, type Credential, explainedError } from "../service-access.ts";
import { tableOf } from "../support/table.ts";
import { connectionTo } from "../support/transport.ts";
import { toWire } from "../wire.ts";

/** Who calls with a credential, with the names of the wire. */
export async function callerOf(url: URL, { kind, text }: Credential): Promise<Record<string, unknown>> {
  const connection = connectionTo(url);
  const client =
    kind === "api_key"
      ? new UserGroupClient({ ...connection, apiKey: text })
      : new OperatorClient({ ...connection, operatorKey: text });
  return toWire(await client.whoami());
}

export const whoamiCommand = (): Command =>
  serviceCommand("whoami", {
    summary: "show whose credential this is, its rights, and when it expires",
    examples: [
      ["ug whoami", "the credential in API_KEY, or else OPERATOR_KEY"],
      ["ug whoami --key-file key.txt --url https://groups.example.com", "the credential in a file"],
    ],
  }).action(async (options: ServiceOptions) => {
    const { url } = options.target;
    const credential = anyCredential(options);
    if (!credential) throw new CommandError("Set API_KEY or OPERATOR_KEY in the environment, or give --key-file.");
    const caller = await callerOf(url, credential).catch((error: unknown) => {
      throw explainedError(error, url, credential);
    });
    const rows = Object.entries(caller).map(([name, value]) => [name, textOf(value)]);
    await printOutput({ body: { success: 1, caller }, text: tableOf(rows) }, options);
  });

const textOf = (value: unknown): string => (Array.isArray(value) ? value.join(", ") : String(value ?? "-"));
