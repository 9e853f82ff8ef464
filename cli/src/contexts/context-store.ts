/** Contexts: deployments under short names, each with a key, in files of the user's own. */
import { readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { CommandError, UsageError } from "../../../common/command-error.ts";
import { reader } from "../option-values.ts";
import { makePrivateFolder, writePrivateFile } from "../serve/private-files.ts";
import { explainErrors, systemErrorCode, textIn } from "../support/errors.ts";
import { quoted } from "../support/printable.ts";
import { serviceUrl } from "../support/service.ts";

/** A deployment, and the key to call it with. */
export type Context = {
  name: string;
  /** The origin of the service. */
  url: string;
  /** An API key, an operator's key or a bootstrap token. */
  key: string;
  /** Whose key it is, as the service said when the context was added. */
  holder: string;
  /** The environment that an operator's commands are about, unless they name another. */
  workspace?: string | undefined;
  environment?: string | undefined;
};

const SUFFIX = ".json";

/** The folder of the contexts: `ug` in the user's folder for settings (XDG Base Directory Specification). */
function folder(): string {
  const { XDG_CONFIG_HOME: home = "" } = process.env;
  // The specification ignores relative paths.
  return join(isAbsolute(home) ? home : join(homedir(), ".config"), "ug");
}

const contextsFolder = () => join(folder(), "contexts");
const fileOf = (name: string) => join(contextsFolder(), `${name}${SUFFIX}`);
const inUseFile = () => join(folder(), "context-in-use");

/** Reads the name of a context, which is that of its file, too. */
export const readContextName = reader(
  (text) => /^[a-z0-9][a-z0-9._-]{0,39}$/i.exec(text)?.[0],
  "Give a context's name as up to 40 letters, digits, dots, hyphens and underscores.",
);

/** The names of all contexts, sorted; those whose files cannot be read included. */
export function contextNames(): string[] {
  try {
    const files = readdirSync(contextsFolder()).filter((file) => file.endsWith(SUFFIX));
    return files.map((file) => file.slice(0, -SUFFIX.length)).toSorted();
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT") return [];
    throw new CommandError(`The folder of the contexts cannot be read: ${systemErrorCode(error)}: ${contextsFolder()}`);
  }
}

/** The context with this name. @throws CommandError if there is none, or its file cannot be used. */
export function readContext(name: string): Context {
  const file = fileOf(readContextName(name));
  const text = readPrivate(name, file);
  try {
    const { url, key, holder, ...environment } = JSON.parse(text);
    const texts = [url, key, holder, ...Object.values(environment)];
    const isContext =
      texts.every((each) => typeof each === "string") &&
      /^[\x21-\x7e]+$/.test(key) &&
      Object.keys(environment).every((field) => ["workspace", "environment"].includes(field));
    if (isContext) return { url: serviceUrl(url, {}).origin, key, holder, ...environment, name };
  } catch {
    // It is no JSON, or the URL is none of a service.
  }
  throw unusable(name, `${file} is not the file of a context.`);
}

const unusable = (name: string, why: string): CommandError =>
  new CommandError(
    `The context ${name} cannot be used: ${why} Store it again: ug context add ${name} --replace --url URL --key-file FILE`,
    { code: "unusable_context" },
  );

/** The text of a file that only its owner may read. */
function readPrivate(name: string, file: string): string {
  const text = textIn(file, (code) => unusable(name, `${file} cannot be read: ${code}.`));
  if (text === undefined)
    throw new CommandError(`There is no context ${name}. ug context list shows all, and ug context add makes one.`, {
      code: "context_not_found",
    });
  if (process.getuid === undefined || (statSync(file).mode & 0o077) === 0) return text;
  throw new CommandError(
    `Others may read the key of the context ${name}. Make its file yours alone: chmod 600 ${quoted(file)}. If somebody has read it, replace the key, too.`,
    { code: "unusable_context" },
  );
}

/** Stores a context. The file gets its name when it is complete. */
export const storeContext = ({ name, ...stored }: Context): void =>
  write(fileOf(readContextName(name)), JSON.stringify(stored));

/** Removes a context and its key, and no longer uses it. */
export function removeContext(name: string): void {
  const file = fileOf(readContextName(name));
  if (!contextNames().includes(name)) readPrivate(name, file);
  if (nameInUse() === name) useContext(undefined);
  changing(() => rmSync(file));
}

/** The name of the context in use; `undefined` if there is none. */
export function nameInUse(): string | undefined {
  const failureOf = (code: string) =>
    new CommandError(
      `The name of the context in use cannot be read: ${code}: ${inUseFile()}. Delete this file, or give --context.`,
      { code: "unusable_context" },
    );
  return textIn(inUseFile(), failureOf)?.trim() || undefined;
}

/** Uses this context for commands that name none; with `undefined`, none. */
export function useContext(name: string | undefined): void {
  if (name === undefined) changing(() => rmSync(inUseFile(), { force: true }));
  else write(inUseFile(), `${readContext(name).name}\n`);
}

function write(file: string, text: string): void {
  changing(() => {
    makePrivateFolder(folder());
    makePrivateFolder(contextsFolder());
    const unfinished = `${file}.${process.pid}.new`;
    writePrivateFile(unfinished, text);
    renameSync(unfinished, file);
  });
}

function changing(change: () => void): void {
  const failureOf = (code: string) =>
    new CommandError(
      `The contexts in ${folder()} cannot be changed: ${code}. Make the folder writable for you, or set XDG_CONFIG_HOME to another.`,
    );
  explainErrors(change, failureOf);
}

/** A deployment, and the context that named it. The key of a context is sent only to its own deployment. */
export type Target = { url: URL; context?: Context };

export type TargetOptions = { url?: string; context?: string };

/** Variables that set a deployment or a credential. If one is set, the context in use is ignored. */
const VARIABLES = ["SERVICE_URL", "API_KEY", "OPERATOR_KEY", "OPERATOR_TOKEN"] as const;

/** The variables that are set, so that the context in use is ignored. */
export const variablesBeforeContext = (env: NodeJS.ProcessEnv): string[] => VARIABLES.filter((name) => env[name]);

/** The context that an option or UG_CONTEXT names; `undefined` if none does. */
export const namedContext = ({ context }: TargetOptions, env: NodeJS.ProcessEnv): string | undefined =>
  context ?? (env.UG_CONTEXT || undefined);

/**
 * The deployment of a command: from --url, or --context or UG_CONTEXT, or the variables, or the context in use. No credential is sent to a
 * deployment that another of these sources has named.
 */
export function targetOf(options: TargetOptions, env: NodeJS.ProcessEnv): Target {
  if (options.url !== undefined) {
    if (options.context !== undefined)
      throw new UsageError("Give --context or --url, not both: the key of a context goes to its own deployment alone.");
    return { url: serviceUrl(options.url, env) };
  }
  const name = namedContext(options, env) ?? (variablesBeforeContext(env).length > 0 ? undefined : nameInUse());
  if (name === undefined) return { url: serviceUrl(undefined, env) };
  const context = readContext(name);
  return { url: new URL(context.url), context };
}

/** A deployment as messages name it. */
export const describedTarget = ({ url, context }: Target): string =>
  context === undefined ? url.origin : `${url.origin} (context ${context.name})`;
