/** The file with the Worker's secrets, which `npm start` writes if it is missing. */
import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { parseEnv } from "node:util";
import type { Options } from "./options.ts";
import { makePrivateFile, writePrivateFile } from "./private-files.ts";

/** The service accepts no shorter one. */
const OPERATOR_TOKEN_CHARACTERS_MIN = 32;

/** Makes the secrets if there are none, and returns the operator's token; `undefined` if the service will not accept it. */
export function prepareSecrets(options: Options, state: { holdsDatabases: boolean }): string | undefined {
  const { secretsFile, vars } = options;
  if (existsSync(secretsFile)) makePrivateFile(secretsFile);
  else makeSecrets(options, state);
  const operatorToken = vars.OPERATOR_TOKEN ?? parseEnv(readFileSync(secretsFile, "utf8")).OPERATOR_TOKEN ?? "";
  if (operatorToken.length >= OPERATOR_TOKEN_CHARACTERS_MIN) return operatorToken;
  console.warn(
    `OPERATOR_TOKEN in ${secretsFile} is missing or too short, so API keys cannot be managed: those calls are answered with status 503.\n` +
      `Set it to a random text of ${OPERATOR_TOKEN_CHARACTERS_MIN} characters or more.\n`,
  );
  return undefined;
}

function makeSecrets({ secretsFile, stateFolder }: Options, { holdsDatabases }: { holdsDatabases: boolean }): void {
  const signingKey = randomBytes(32).toString("base64");
  const operatorToken = randomBytes(32).toString("base64url");
  writePrivateFile(secretsFile, `SIGNING_KEYS=k1:${signingKey}\nOPERATOR_TOKEN=${operatorToken}\n`, "wx");
  console.info(`Wrote fresh secrets to ${secretsFile}.`);
  if (!holdsDatabases) return;
  console.warn(
    `\nThe state in ${stateFolder} was made with other secrets. Without them, all of its tokens and API keys are dead: the service refuses\n` +
      "them. Its user groups are still there; a GET with a new API key returns their new tokens.\n" +
      `If you have the old ${secretsFile}, stop this service, and put the file back.\n` +
      `To start with an empty state, delete the folder ${stateFolder}, or use another: npm start -- --persist-to DIR\n`,
  );
}
