/** `ug`: one command for the service and for the people who run it. */
import { Command } from "commander";
import { serveCommand } from "./commands/serve.ts";
import { CommandError, UsageError } from "./errors.ts";

// Another Node has started this one: see ug.mjs. Its end closes the channel.
process.on("disconnect", () => process.kill(process.pid, "SIGTERM"));
process.channel?.unref();

try {
  await new Command("ug").addCommand(serveCommand()).parseAsync();
} catch (error) {
  if (!(error instanceof CommandError)) throw error;
  console.error(error.message);
  process.exitCode = error instanceof UsageError ? 2 : 1;
}
