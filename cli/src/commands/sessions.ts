/** `ug sessions`: the viewer sessions of an environment. */
import type { Command } from "commander";
import type { EndSessionsInput, EnvironmentClient } from "../../../client/src/index.ts";
import { UsageError } from "../../../common/command-error.ts";
import { environmentAction, requireYes, serviceCommand } from "../command.ts";
import { objectOrNull } from "../groups/content-options.ts";
import { commandGroup } from "../help.ts";
import { collected, readId, readSeconds } from "../option-values.ts";
import { type ServiceOptions, withApiKey } from "../service-access.ts";
import { given } from "../support/given.ts";
import { textInOptionFile } from "../support/option-file.ts";
import { quoted } from "../support/printable.ts";
import { toWire } from "../wire.ts";

export const command = (): Command =>
  commandGroup(
    "sessions",
    {
      summary: "mint viewer sessions, and end them before they expire",
      examples: {
        "ug sessions mint --user-group-id acme": "a session for a page of this group, or to see what it sees",
        "ug sessions end --user-group-id acme --viewer-id ann --yes": "all sessions of one person",
      },
    },
    [mintCommand(), endCommand()],
  );

type MintOptions = {
  userGroupId?: string;
  teamId?: number;
  viewerId?: string;
  viewerProperties?: string;
  origin?: string[];
  expiresIn?: number;
  maxStale?: number;
  includeVariables?: boolean;
};

const mintCommand = () =>
  serviceCommand("mint", {
    summary: "mint a viewer session, and print it once",
    examples: {
      "ug sessions mint --user-group-id acme": "valid for five minutes, on every site",
      "ug sessions mint --user-group-id acme --viewer-id ann --origin https://app.example.com":
        "of a person, for one site",
      'curl $SERVICE_URL/api/viewer -H "Authorization: Bearer $(ug sessions mint --user-group-id acme)"':
        "what it sees",
    },
    notes:
      "Standard output has the session alone; its end is on standard error. The command takes an API key with the scope sessions:create.",
  })
    .option("--user-group-id <id>", "the group whose data the session shows")
    .option("--team-id <number>", "the number of that group, in place of its id", readId)
    .option("--viewer-id <id>", "your own id of the person who views the page")
    .option("--viewer-properties <json>", "what only this person may see")
    .option("--origin <origin>", "a site that may present the session; may be repeated", collected)
    .option("--expires-in <time>", "the session's lifetime, 1m to 1h; 5m by default", readSeconds)
    .option("--max-stale <time>", "accept answers that are this old, 5m at most; by default none", readSeconds)
    .option("--include-variables", "add the variables of the group, for offline verifiers")
    .action(
      environmentAction(async (client: EnvironmentClient, options: MintOptions) => {
        const { userGroupId, teamId, viewerId, origin: origins, expiresIn, maxStale, includeVariables } = options;
        const { viewerProperties: json } = options;
        const viewerProperties =
          json === undefined ? undefined : (objectOrNull("--viewer-properties", json) ?? undefined);
        const { viewerEndedMsAgo, ...session } = await withApiKey(client).mintSession({
          ...groupOf({ userGroupId, teamId }),
          ...given({ viewerId, viewerProperties, origins, includeVariables }),
          ...given({ expiresInSeconds: expiresIn, maxStaleSeconds: maxStale }),
        });
        if (!("json" in options)) console.error(`Valid until ${session.expiresAt}.`);
        return {
          body: { success: 1, session: toWire(session), ...toWire(given({ viewerEndedMsAgo })) },
          text: session.token,
        };
      }),
    );

/** The group that the options name. @throws UsageError unless they name exactly one */
function groupOf({ userGroupId, teamId }: { userGroupId: string | undefined; teamId: number | undefined }) {
  if (userGroupId !== undefined && teamId === undefined) return { userGroupId };
  if (userGroupId === undefined && teamId !== undefined) return { teamId };
  throw new UsageError("Name the group with exactly one of --user-group-id and --team-id.");
}

type EndOptions = {
  userGroupId?: string;
  teamId?: number;
  viewerId?: string;
  sessionFile?: string;
} & ServiceOptions;

const endCommand = () =>
  serviceCommand("end", {
    summary: "end one session, all of a person, or all of a group",
    examples: {
      "ug sessions end --user-group-id acme --viewer-id ann --yes --reason 'has left'": "all sessions of one person",
      "ug sessions end --user-group-id acme --yes": "all sessions of a group",
      "ug sessions end --team-id 12 --yes": "the same, by the group's number",
      "ug sessions end --session-file session.jwt --yes": "one session; - is standard input",
    },
    notes:
      "The group's token stays valid, and sessions that are minted later are not affected. A session that was minted with --max-stale may\n" +
      "get stale answers for that time. The command takes an API key with the scope sessions:create, or an operator.",
    inEnvironment: true,
    change: "final",
  })
    .option("--user-group-id <id>", "the group whose sessions end")
    .option("--team-id <number>", "the same by its number", readId)
    .option("--viewer-id <id>", "only those of this person")
    .option("--session-file <file>", "read the session from this file, because other users can read arguments")
    .action(
      environmentAction(async (client: EnvironmentClient, options: EndOptions) => {
        const what = namedSessions(options);
        requireYes(options, `end ${what}`, { name: options.viewerId ?? options.userGroupId });
        await client.endSessions({ ...targetOf(options), reason: options.reason });
        return { body: { success: 1 }, text: `Ended ${what}.` };
      }),
    );

/** The sessions that end, in words. @throws UsageError unless the options name one session, or exactly one group */
function namedSessions({ userGroupId, teamId, viewerId, sessionFile }: EndOptions): string {
  if (sessionFile !== undefined) {
    if (userGroupId === undefined && teamId === undefined && viewerId === undefined) return "this session";
    throw new UsageError("Give --session-file alone, or name a group and perhaps --viewer-id.");
  }
  const { userGroupId: id } = groupOf({ userGroupId, teamId });
  const person = viewerId === undefined ? "" : `of viewer ${quoted(viewerId)} `;
  return `all sessions ${person}of group ${id === undefined ? teamId : quoted(id)}`;
}

/** The same for the service. The file of a session is read only now. */
function targetOf({ userGroupId, teamId, viewerId, sessionFile }: EndOptions): EndSessionsInput {
  if (sessionFile !== undefined) return { session: textInOptionFile("--session-file", sessionFile) };
  return { ...groupOf({ userGroupId, teamId }), ...given({ viewerId }) };
}
