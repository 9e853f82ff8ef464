/** `ug whoami`: what a credential may do. */
import type { Command } from "commander";
import { OperatorClient, UserGroupClient } from "../../../client/src/index.ts";
import { CommandError } from "../../../common/command-error.ts";
import { action, serviceCommand } from "../command.ts";
import { anyCredential, type Credential, explainedError, type ServiceOptions } from "../service-access.ts";
import { tableOf } from "../support/table.ts";
import { connectionTo } from "../support/transport.ts";
import { toWire } from "../wire.ts";

/** Who calls with a credential, with the names of the wire. */
export async function callerOf(url: URL, credential: Credential): Promise<Record<string, unknown>> {
  const connection = connectionTo(url);
  const client =
    credential.kind === "api_key"
      ? new UserGroupClient({ ...connection, apiKey: credential.text })
      : new OperatorClient({ ...connection, operatorKey: credential.text });
  const caller = await client.whoami().catch((error: unknown) => {
    throw explainedError(error, url, credential);
  });
  return toWire(caller);
}

export const command = (): Command =>
  serviceCommand("whoami", {
    summary: "show whose credential this is, its rights, and when it expires",
    examples: {
      "ug whoami": "the credential in API_KEY, or else OPERATOR_KEY",
      "ug whoami --key-file key.txt --url https://groups.example.com": "the credential in a file",
    },
  }).action(
    action(async (options: ServiceOptions) => {
      const credential = anyCredential(options);
      if (!credential) throw new CommandError("Set API_KEY or OPERATOR_KEY in the environment, or give --key-file.");
      const caller = await callerOf(options.target.url, credential);
      const rows = Object.entries(caller).map(([name, value]) => [name, [value ?? "-"].flat().join(", ")]);
      return { body: { success: 1, caller }, text: tableOf(rows) };
    }),
  );
