/** `ug keys`: the API keys of an environment. */
import { type Command, Option } from "commander";
import type { ApiKey, Environment, IssuedKey, LocationHint, OperatorClient, Scope } from "../../../client/src/index.ts";
import { CommandError, UsageError } from "../../../common/command-error.ts";
import { tagWord } from "../../../common/environment.ts";
import { LIST_ITEMS_MAX } from "../../../common/limits.ts";
import { announce, type Output, operatorAction, requireYes, serviceCommand } from "../command.ts";
import { environmentName, environmentOf } from "../environment-options.ts";
import { commandGroup } from "../help.ts";
import { endOf, GRACE, issuedOutput, type RollOptions } from "../issued-key.ts";
import { readId, readSeconds } from "../option-values.ts";
import { hasCode, reworded, type ServiceOptions } from "../service-access.ts";
import { given } from "../support/given.ts";
import { escapeInvisible, quoted } from "../support/printable.ts";
import { tableOfItems } from "../support/table.ts";
import { toWire } from "../wire.ts";

const IN_ACME = "--workspace acme --environment Testing";

export const command = (): Command =>
  commandGroup(
    "keys",
    {
      summary: "issue, list, roll and revoke the API keys of an environment",
      examples: {
        [`ug keys issue ${IN_ACME} --name backend --create`]: "the first key creates the environment",
        [`ug keys list ${IN_ACME}`]: "see what is in use",
        [`ug keys roll 3 ${IN_ACME} --grace 1h`]: "replace a key without an interruption",
      },
      notes: "These commands take the key of an operator, in OPERATOR_KEY.",
    },
    [issueCommand(), listCommand(), rollCommand(), revokeCommand()],
  );

const ACCESS = ["read", "write"] as const;

type IssueOptions = ServiceOptions & {
  name: string;
  access?: (typeof ACCESS)[number];
  scopes?: string;
  expiresIn?: number;
  location?: string;
  create?: boolean;
};

const issueCommand = () =>
  serviceCommand("issue", {
    summary: "issue an API key, and print it once",
    examples: {
      [`ug keys issue ${IN_ACME} --name backend`]: "all scopes, no end",
      [`ug keys issue ${IN_ACME} --name report --access read --expires-in 90d`]: "reads, for 90 days",
      [`ug keys issue ${IN_ACME} --name pages --scopes sessions:create`]: "mints viewer sessions alone",
      "ug keys issue --workspace globex --environment Customer --name backend --create": "a new environment",
    },
    notes: "A time is a number and s, m, h or d.",
    inEnvironment: true,
    change: "undoable",
  })
    .requiredOption("--name <name>", "the name of the key in lists and events")
    .addOption(
      new Option("--access <access>", "the rights of the key; by default write, which has all scopes").choices(ACCESS),
    )
    .option("--scopes <scopes>", "only these scopes, separated by commas, in place of --access")
    .option("--expires-in <time>", "the key's lifetime, such as 90d; by default it never expires", readSeconds)
    .option("--location <hint>", "with --create: where to place the environment, such as weur")
    .option("--create", "create the environment if it does not exist")
    .action(
      operatorAction(async (operator: OperatorClient, options: IssueOptions) => {
        const environment = environmentOf(options);
        if (!options.create) await requireEnvironment(operator, environment);
        const { name, access, expiresIn: expiresInSeconds, reason } = options;
        // The service knows which scopes and locations there are, and its refusal lists them.
        const scopes = options.scopes?.split(",") as Scope[] | undefined;
        const location = options.location as LocationHint | undefined;
        const draft = { ...environment, name, ...given({ access, scopes, expiresInSeconds }), location, reason };
        return issuedKey(await operator.issueKey(draft));
      }),
    );

/** Without this check, a mistyped name would create another environment. */
const requireEnvironment = (operator: OperatorClient, environment: Environment) =>
  operator.keyPage({ ...environment, pageSize: 1 }).catch((error: unknown) => {
    const name = quoted(environmentName(environment));
    const sentence = `There is no environment ${name}. Check the names, or create it with --create.`;
    throw reworded(error, "environment_not_found", sentence);
  });

const listCommand = () =>
  serviceCommand("list", {
    summary: "list the keys, revoked and expired ones included, without their text",
    examples: {
      [`ug keys list ${IN_ACME}`]: "a table",
      "ug keys list --all --unused-for 90d": "keys of all environments that nobody has used for 90 days",
      "ug keys list --all --ending-within 14d": "keys to replace soon",
    },
    notes: "With --unused-for or --ending-within, only valid keys are listed; with both, those of which both is true.",
    inEnvironment: true,
  })
    .option("--all", "the keys of every environment")
    .option("--unused-for <time>", "only valid keys that nobody has used for this time, such as 90d", readSeconds)
    .option("--ending-within <time>", "only valid keys that end within this time, such as 14d", readSeconds)
    .action(operatorAction(listKeys));

type ListOptions = ServiceOptions & KeyFilter & { all?: boolean };

async function listKeys(operator: OperatorClient, options: ListOptions): Promise<Output> {
  if (options.all && options.isNamed) throw new UsageError("Give --all, or --workspace and --environment, not both.");
  const isListed = keyFilter(options, Date.now());
  if (!options.all) {
    const keys = (await keysOf(operator, environmentOf(options))).filter(isListed);
    return { body: { success: 1, api_keys: keys.map(toWire) }, text: tableOfKeys(keys) };
  }
  const { keys, restoring, damaged } = await allKeys(operator);
  const listed = keys.filter(isListed);
  if (restoring.length > 0)
    console.error(
      `A backup is being restored into ${escapeInvisible(restoring.join(", "))}, whose keys are not listed.`,
    );
  if (damaged.length > 0) {
    process.exitCode = 1;
    console.error(`The database of ${escapeInvisible(damaged.join(", "))} is damaged: their keys are not listed.`);
  }
  return {
    body: { success: 1, api_keys: listed.map(toWire) },
    text: tableOfKeys(listed, ["workspace", "environment"]),
  };
}

/** The keys of every environment, but for those into which a backup is being restored, and those whose database is damaged. */
async function allKeys(operator: OperatorClient) {
  const keys: ApiKey[] = [];
  const restoring: string[] = [];
  const damaged: string[] = [];
  for await (const environment of operator.environments({ pageSize: LIST_ITEMS_MAX }))
    try {
      keys.push(...(await keysOf(operator, environment)));
    } catch (error) {
      if (hasCode(error, "environment_restoring")) restoring.push(environmentName(environment));
      else if (hasCode(error, "environment_damaged")) damaged.push(environmentName(environment));
      // Otherwise it was erased since it was listed.
      else if (!hasCode(error, "environment_not_found")) throw error;
    }
  return { keys, restoring, damaged };
}

const keysOf = (operator: OperatorClient, environment: Environment): Promise<ApiKey[]> =>
  Array.fromAsync(operator.listKeys({ ...environment, pageSize: LIST_ITEMS_MAX }));

const rollCommand = () =>
  serviceCommand("roll", {
    summary: "issue a key in place of another, which stays valid for the grace",
    examples: {
      [`ug keys roll 3 ${IN_ACME} --grace 1h`]: "the old key works for one more hour",
      [`ug keys roll 3 ${IN_ACME}`]: "the old key ends at once",
    },
    inEnvironment: true,
    change: "undoable",
  })
    .argument("<id>", "the number of the key", readId)
    .option(...GRACE)
    .action(
      operatorAction(async (operator: OperatorClient, options: RollOptions, id: number) => {
        const { grace: graceSeconds, reason } = options;
        const environment = environmentOf(options);
        announce(options, `replace key ${id} of ${environmentName(environment)}, ${endOf(graceSeconds)}`);
        return issuedKey(await operator.rollKey({ ...environment, id, graceSeconds, reason }));
      }),
    );

const revokeCommand = () =>
  serviceCommand("revoke", {
    summary: "revoke a key at once, and the viewer sessions that it has minted",
    examples: {
      [`ug keys revoke 3 ${IN_ACME}`]: "shows which key it is, and changes nothing",
      [`ug keys revoke 3 ${IN_ACME} --yes`]: "revokes it; this has no undo",
    },
    inEnvironment: true,
    change: "final",
  })
    .argument("<id>", "the number of the key", readId)
    .action(
      operatorAction(async (operator: OperatorClient, options: ServiceOptions, id: number) => {
        const environment = environmentOf(options);
        const key = (await keysOf(operator, environment)).find((each) => each.id === id);
        if (!key)
          throw new CommandError("This environment has no such API key. ug keys list shows its keys.", {
            code: "api_key_not_found",
          });
        const what = `key ${id} ${quoted(key.name)} of ${environmentName(environment)}`;
        requireYes(options, `revoke ${what}`, { name: key.name });
        await operator.revokeKey({ ...environment, id, reason: options.reason });
        return { body: { success: 1, api_key: toWire(key) }, text: `Revoked ${what}.` };
      }),
    );

/** The column `access` has the scopes of a key that was issued with scopes. */
const tableOfKeys = (keys: readonly ApiKey[], before: readonly string[] = []): string =>
  tableOfItems(
    [...before, "id", "name", "access", "created_at", "expires_at", "last_used_at", "revoked_at"],
    keys.map((key) => ({
      ...toWire(key),
      environment: tagWord(key.environment),
      access: key.access ?? key.scopes.join(","),
    })),
  );

const issuedKey = ({ apiKey, key }: IssuedKey): Output =>
  issuedOutput(key, { api_key: toWire(apiKey) }, tableOfKeys([apiKey]), `key ${apiKey.id}`);

/** Which valid keys to list: those that nobody has used for this time, and those that end within it; in seconds. */
type KeyFilter = { unusedFor?: number; endingWithin?: number };

/** Whether a key is listed. Without a filter all keys are, revoked and expired ones included. `now` is in milliseconds. */
const keyFilter =
  ({ unusedFor, endingWithin }: KeyFilter, now: number) =>
  ({ createdAt, lastUsedAt, expiresAt, revokedAt }: ApiKey): boolean => {
    if (unusedFor === undefined && endingWithin === undefined) return true;
    // A rolled key is valid until the end of its grace, which `revokedAt` says.
    const ends = [expiresAt, revokedAt].filter((at) => at !== null).map((at) => Date.parse(at));
    const end = Math.min(...ends, Number.POSITIVE_INFINITY);
    if (end <= now) return false;
    const isUnused = unusedFor === undefined || Date.parse(lastUsedAt ?? createdAt) <= now - unusedFor * 1000;
    return isUnused && (endingWithin === undefined || end <= now + endingWithin * 1000);
  };
