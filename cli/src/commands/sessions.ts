/** `ug sessions`: the viewer sessions of an environment. */

import { readFileSync } from "node:fs";
import type { Command } from "commander";
import type { EnvironmentClient } from "../../../client/src/index.ts";
import { UsageError } from "../../../common/command-error.ts";
import {
  commandGroup,
  environmentAction,
  type ReasonOptions,
  requireYes,
  serviceCommand,
  withEnvironment,
  withReason,
} from "../command.ts";
import { given } from "../support/given.ts";
import { systemErrorCode } from "../support/output.ts";
import { quoted } from "../support/printable.ts";

/** `ug sessions` and the command below it. */
export const sessionsCommand = (): Command =>
  commandGroup(
    "sessions",
    {
      summary: "end viewer sessions before their time",
      examples: [["ug sessions end --user-group-id acme --viewer-id ann --yes", "all sessions of one person"]],
    },
    [endCommand()],
  );

type EndOptions = { userGroupId?: string; viewerId?: string; sessionFile?: string; yes?: boolean } & ReasonOptions;

const endCommand = () =>
  withReason(
    withEnvironment(
      serviceCommand("end", {
        summary: "end one session, those of a person, or all of a group",
        examples: [
          [
            "ug sessions end --user-group-id acme --viewer-id ann --yes --reason 'has left'",
            "all sessions of one person",
          ],
          ["ug sessions end --user-group-id acme --yes", "all sessions of a group"],
          ["ug sessions end --session-file session.jwt --yes", "one session; - is standard input"],
        ],
        notes:
          "The group's token goes on working, and sessions that are minted later are not affected. A session that was minted with\n" +
          "max_stale_seconds may answer its viewer for so long. The command takes an API key with the scope sessions:create, or an operator.",
      }),
    ),
  )
    .option("--user-group-id <id>", "the group whose sessions end")
    .option("--viewer-id <id>", "only those of this person")
    .option("--session-file <file>", "the file that holds the session: other users can read arguments")
    .option("--yes", "confirm; without it, nothing is changed")
    .action(
      environmentAction(async (client: EnvironmentClient, options: EndOptions) => {
        const { userGroupId, viewerId, sessionFile, reason } = options;
        const namesOneTarget = sessionFile === undefined ? userGroupId !== undefined : !(userGroupId ?? viewerId);
        if (!namesOneTarget) throw new UsageError("Give --session-file, or --user-group-id and perhaps --viewer-id.");
        const ofGroup = `of group ${quoted(userGroupId ?? "")}`;
        const ofPerson = viewerId === undefined ? ofGroup : `of viewer ${quoted(viewerId)} ${ofGroup}`;
        const what = sessionFile === undefined ? `all sessions ${ofPerson}` : "this session";
        requireYes(options, `end ${what}`);
        const session = sessionFile === undefined ? undefined : readSession(sessionFile);
        await client.endSessions(
          session === undefined
            ? { userGroupId: userGroupId ?? "", ...given({ viewerId }), reason }
            : { session, reason },
        );
        return { body: { success: 1 }, text: `Ended ${what}.` };
      }),
    );

function readSession(file: string): string {
  try {
    return readFileSync(file === "-" ? 0 : file, "utf8").trim();
  } catch (error) {
    throw new UsageError(`The file of --session-file cannot be read: ${systemErrorCode(error)}.`);
  }
}
