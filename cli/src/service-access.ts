/** Finds the credential of a command, and explains the errors of its calls. */
import { parseEnv } from "node:util";
import {
  type EnvironmentClient,
  OperatorClient,
  UserGroupClient,
  UserGroupServiceError,
} from "../../client/src/index.ts";
import { CommandError, UsageError } from "../../common/command-error.ts";
import { isLoopback } from "../../common/origin.ts";
import type { Context, Target, TargetOptions } from "./contexts/context-store.ts";
import { type EnvironmentOptions, environmentOf } from "./environment-options.ts";
import { RELEASE, SECRETS_OF_MACHINE } from "./release.ts";
import { DEFAULT_SECRETS_FILE } from "./serve/options.ts";
import { textIn } from "./support/errors.ts";
import { textInOptionFile } from "./support/option-file.ts";
import { capitalized, escapeInvisible } from "./support/printable.ts";
import { apiKeyRefused, whyRefused } from "./support/service.ts";
import { connectionTo, unansweredError } from "./support/transport.ts";

/** A credential, and where it was found. */
export type Credential = {
  kind: "api_key" | "operator";
  text: string;
  source: string;
  /** What to do where the service refuses it, if that depends on its source. */
  fix?: string;
};

/** Options of the commands that call the service. The last five are only there where a command has them. */
export type ServiceOptions = TargetOptions & {
  keyFile?: string;
  json?: boolean;
  /** Not an option: the deployment that the options, the variables or the context in use name. */
  target: Target;
  /** Not an option: whether the command line itself names an environment, and not UG_WORKSPACE and UG_ENVIRONMENT. */
  isNamed: boolean;
  /** Not an option: whether the credential that was found is an operator's. */
  asOperator?: boolean;
  reason?: string;
  yes?: boolean;
  confirm?: string;
} & EnvironmentOptions;

/** The calls that a command may make, and the error to show for one of theirs. */
export type ServiceAccess<Client> = {
  client: Client;
  url: URL;
  credential: Credential;
  explained: (error: unknown) => unknown;
};

/** Access for commands that only operators may run. */
export function accessToDeployment(options: ServiceOptions): ServiceAccess<OperatorClient> {
  const { url } = options.target;
  const credential = givenCredential(options) ?? operatorCredential(url);
  if (credential.kind !== "operator")
    throw new CommandError(
      `${capitalized(credential.source)} is an API key. This command takes the key of an operator.`,
    );
  return accessOf(new OperatorClient({ ...connectionTo(url), operatorKey: credential.text }), url, credential);
}

/**
 * Access to an environment: that of the API key, or as an operator the one that the options name. `stop` ends waits between tries. The variables UG_WORKSPACE and
 * UG_ENVIRONMENT count only if there is no API key.
 */
export function accessToEnvironment(options: ServiceOptions, stop?: AbortSignal): ServiceAccess<EnvironmentClient> {
  const { url } = options.target;
  const credential = givenCredential(options) ?? environmentCredential(options);
  const connection = connectionTo(url, { ...(stop && { stop }) });
  if (credential.kind === "api_key")
    return accessOf(new UserGroupClient({ ...connection, apiKey: credential.text }), url, credential);
  const operator = new OperatorClient({ ...connection, operatorKey: credential.text });
  return accessOf(operator.inEnvironment(environmentOf(options)), url, credential);
}

/** The calls that operators cannot make. @throws CommandError for an operator. */
export function withApiKey(client: EnvironmentClient): UserGroupClient {
  if (client instanceof UserGroupClient) return client;
  throw new CommandError("This command takes an API key, which begins with ugk_.");
}

const accessOf = <Client>(client: Client, url: URL, credential: Credential): ServiceAccess<Client> => ({
  client,
  url,
  credential,
  explained: (error) => explainedError(error, url, credential),
});

/** The first credential that is set, for commands that take any. `envFile` is the file of the service's secrets. */
export const anyCredential = ({ envFile, ...options }: ServiceOptions & { envFile?: string }): Credential | undefined =>
  givenCredential(options) ??
  (process.env.API_KEY ? apiKeyInEnvironment() : operatorCredentialOrNone(options.target.url, envFile));

/** The credential of --key-file, or else of the context. */
const givenCredential = ({ keyFile, target: { context } }: ServiceOptions): Credential | undefined =>
  keyFile !== undefined ? credentialIn(keyFile) : context && credentialOf(context);

const credentialOf = ({ name, url, key }: Context): Credential => ({
  ...credentialFrom(key, `the key of the context ${name}`),
  fix: ` Store another key: ug context add ${name} --replace --url ${url} --key-file FILE`,
});

const credentialFrom = (text: string, source: string): Credential => ({
  kind: text.startsWith("ugk_") ? "api_key" : "operator",
  text,
  source,
});

function environmentCredential({ workspace, isNamed, target }: ServiceOptions): Credential {
  const hasOperator = Boolean(process.env.OPERATOR_KEY || process.env.OPERATOR_TOKEN);
  const isOperator = isNamed || (workspace !== undefined && (hasOperator || !process.env.API_KEY));
  return isOperator ? operatorCredential(target.url) : apiKeyInEnvironment();
}

function apiKeyInEnvironment(): Credential {
  const text = process.env.API_KEY;
  if (!text)
    throw new CommandError(
      "Set API_KEY in the environment, or give --key-file. As an operator, give --workspace and --environment instead.",
    );
  return { kind: "api_key", text: readHeaderText(text, "API_KEY"), source: "API_KEY" };
}

function operatorCredential(url: URL): Credential {
  const found = operatorCredentialOrNone(url);
  if (found) return found;
  const onMachine =
    RELEASE === undefined
      ? "Set OPERATOR_KEY or OPERATOR_TOKEN in the environment, give --key-file, or start the service once to have a .dev.vars."
      : `Set OPERATOR_KEY or OPERATOR_TOKEN in the environment, or give --key-file. ${SECRETS_OF_MACHINE} has the bootstrap token.`;
  const elsewhere = `Set OPERATOR_KEY to the key of an operator of ${url.origin}, or give --key-file.`;
  const alone = ` The token in ${SECRETS_OF_MACHINE} is sent to a service on this machine alone.`;
  throw new CommandError(isLoopback(url) ? onMachine : elsewhere + (RELEASE === undefined ? alone : ""));
}

function operatorCredentialOrNone(url: URL, envFile = DEFAULT_SECRETS_FILE): Credential | undefined {
  const variable = process.env.OPERATOR_KEY ? "OPERATOR_KEY" : "OPERATOR_TOKEN";
  const text = process.env[variable] || (isLoopback(url) ? bootstrapTokenIn(envFile) : undefined);
  return text ? { kind: "operator", text: readHeaderText(text, variable), source: variable } : undefined;
}

function bootstrapTokenIn(envFile: string): string | undefined {
  const failureOf = (code: string) =>
    new CommandError(`${envFile} cannot be read: ${code}. Set OPERATOR_KEY in the environment, or give --key-file.`);
  return parseEnv(textIn(envFile, failureOf) ?? "").OPERATOR_TOKEN;
}

/** The credential in a file: an API key, or else an operator key or the bootstrap token, which the service distinguishes. */
export function credentialIn(file: string): Credential {
  const text = textInOptionFile("--key-file", file);
  if (text === "") throw new UsageError("The file of --key-file is empty.");
  return credentialFrom(readHeaderText(text, "The file of --key-file"), "the file of --key-file");
}

/** Other characters cannot be in a header, and the error of the HTTP client would quote them. */
function readHeaderText(text: string, source: string): string {
  if (!/^[\x21-\x7e]+$/.test(text))
    throw new CommandError(`${source} cannot be in a header: it holds characters other than printable ASCII.`);
  return text;
}

/** The error to show for an error of a call. Others are returned as they are. */
export function explainedError(
  error: unknown,
  url: URL,
  credential: Credential,
  textOf = ({ message }: UserGroupServiceError) => escapeInvisible(message),
): unknown {
  const unanswered = unansweredError(error, url);
  if (unanswered || !(error instanceof UserGroupServiceError)) return unanswered ?? error;
  return error.status === 401 ? refusalOf(url, credential, error) : new CommandError(textOf(error), error);
}

/** For a 401: names the refused credential, and what the command takes. */
function refusalOf(url: URL, { kind, source, fix = "" }: Credential, details: UserGroupServiceError): CommandError {
  if (source === "API_KEY") return apiKeyRefused(url, details.code, details.requestId);
  const taken =
    kind === "api_key"
      ? "an API key of that service"
      : `the key of an operator of that service, which begins with ugo_, or its bootstrap token in OPERATOR_TOKEN${RELEASE === undefined ? ` or ${SECRETS_OF_MACHINE}` : ""}`;
  return new CommandError(
    `The service at ${url.origin} refused ${source} (${details.code}). This command takes ${taken}.${whyRefused(details.code)}${fix}`,
    details,
  );
}

/** Whether a call failed with this code. */
export const hasCode = (error: unknown, code: string): error is UserGroupServiceError =>
  error instanceof UserGroupServiceError && error.code === code;

/** A failure with this code in the words of a command; any other as it is. */
export const reworded = (error: unknown, code: string, message: string): unknown =>
  hasCode(error, code) ? new CommandError(message, error) : error;
