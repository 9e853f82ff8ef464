/** `ug`: one command for the service, for the people who run it, and for those who call it. */
import { runUg } from "./run-ug.ts";

// Another Node has started this one: see ug.mjs. Its end closes the channel.
process.on("disconnect", () => process.kill(process.pid, "SIGTERM"));
process.channel?.unref();

// commander does not wait until its help is written. Commands get the error of their own output from `print`.
process.stdout.on("error", () => undefined);

process.exitCode = await runUg(process.argv.slice(2));
