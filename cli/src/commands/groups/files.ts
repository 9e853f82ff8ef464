/** `ug groups export` and `ug groups import`. */
import { once } from "node:events";
import type { Readable } from "node:stream";
import { Option } from "commander";
import { UsageError } from "../../../../common/command-error.ts";
import { CONTENT, GROUP_FIELDS } from "../../../../common/content.ts";
import { action, announce, type Output, serviceCommand, UNASKED } from "../../command.ts";
import { describedTarget } from "../../contexts/context-store.ts";
import { environmentQueryOf } from "../../environment-options.ts";
import { readRenamed } from "../../groups/files/csv-columns.ts";
import type { Plan } from "../../groups/files/dry-run.ts";
import type { Service } from "../../groups/files/group-calls.ts";
import type { ImportSource } from "../../groups/files/source.ts";
import { wholeNumberReader } from "../../option-values.ts";
import { accessToEnvironment, type ServiceOptions, withApiKey } from "../../service-access.ts";
import { onSystemError } from "../../support/errors.ts";
import { given } from "../../support/given.ts";
import { inputFailure, openInput } from "../../support/input-file.ts";
import { escapeInvisible, quoted } from "../../support/printable.ts";
import { groupsOf, withConcurrency } from "./group-command.ts";

/** What a line of an import may give. */
const FIELDS = GROUP_FIELDS.map((field) => CONTENT[field].column).join(", ");

const FORMATS = ["ndjson", "csv"] as const;
type Format = (typeof FORMATS)[number];

type ExportOptions = ServiceOptions & { prefix?: string; format: Format; delimiter: string; bom?: boolean };

export const exportCommand = () =>
  groupsOf("export", "write all active and suspended groups to standard output, without tokens", {
    "ug groups export > groups.ndjson": "all of them, one line of JSON each",
    "ug groups export --prefix shop- | gzip > shops.ndjson.gz": "some of them",
    "ug groups export --format csv > groups.csv": "for a spreadsheet",
    "ug groups export --format csv --delimiter ';' --bom > groups.csv": "for an Excel that expects semicolons",
  })
    .option("--prefix <text>", "only groups whose user_group_id begins with this text")
    .addOption(new Option("--format <format>", "ndjson or csv").choices(FORMATS).default("ndjson"))
    .option("--delimiter <character>", "with csv: the character between cells", ",")
    .option("--bom", "with csv: begin with a byte order mark, so that Excel reads UTF-8")
    .action(
      action(async (options: ExportOptions) => {
        const access = accessToEnvironment(options);
        const { prefix, format, delimiter, bom = false } = options;
        if (!/^[,;\t|]$/.test(delimiter)) throw new UsageError("Give --delimiter as a comma, semicolon, tab or |.");
        const filters = {
          ...(access.credential.kind === "operator" && environmentQueryOf(options)),
          ...given({ user_group_id_prefix: prefix }),
        };
        const { exportGroups } = await import("../../groups/files/export.ts");
        await exportGroups(access, filters, format === "csv" ? { delimiter, bom } : undefined);
        return undefined;
      }),
    );

type ImportOptions = ServiceOptions & {
  concurrency: number;
  fromLine: number;
  update?: boolean;
  dryRun?: boolean;
  format?: Format;
  column?: ReadonlyMap<string, string>;
  skipOtherColumns?: boolean;
};

export const importCommand = () =>
  withConcurrency(
    serviceCommand("import", {
      summary: "create the groups of a file that are missing; change others with --update",
      examples: {
        "ug groups import groups.ndjson --dry-run": "show what it would create, change and leave",
        "ug groups import groups.ndjson": "create missing groups, and count those that differ",
        "ug groups import groups.ndjson --update": "change those that differ too, their state included",
        "ug groups import groups.ndjson --from-line 4711": "continue an import that was stopped",
        "zcat groups.ndjson.gz | ug groups import -": "read standard input",
        'ug groups import crm.csv --column "Record ID=user_group_id" --column "Company=name" --skip-other-columns':
          "the export of a CRM",
      },
      notes:
        `A line is an object with user_group_id and optional ${FIELDS} and state; the lines of an export can be imported as\n` +
        "they are. A CSV has the columns user_group_id, name, state, properties.KEY and mapping.KEY; all values are texts. A group that\n" +
        "somebody else changes during the import is reported as a conflict, and not overwritten. Refused lines are reported with their\n" +
        "numbers. The command takes an API key, in API_KEY.",
    }),
    "calls at a time",
  )
    .argument("<file>", "a CSV, or a file of one JSON object on each line; - is standard input")
    .option(...UNASKED)
    .option("--update", "change existing groups to match their lines")
    .option("--dry-run", "print what it would create, change and leave, and change nothing")
    .addOption(
      new Option("--format <format>", "the format; by default csv if the file's name ends with .csv").choices(FORMATS),
    )
    .option(
      "--column <header=field>",
      "with csv: the field of a column with another header; may be repeated",
      readRenamed,
    )
    .option("--skip-other-columns", "with csv: skip the columns that are no fields of a group")
    .option(
      "--from-line <n>",
      "skip the lines before this one, or the rows of a CSV",
      wholeNumberReader("from-line", Number.MAX_SAFE_INTEGER),
      1,
    )
    .action(
      action(async (options: ImportOptions, file: string) => {
        const access = accessToEnvironment(options);
        withApiKey(access.client);
        const source = await sourceOf(file, options);
        return (options.dryRun ? tryImport : runImport)(access, source, options);
      }),
    );

async function runImport(service: Service, source: ImportSource, options: ImportOptions): Promise<Output> {
  if (options.update) announce(options, "create the groups that are missing, and change those that differ");
  const { importGroups } = await import("../../groups/files/import.ts");
  const { counts, summary } = await importGroups(service, source, options);
  const isWhole = counts.differs + counts.conflicts + counts.refused === 0;
  if (!isWhole) process.exitCode = 1;
  return { body: { success: isWhole ? 1 : 0, ...counts }, text: summary };
}

async function tryImport(service: Service, source: ImportSource, options: ImportOptions): Promise<Output> {
  const { planOf } = await import("../../groups/files/dry-run.ts");
  const plan = await planOf(service, source, options.fromLine);
  const change = options.update ? plan.differing : [];
  const differs = plan.differing.length - change.length;
  const isWhole = differs + plan.refused === 0;
  if (!isWhole) process.exitCode = 1;
  const body = {
    success: isWhole ? 1 : 0,
    dry_run: true,
    create: plan.create,
    change: change.map(({ id, changed }) => ({ provided_id: id, changed })),
    differs,
    leave: plan.same,
    ...(plan.withoutZeros.length > 0 && {
      without_zeros: plan.withoutZeros.map(({ id, existing }) => ({ provided_id: id, existing })),
    }),
    refused: plan.refused,
  };
  return { body, text: textOfPlan(plan, options) };
}

function textOfPlan({ create, differing, same, refused, withoutZeros }: Plan, { update, target }: ImportOptions) {
  const verb = update ? "change" : "differs";
  const counted = update ? `change ${differing.length}, leave ${same}` : `leave ${same}, differs ${differing.length}`;
  return [
    ...create.map((id) => `create   ${quoted(id)}`),
    ...differing.map(({ id, changed }) => `${verb.padEnd(7)}  ${quoted(id)}: ${escapeInvisible(changed.join(", "))}`),
    `At ${describedTarget(target)} this import would: create ${create.length}, ${counted}, refused ${refused}. Nothing was changed.`,
    ...withoutZeros.map(({ id, existing }) => `Has ${quoted(id)} lost zeros? There is a group ${quoted(existing)}.`),
    ...(withoutZeros.length > 0
      ? ["Spreadsheets remove zeros at the beginning of numbers: format the column of ids as text, and fill it again."]
      : []),
    ...(differing.length > 0 && !update ? ["To change the groups that differ, add --update."] : []),
  ].join("\n");
}

async function sourceOf(file: string, options: ImportOptions): Promise<ImportSource> {
  const { format = file.toLowerCase().endsWith(".csv") ? "csv" : "ndjson", column, skipOtherColumns = false } = options;
  if (format === "ndjson" && (column || skipOtherColumns))
    throw new UsageError("--column and --skip-other-columns are for a CSV. Give --format csv, too.");
  const { input, total } = openInput(file, "file to import");
  await refuseForeign(input);
  const { csvSource, ndjsonSource } = await import("../../groups/files/source.ts");
  return format === "csv"
    ? csvSource(input, { renamed: column ?? new Map(), skipsOthers: skipOtherColumns })
    : ndjsonSource(input, total);
}

/** What is no text in UTF-8, by its first bytes in hex. */
const FOREIGN = [
  { begins: /^504b0304/, what: "a workbook, such as of Excel (.xlsx), LibreOffice (.ods) or Numbers" },
  { begins: /^d0cf11e0/, what: "a workbook of an old Excel (.xls)" },
  { begins: /^(?:fffe|feff|00|..00)/, what: "a text in UTF-16" },
];

/** @throws UsageError for a file that a spreadsheet has saved in another form than a CSV in UTF-8 */
async function refuseForeign(input: Readable): Promise<void> {
  await once(input, "readable").catch(onSystemError(inputFailure));
  const head: Buffer | null = input.read();
  if (head === null) return;
  input.unshift(head);
  const found = FOREIGN.find(({ begins }) => begins.test(head.subarray(0, 4).toString("hex")));
  if (!found) return;
  input.destroy();
  throw new UsageError(
    `The file to import is ${found.what}, and no text in UTF-8. Save the sheet as “CSV UTF-8”. Nothing was changed.`,
  );
}
