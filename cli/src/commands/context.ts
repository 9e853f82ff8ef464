/** `ug context`: deployments under short names, each with its key. */
import type { Command } from "commander";
import { UsageError } from "../../../common/command-error.ts";
import { action } from "../command.ts";
import * as store from "../contexts/context-store.ts";
import { type EnvironmentOptions, environmentQueryOf } from "../environment-options.ts";
import { commandGroup, plainCommand } from "../help.ts";
import { credentialIn } from "../service-access.ts";
import { messageOf } from "../support/errors.ts";
import { escapeInvisible } from "../support/printable.ts";
import { serviceUrl } from "../support/service.ts";
import { tableOfItems } from "../support/table.ts";
import { callerOf } from "./whoami.ts";

export const command = (): Command =>
  commandGroup(
    "context",
    {
      summary: "store deployments with their keys, and choose one",
      examples: {
        "ug context add prod --url https://groups.example.com --key-file key.txt": "a deployment and a key for it",
        "ug context use prod": "for commands that name no other",
        "ug groups list --context staging": "another one, once",
      },
      notes:
        "A context is a file with mode 0600 in ~/.config/ug, or in the folder ug of XDG_CONFIG_HOME, with a copy of the key. A command uses its\n" +
        "options first, then --context or UG_CONTEXT, then API_KEY, OPERATOR_KEY, OPERATOR_TOKEN and SERVICE_URL, then the context in use.\n" +
        "The key of a context is sent only to its own deployment.",
    },
    [addCommand(), useCommand(), listCommand(), removeCommand()],
  );

type AddOptions = EnvironmentOptions & { url: string; keyFile: string; replace?: boolean };

const addCommand = () =>
  plainCommand("add", {
    summary: "store a deployment and a key, after a check of the key",
    examples: {
      "ug context add prod --url https://groups.example.com --key-file key.txt": "the key in a file",
      "pass show groups/staging | ug context add staging --url https://staging.example.com --key-file -":
        "from a program",
      "ug context add acme --url https://groups.example.com --key-file key.txt --workspace acme --environment Customer":
        "an operator's key, for the commands on one environment",
    },
    notes:
      "The command stores nothing if the deployment cannot be reached, or refuses the key. The first context is in use at once.",
  })
    .argument("<name>", "the name of the context", store.readContextName)
    .requiredOption("--url <url>", "URL of the service")
    .requiredOption("--key-file <file>", "read the key from this file; - is standard input")
    .option("--workspace <slug>", "with an operator's key: the default workspace of commands")
    .option("--environment <name>", "with an operator's key: Customer, Testing or untagged")
    .option("--replace", "replace the context of this name")
    .action(
      action(async (options: AddOptions, name: string) => {
        const others = store.contextNames();
        if (!options.replace && others.includes(name))
          throw new UsageError(`There is a context ${name} already. Give another name, or --replace.`);
        const context = { name, ...(await checked(options)), ...placeOf(options) };
        store.storeContext(context);
        if (others.length === 0) {
          store.useContext(name);
          noteVariables();
        }
        const isInUse = store.nameInUse() === name;
        const use = isInUse ? "It is in use" : `To use it where nothing else is named: ug context use ${name}`;
        const text = `Stored ${name}: ${context.url}, ${escapeInvisible(context.holder)}. ${use}`;
        return { body: { success: 1, context: { ...shown(context), in_use: isInUse } }, text };
      }),
    );

/** The deployment and the key of a new context. @throws CommandError unless the deployment takes the key. */
async function checked({ url: origin, keyFile }: AddOptions): Promise<Pick<store.Context, "url" | "key" | "holder">> {
  const url = serviceUrl(origin, {});
  const credential = credentialIn(keyFile);
  const { kind, name, role, workspace, environment } = await callerOf(url, credential);
  const holder =
    kind === "operator" ? `operator ${name} (${role})` : `API key ${name} of ${workspace}/${environment ?? "untagged"}`;
  return { url: url.origin, key: credential.text, holder };
}

function placeOf(options: EnvironmentOptions): Pick<store.Context, "workspace" | "environment"> {
  if (options.workspace === undefined && options.environment === undefined) return {};
  return environmentQueryOf(options);
}

const useCommand = () =>
  plainCommand("use", {
    summary: "use a context when neither options nor variables name a deployment",
    examples: {
      "ug context use prod": "from now on",
      "ug context use --none": "none any more",
    },
  })
    .argument("[name]", "the name of the context", store.readContextName)
    .option("--none", "use no context")
    .action(
      action(async (options: { none?: boolean }, name?: string) => {
        if ((name === undefined) !== (options.none === true)) throw new UsageError("Name a context, or give --none.");
        store.useContext(name);
        noteVariables();
        const text = name === undefined ? "No context is in use." : `In use: ${name}, ${store.readContext(name).url}.`;
        return { body: { success: 1, in_use: name ?? null }, text };
      }),
    );

/** Variables hide the context in use, which would be hard to see otherwise. */
function noteVariables(): void {
  const set = store.variablesBeforeContext(process.env);
  if (set.length > 0)
    console.error(`${set.join(" and ")} come before the context in use. To use it, unset them, or give --context.`);
}

const listCommand = () =>
  plainCommand("list", {
    summary: "list the contexts, without their keys",
    examples: { "ug context list": "a table, with an asterisk at the one in use" },
  }).action(
    action(async () => {
      const inUse = store.nameInUse();
      const contexts = store.contextNames().map((name) => ({ ...shownOrProblem(name), in_use: name === inUse }));
      if (inUse !== undefined) noteVariables();
      const rows = contexts.map((each) => ({ ...each, in_use: each.in_use ? "*" : "" }));
      const text =
        rows.length === 0
          ? "There are no contexts. To make one: ug context add NAME --url URL --key-file FILE"
          : tableOfItems(["in_use", "name", "url", "holder", "workspace", "environment"], rows);
      return { body: { success: 1, contexts }, text };
    }),
  );

/** A context, and one that cannot be used with the reason: a list shows what there is. */
function shownOrProblem(name: string): Record<string, unknown> {
  try {
    return shown(store.readContext(name));
  } catch (error) {
    return shown({ name, holder: messageOf(error) });
  }
}

const shown = ({ key: _, ...context }: Partial<store.Context>): Record<string, unknown> => ({ ...EMPTY, ...context });

const EMPTY = { name: null, url: null, holder: null, workspace: null, environment: null };

const removeCommand = () =>
  plainCommand("remove", {
    summary: "remove a context and its copy of the key, which stays valid",
    examples: { "ug context remove staging": "the key itself is revoked with ug keys revoke or ug operators revoke" },
  })
    .argument("<name>", "the name of the context", store.readContextName)
    .action(
      action(async (_, name: string) => {
        store.removeContext(name);
        return { body: { success: 1, removed: name }, text: `Removed ${name}. Its key is valid as before.` };
      }),
    );
