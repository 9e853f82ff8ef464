/** The Worker's secrets: from the environment, or the file of `--env-file`. A file with the default name is made if it is missing. */
import { randomBytes } from "node:crypto";
import { CommandError } from "../../../common/command-error.ts";
import { OPERATOR_TOKEN_UNITS_MIN } from "../../../common/limits.ts";
import { readSetting, SETTING_NAMES, unreadableSettings } from "../../../common/settings/settings.ts";
import { RELEASE, SECRETS_OF_MACHINE } from "../release.ts";
import { explainErrors } from "../support/errors.ts";
import { causeOf } from "../support/file-causes.ts";
import { commandOf, DEFAULT_SECRETS_FILE, SECRETS, type ServeOptions } from "./options.ts";
import { makePrivateFile, writePrivateFile } from "./private-files.ts";
import { repeatedSettings, settingsFileIn, unknownNames } from "./settings-file.ts";
import type { State } from "./state-folder.ts";

/** The Worker's variables and secrets, by name. */
export type Variables = Record<string, string>;

/**
 * Returns the variables of the Worker: `defaults`, over them those of this process's environment with the same names, then the
 * file's, and `--var` above all. A file with the default name that is missing is made with fresh secrets, unless the environment has them.
 *
 * @throws CommandError if a setting or the file cannot be read, if the file cannot be made, or if secrets are missing for a state that
 * exists: with others, all its credentials would be invalid.
 */
export function variablesOf(options: ServeOptions, state: State, defaults: Variables): Variables {
  const { envFile } = options;
  const inEnvironment = valuesIn(process.env, [...Object.keys(defaults), ...SECRETS]);
  let inFile = settingsFileIn(envFile);
  if (inFile) explainErrors(() => makePrivateFile(envFile), fileError(envFile));
  else if (!("SIGNING_KEYS" in inEnvironment)) {
    makeSecrets(options, state);
    inFile = settingsFileIn(envFile);
  }
  const given = { ...inEnvironment, ...inFile?.texts, ...options.var };
  const variables = { ...defaults, ...valuesIn(given, SETTING_NAMES) };
  requireReadable(variables, options, state);
  const twice = repeatedSettings(envFile, inFile?.repeated ?? []);
  const warnings = warningsOf({ ...inFile?.texts, ...options.var }, variables, options);
  for (const warning of twice === undefined ? warnings : [twice, ...warnings]) console.warn(`${warning}\n`);
  return { ...variables, CLIENT_ADDRESS_HEADER: options.clientAddressHeader };
}

const fileError = (envFile: string) => (code: string) =>
  new CommandError(`The file of secrets, ${envFile}, cannot be read or made: ${causeOf(code, envFile)}.`);

/** The file as its operator edits it: under systemd, `--env-file` names a copy that LoadCredential= makes at each start. */
function shownFile(envFile: string): string {
  const copies = process.env.CREDENTIALS_DIRECTORY;
  const isCopy = RELEASE !== undefined && copies !== undefined && envFile.startsWith(`${copies}/`);
  return isCopy ? `the file of LoadCredential=, such as ${SECRETS_OF_MACHINE}` : envFile;
}

/** @throws CommandError with a sentence for each setting that cannot be read. */
function requireReadable(variables: Variables, { envFile, persistTo }: ServeOptions, { holdsDatabases }: State): void {
  const sentences = unreadableSettings(variables);
  if (sentences.length === 0) return;
  if (!variables.SIGNING_KEYS && holdsDatabases)
    sentences.push(
      `${persistTo} holds a state that was made with SIGNING_KEYS: put those back. With others, all of its credentials are invalid.`,
    );
  throw new CommandError(
    [...sentences, `Settings come from ${shownFile(envFile)}, the environment and --var.`].join("\n"),
  );
}

/** What does nothing here, and is perhaps a mistake. */
function warningsOf(given: NodeJS.Dict<string>, variables: Variables, { envFile, clientAddressHeader }: ServeOptions) {
  const warnings: string[] = [];
  const file = shownFile(envFile);
  const unknown = unknownNames(given);
  if (unknown !== undefined) warnings.push(`${unknown} in ${file} or --var.`);
  const header = given.CLIENT_ADDRESS_HEADER ?? "";
  if (header !== "" && header !== clientAddressHeader)
    warnings.push(`CLIENT_ADDRESS_HEADER does nothing in ${file} or --var. Give --client-address-header.`);
  const token = readSetting(variables, "OPERATOR_TOKEN");
  if (token.ok && token.value === undefined)
    warnings.push(
      `OPERATOR_TOKEN in ${file} is missing or too short, so operators need keys of their own: calls with it are answered with status 503.\n` +
        `Set it to a random text of ${OPERATOR_TOKEN_UNITS_MIN} characters or more.`,
    );
  return warnings;
}

const valuesIn = (env: NodeJS.Dict<string>, names: readonly string[]): Record<string, string> =>
  Object.fromEntries(names.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])));

function makeSecrets({ envFile, persistTo, demo }: ServeOptions, { holdsDatabases }: State): void {
  const explained =
    `The state in ${persistTo} was made with other secrets. Without them, all of its tokens and API keys are invalid: the service refuses\n` +
    "them. Its user groups are still there; a GET with a new API key returns their new tokens.\n" +
    `If you have the old ${envFile}, stop this service, and put the file back.\n` +
    `To start with an empty state, delete the folder ${persistTo}, or use another: ${commandOf({ demo })} --persist-to DIR\n`;
  const isOfClone = RELEASE === undefined || envFile !== DEFAULT_SECRETS_FILE;
  const missing = isOfClone ? `The file ${envFile}` : `The file of --env-file, such as ${SECRETS_OF_MACHINE},`;
  if (holdsDatabases && !demo)
    throw new CommandError(
      `${missing} is missing, and ${persistTo} holds a state that was made with its secrets. Put the file back, name it with\n` +
        "--env-file, or set SIGNING_KEYS in the environment. With new secrets, all tokens and keys of that state would be invalid.",
    );
  if (envFile !== DEFAULT_SECRETS_FILE && !demo)
    throw new CommandError(
      `The file ${envFile} is missing. Make it, readable by the user of the service alone, with two lines: SIGNING_KEYS=k1:KEY, where KEY is\n` +
        "what openssl rand -base64 32 prints, and OPERATOR_TOKEN=TOKEN, a random text of 32 characters or more.",
    );
  const signingKey = randomBytes(32).toString("base64");
  const operatorToken = randomBytes(32).toString("base64url");
  const secrets = `SIGNING_KEYS=k1:${signingKey}\nOPERATOR_TOKEN=${operatorToken}\n`;
  explainErrors(() => writePrivateFile(envFile, secrets, "wx"), fileError(envFile));
  console.info(`Wrote fresh secrets to ${envFile}.`);
  if (holdsDatabases) console.warn(`\n${explained}`);
}
