/** Where `ug` runs from: an installed release, the npm package, or a clone of the project. */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";

/** The folder of the release: the built Worker is beside `lib/`, where this file is then part of `ug.mjs`. */
const beside = dirname(import.meta.dirname);

/** The folder of the installed release, with `bin/` and `worker/`; `undefined` elsewhere. */
export const RELEASE: string | undefined = existsSync(join(beside, "worker/settings.json")) ? beside : undefined;

/** Elsewhere `ug` is one script. */
export const IS_CLONE = import.meta.filename.endsWith(".ts");

/** The npm package has all commands but these. */
export const OF_SERVICE: readonly string[] = ["backup", "erase", "restore", "serve"];

/** Whether this `ug` lacks a command. */
export const isAbsent = (name: string): boolean => !IS_CLONE && RELEASE === undefined && OF_SERVICE.includes(name);

/** The file with the secrets of a service on this machine, for messages: that of one-box.md, or of a clone. */
export const SECRETS_OF_MACHINE = IS_CLONE ? ".dev.vars" : "/etc/user-group-service/env";

/** How to try the service on this machine, for messages. */
export const TRY = IS_CLONE ? "npm start" : "ug serve --demo";
