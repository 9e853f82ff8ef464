/** `ug log`: the lines of the service's log that answer a question. */
import { pipeline } from "node:stream/promises";
import { type Command, Option } from "commander";
import { attempt } from "../../../common/attempt.ts";
import { UsageError } from "../../../common/command-error.ts";
import { millisecondsFrom } from "../../../common/rfc-3339.ts";
import { action } from "../command.ts";
import { type EnvironmentOptions, environmentOf } from "../environment-options.ts";
import { plainCommand } from "../help.ts";
import { collected, itemNumber, reader, readId, timeReader } from "../option-values.ts";
import { onSystemError } from "../support/errors.ts";
import { given } from "../support/given.ts";
import { openInput } from "../support/input-file.ts";
import { linesOf } from "../support/lines.ts";
import { OutputError } from "../support/output.ts";
import { escapeInvisible, escapeJson } from "../support/printable.ts";

type Options = EnvironmentOptions & {
  all?: boolean;
  key?: number;
  group?: number;
  operator?: number | "bootstrap";
  since?: Date;
  until?: Date;
  where?: string[];
  fields?: string[];
  json?: boolean;
};

/** A line of the log. Its fields are texts and numbers; what is absent in a line is `null` or missing. */
type Entry = Record<string, unknown>;

export const command = (): Command =>
  plainCommand("log", {
    summary: "search the log of the service by environment, key, group, operator and time",
    examples: {
      "ug log service.log --where 'status=5*'": "what failed",
      "journalctl -u user-group-service -o cat --since -1d | ug log --where level=error":
        "the errors of a box of the last day",
      "ug log service.log --workspace acme --environment Customer --key 3": "the calls of one key, and those about it",
      "ug log service.log --workspace acme --environment Customer --group 7 --since 2h --where 'path=/api/viewer*'":
        "what the pages of one customer got",
      "ug log service.log --all --operator 3 --fields path,status,client | sort | uniq -c":
        "what an operator did, from where",
      "ug log service.log --where level=error --fields time,problem": "what the operator has to do",
    },
    notes:
      "The lines come from standard input without a file. Each is printed with its fields by their names; --json\n" +
      "prints it as it is. Numbers of keys and groups are those of one environment, so --key and --group need it. What is no\n" +
      "line of the log is left out, and counted on standard error.",
  })
    .argument("[file]", "the log; - is standard input", "-")
    .addOption(new Option("--workspace <slug>", "only calls of environments of this workspace").env("UG_WORKSPACE"))
    .addOption(
      new Option("--environment <name>", "with --workspace: Customer, Testing or untagged").env("UG_ENVIRONMENT"),
    )
    .option("--all", "the lines of all environments, whatever the variables name")
    .option("--key <number>", "only calls of this API key, and those that issued, rolled or revoked it", readId)
    .option(
      "--group <number>",
      "only calls of viewers of this group, and those that changed it or minted for it",
      readGroup,
    )
    .option("--operator <number>", "only calls of this operator, and those about it; or bootstrap", readOperator)
    .option(
      "--since <time>",
      "only lines from this time, date or age on, such as 2026-01-31T09:00:00Z or 2h",
      timeReader("since"),
    )
    .option("--until <time>", "only lines before this time", timeReader("until"))
    .option(
      "--where <field=value>",
      "only lines with this value in a field; a * at its end stands for any rest; may be repeated",
      collected,
    )
    .option("--fields <names>", "print these fields, separated by commas", (text: string) => text.split(","))
    .action(action(printLines));

const readGroup = reader(
  itemNumber,
  "Give --group as the number of the group: the log has no ids. ug groups show ID shows the number.",
);

const readOperator = reader(
  (text) => (text === "bootstrap" ? text : itemNumber(text)),
  "Give --operator as the number that ug operators list shows, or as bootstrap.",
);

async function printLines(options: Options, file: string): Promise<undefined> {
  const matches = filterOf(options);
  if (file === "-" && process.stdin.isTTY)
    throw new UsageError("Give the file of the log, or let a program write it to ug log.");
  const { input } = openInput(file, "log");
  let foreign = 0;
  const texts = async function* () {
    for await (const { bytes } of linesOf(input)) {
      const text = bytes?.toString() ?? FOREIGN;
      const entry = entryIn(text);
      if (entry && matches(entry))
        yield `${options.json ? escapeJson(text.slice(text.indexOf("{")).trim()) : textOf(entry, options)}\n`;
      if (!entry && text.trim() !== "") foreign += 1;
    }
  };
  await pipeline(texts, process.stdout, { end: false }).catch(onSystemError((code) => new OutputError(code)));
  if (foreign > 0) console.error(`Left out: ${foreign} lines that are not of the service's log.`);
}

/** In place of a line that is too long. */
const FOREIGN = "-";

/** The JSON of a line, also after what a program has written before it, such as a time. `undefined` if it is no line of the log. */
function entryIn(text: string): Entry | undefined {
  const entry: unknown = attempt(() => JSON.parse(text.slice(text.indexOf("{"))));
  const isEntry =
    typeof entry === "object" && entry !== null && Object.hasOwn(entry, "time") && Object.hasOwn(entry, "level");
  return isEntry ? (entry as Entry) : undefined;
}

/** @throws UsageError for filters that would mix the keys or groups of several environments */
function filterOf({ all, workspace, environment, key, group, operator, since, until, where = [] }: Options) {
  const place: EnvironmentOptions = all ? {} : given({ workspace, environment });
  const isNumbered = key !== undefined || group !== undefined;
  if (isNumbered && (place.workspace === undefined || place.environment === undefined))
    throw new UsageError(
      "Numbers of keys and groups are those of one environment: give --workspace and --environment, too.",
    );
  if (since && until && since >= until) throw new UsageError("Give --since as a time before that of --until.");
  const tag = place.environment === undefined ? undefined : environmentOf(place).environment;
  const conditions = where.map(conditionOf);
  return (entry: Entry): boolean => {
    const time = millisecondsFrom(String(entry.time));
    return (
      (place.workspace === undefined || entry.workspace === place.workspace) &&
      (tag === undefined || (entry.environment ?? null) === tag) &&
      (key === undefined || entry.key_id === key || entry.subject_key_id === key) &&
      (group === undefined || entry.team_id === group) &&
      (operator === undefined || isOperator(entry, operator)) &&
      !(since && !(time >= since.getTime())) &&
      !(until && !(time < until.getTime())) &&
      conditions.every((holds) => holds(entry))
    );
  };
}

/** The bootstrap token has no number, and an operator of its name has one. */
const isOperator = (entry: Entry, operator: number | "bootstrap"): boolean =>
  operator === "bootstrap"
    ? entry.operator === operator && (entry.operator_id ?? null) === null
    : entry.operator_id === operator || entry.subject_operator_id === operator;

function conditionOf(text: string): (entry: Entry) => boolean {
  const [, field = "", value = ""] = /^(\w+)=(.*)$/s.exec(text) ?? [];
  if (field === "") throw new UsageError("Give --where as FIELD=VALUE, such as status=503 or 'path=/api/viewer*'.");
  return (entry) => {
    const found = fieldOf(entry, field);
    return value.endsWith("*") ? found.startsWith(value.slice(0, -1)) : found === value;
  };
}

const MISSING = "-";

function fieldOf(entry: Entry, field: string): string {
  const value = entry[field];
  return typeof value === "string" || typeof value === "number" ? String(value) : MISSING;
}

function textOf(entry: Entry, { fields }: Options): string {
  const values = fields ? fields.map((field) => fieldOf(entry, field)) : summaryOf(entry);
  return values.map(escapeInvisible).join("  ");
}

/** The fields without their names that begin a line. Of the others, each has its name, for --where and --fields. */
const FIRST = ["time", "status", "method", "path"];

const summaryOf = (entry: Entry): string[] => [
  ...FIRST.map((field) => fieldOf(entry, field)).filter((value) => value !== MISSING),
  ...Object.keys(entry)
    .filter((field) => !FIRST.includes(field))
    .map((field) => `${field}=${fieldOf(entry, field)}`),
];
