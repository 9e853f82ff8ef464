/** Where `ug` runs from: an installed release, or a clone of the project. `tools/package.ts` makes releases. */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";

/** The folder of the release: the built Worker is beside `lib/`, where this file is then part of `ug.mjs`. */
const beside = dirname(import.meta.dirname);

/** The folder of the installed release, with `bin/` and `worker/`; `undefined` in a clone. */
export const RELEASE: string | undefined = existsSync(join(beside, "worker/settings.json")) ? beside : undefined;

/** The file with the secrets of a service on this machine, for messages: that of one-box.md, or of a clone. */
export const SECRETS_OF_MACHINE = RELEASE === undefined ? ".dev.vars" : "/etc/user-group-service/env";

/** How to try the service on this machine, for messages. */
export const TRY = RELEASE === undefined ? "npm start" : "ug serve --demo";
