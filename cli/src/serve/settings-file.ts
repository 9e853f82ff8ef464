/** The file of `--env-file`, which has the secrets and other settings of a service. */
import { constants } from "node:fs";
import { parseEnv } from "node:util";
import { CommandError } from "../../../common/command-error.ts";
import { SETTING_NAMES } from "../../../common/settings/settings.ts";
import { textIn } from "../support/errors.ts";
import { causeOf } from "../support/file-causes.ts";

/** The variables in a file, and the settings that it has more than once: the last line of each counts. */
export type SettingsFile = { texts: NodeJS.Dict<string>; repeated: string[] };

/**
 * Reads the file, once, because it may be a pipe; `undefined` if there is no such file.
 *
 * @throws CommandError if there may be one that this user cannot read.
 */
export function settingsFileIn(file: string): SettingsFile | undefined {
  const failureOf = (code: string) =>
    new CommandError(
      `The file ${file} cannot be read: ${causeOf(code, file, constants.R_OK)}. Run this as a user who can read it, and make no new secrets: with others, all credentials of the service are invalid.`,
    );
  const text = textIn(file, failureOf)?.replace(/^\ufeff/, "");
  return text === undefined ? undefined : { texts: parseEnv(text), repeated: repeatedIn(text) };
}

/** The settings that begin more than one line. */
function repeatedIn(text: string): string[] {
  const names = [...text.matchAll(/^[ \t]*(?:export[ \t]+)?(\w+)[ \t]*=/gm)].map(([, name]) => name);
  return SETTING_NAMES.filter((name) => names.indexOf(name) !== names.lastIndexOf(name));
}

/** A sentence about the settings that a file has more than once; `undefined` if there are none. */
export const repeatedSettings = (file: string, repeated: string[]): string | undefined =>
  repeated.length === 0
    ? undefined
    : `${file} has ${repeated.join(", ")} more than once, and only the last line of each counts.`;

/** A name without digits and of few characters, which cannot be a secret on a line that is wrong. */
const HARMLESS_NAME = /^[A-Za-z][A-Za-z_]{0,29}$/;

/** The beginning of a sentence about the names that are no settings; `undefined` if there are none. */
export function unknownNames(given: NodeJS.Dict<string>): string | undefined {
  const known: readonly string[] = SETTING_NAMES;
  const unknown = Object.keys(given).filter((name) => !known.includes(name));
  if (unknown.length === 0) return undefined;
  const shown = unknown.filter((name) => HARMLESS_NAME.test(name));
  const names = shown.length < unknown.length ? [...shown, "a name that is not shown"] : shown;
  return `The service has no setting ${names.join(", ")}, and ignores what is set`;
}
