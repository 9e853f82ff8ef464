/** `ug why`: why a credential is refused, or a group shows nothing. */
import type { Command } from "commander";
import type {
  Actor,
  CredentialReason,
  EnvironmentClient,
  ExplainedCredential,
  ListedGroup,
  OperatorClient,
} from "../../../client/src/index.ts";
import { UsageError } from "../../../common/command-error.ts";
import { environmentAction, type Output, operatorAction, serviceCommand } from "../command.ts";
import { findAny, groupNameOf } from "../groups/find-group.ts";
import { described, toWireGroup } from "../groups/task.ts";
import type { ServiceOptions } from "../service-access.ts";
import { explainErrors } from "../support/errors.ts";
import { given } from "../support/given.ts";
import { readStandardInput } from "../support/option-file.ts";
import { escapeInvisible, quoted } from "../support/printable.ts";

type WhyOptions = { id?: string; audience?: string; origin?: string } & ServiceOptions;

export const command = (): Command =>
  serviceCommand("why", {
    summary: "explain why a credential is refused, or a group shows nothing",
    examples: {
      "ug why < session.jwt": "all reasons why this session, token or key is refused",
      "ug why --audience acme/Customer --origin https://app.example.com < session.jwt": "for this page and server",
      "ug why acme": "whether the group is suspended or deleted, by whom, and when it was last viewed",
    },
    notes:
      "Without a group, the credential comes from standard input, and the command takes the key of an operator. It is no view and no use of\n" +
      "the credential. Exit code 1 means that there is a reason, and 0 that there is none.",
    inEnvironment: true,
  })
    .argument("[group]", "the number of the group (team_id), or else its user_group_id")
    .option("--id <id>", "the user_group_id of the group, if it has only digits")
    .option("--audience <environment>", "the environment that the credential should be of, such as acme/Customer")
    .option("--origin <origin>", "the origin of the page that presents it")
    .action(async function (this: Command) {
      const [group] = this.processedArgs as [string | undefined];
      const { id, audience, origin } = this.opts<WhyOptions>();
      const isGroup = group !== undefined || id !== undefined;
      if (isGroup && (audience ?? origin) !== undefined)
        throw new UsageError("--audience and --origin are about a credential: leave them out, or leave out the group.");
      await (isGroup ? environmentAction(whyGroup) : operatorAction(whyCredential)).call(this);
    });

async function whyCredential(client: OperatorClient, options: WhyOptions): Promise<Output> {
  const { audience, origin } = options;
  const explained = await client.explainCredential({
    credential: readCredential(options),
    ...given({ audience, origin }),
  });
  if (!explained.valid) process.exitCode = 1;
  return { body: { success: 1, credential: explained }, text: textOf(explained) };
}

/** The credential on standard input, also after the name of its header. */
function readCredential({ keyFile }: ServiceOptions): string {
  if (keyFile === "-")
    throw new UsageError(
      "Standard input has the credential to explain: give your own key in a file or in OPERATOR_KEY.",
    );
  if (process.stdin.isTTY) console.error("Paste the credential, then press Enter and Ctrl-D.");
  const text = explainErrors(readStandardInput, (code) => new UsageError(`Standard input cannot be read: ${code}.`))
    .trim()
    .replace(/^(?:authorization: *)?(?:(?:token|bearer) +)?/i, "");
  if (text === "") throw new UsageError("Give the credential on standard input, or name a group.");
  return text;
}

const KINDS: Record<string, string> = {
  api_key: "API key",
  operator: "Operator",
  user_group_token: "Token of group",
  viewer_session: "Viewer session of group",
  unknown: "Unknown credential",
};

function textOf({ kind, number, audience, valid, reasons }: ExplainedCredential): string {
  const named = number === null ? "" : ` ${number}`;
  const where = audience === null ? "" : ` in ${audience}`;
  const title = escapeInvisible(`${KINDS[kind] ?? kind}${named}${where}`);
  return valid
    ? `${title}: valid. Nothing refuses it.`
    : [`${title}: refused.`, ...reasons.map(reasonText)].join("\n\n");
}

const reasonText = ({ code, message, since, by }: CredentialReason): string =>
  [`${code}${sinceText(since, by)}`, `  ${message}`].map(escapeInvisible).join("\n");

const sinceText = (since: string | null, by: Actor | null | undefined): string =>
  `${since === null ? "" : `, since ${since}`}${by ? `, by ${by.kind} ${by.id === null ? "" : `${by.id}, `}${quoted(by.name)}` : ""}`;

async function whyGroup(client: EnvironmentClient, { id }: WhyOptions, name?: string): Promise<Output> {
  const found = await findAny(client, groupNameOf(name, id));
  // Only the call by number returns who has suspended or deleted the group.
  const group = await findAny(client, { teamId: found.teamId });
  if (group.state !== "active") process.exitCode = 1;
  return { body: { success: 1, user_group: toWireGroup(group) }, text: stateText(group) };
}

/** What a group is, for a person. `suspendedBy` and `deletedBy` are there for callers who may read events. */
function stateText(group: ListedGroup & { suspendedBy?: Actor | null; deletedBy?: Actor | null }): string {
  const { state, suspendedAt, suspendedReason, deletedAt, purgeAt, lastViewedOn } = group;
  const because = suspendedReason ? `, because of ${quoted(suspendedReason)}` : "";
  const suspended = `Suspended${sinceText(suspendedAt ?? null, group.suspendedBy)}${because}: its viewers are refused.`;
  const deleted = `Deleted${sinceText(deletedAt ?? null, group.deletedBy)}: its viewers are refused. It can be restored until ${purgeAt}.`;
  return [
    `${described(group).replace("group", "Group")}: ${state}.`,
    ...(deletedAt ? [deleted] : []),
    ...(suspendedAt ? [suspended] : []),
    lastViewedOn === null ? "It was never viewed." : `It was last viewed on ${lastViewedOn}.`,
  ]
    .map(escapeInvisible)
    .join("\n");
}
