/** SQL to paste. It works as it is, and names or gives back what it takes from the integrator's other programs. */
import { quoted, sourceSql } from "./callers.ts";
import { FIRST_OWN_OID, type Grant, type Relation, type Routine } from "./catalogue.ts";
import type { Bound } from "./expressions/forms.ts";
import type { Caller } from "./expressions/terms.ts";
import { oneLineOf } from "./setup.ts";
import type { World } from "./world.ts";

/** The types that a guessed column may have, and then the values of a setting that are of these types. */
const TYPED =
  /^(?:(?:smallint|integer|bigint|numeric) -?\d+$|uuid [\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$|(?:text|character varying) )/i;

/** Notes how the policies of a table bind its rows, for the fixes of others. */
export function learn(relation: Relation, bounds: readonly Bound[], { callers, comparisons }: World): void {
  for (const bound of bounds.filter((each) => callers.areSeparatedBy(each))) {
    const found = relation.columns.find(({ number }) => bound.how === "=" && bound.place === `row.${number}`);
    if (found) comparisons.push({ relation: relation.oid, column: found, caller: bound.caller });
  }
}

/** Takes rights away, and gives them back to other roles that had them in the same way. */
export function revoke(grants: readonly Grant[], world: World): string {
  const privileges = [...new Set(grants.map(({ privilege }) => privilege))].join(", ");
  const grantees = [...new Set(grants.map(({ grantee }) => grantee))];
  const targets = [...new Set(grants.map(({ target }) => target.replace(/^ROUTINE /, "")))].join(", ");
  const on = `${privileges} ON ${grants[0]?.class === "function" ? `ROUTINE ${targets}` : targets}`;
  const others = heirsOf(grantees, world);
  const back = others.length > 0 ? ` GRANT ${on} TO ${others.join(", ")};` : "";
  return `REVOKE ${on} FROM ${grantees.join(", ")};${back}`;
}

/** Adds a policy that binds the rows that the queries read. `object` is what a person may judge instead: the table, or a policy. */
export function bind(relation: Relation, world: World, object = relation.object): string {
  const condition = conditionFor(relation, world);
  const kept = keepReadable(relation, world);
  return condition === undefined
    ? `-- Say what a row must be equal to: ${restrict(relation, "own_rows", "<column> = <caller>", world)} If you have judged it: --accept ${object}`
    : `${kept}${restrict(relation, "own_rows", condition, world)}${kept && " -- Nothing else of the dropped policy remains."}`;
}

/** Lets roles read for whom no permissive policy can be judged, so that the fixes drop all: without one they see no row. */
function keepReadable(relation: Relation, { catalogue, forms }: World): string {
  const names = catalogue.roles.flatMap(({ oid, name }) => {
    const own = relation.policies.filter(({ permissive, roles }) => permissive && roles.includes(oid));
    const isLost = own.length > 0 && own.every(({ tree }) => forms.problemIn(tree) !== undefined);
    return isLost && relation.readers.includes(oid) ? [name] : [];
  });
  return names.length > 0 ? `${create(relation, "all_rows", `FOR SELECT TO ${names.join(", ")} USING (true)`)} ` : "";
}

/** Turns on row-level security, and limits the queries alone. @param taken takes the right to read */
export function secure(relation: Relation, taken: string, world: World): string {
  const { object } = relation;
  const condition = conditionFor(relation, world);
  const fix = `ALTER TABLE ${object} ENABLE ROW LEVEL SECURITY; ${create(relation, "all_rows", "USING (true)")}`;
  const secured = condition === undefined ? taken : `${fix} ${restrict(relation, "own_rows", condition, world)}`;
  return `${secured} -- If all customers may read it: --accept ${object}`;
}

/** Adds a policy that names the environment of the settings of a caller. */
export function bindEnvironment(relation: Relation, caller: Caller, world: World): string {
  const condition = environmentOf(caller, world);
  return condition === undefined
    ? `-- If the numbers of this database are its own, and no session of this service: --any-environment. Otherwise: ${restrict(relation, "environment", "<claims> ->> 'aud' = 'workspace/Customer'", world)}`
    : `${restrict(relation, "environment", condition, world)} -- If the numbers of this database are its own: --any-environment`;
}

/** The same function with a body that PostgreSQL reads when it is made, if the text is one query; otherwise takes the right to call it. */
export function replace(routine: Routine, world: World): string {
  const judged = `If you have judged it: --accept "${routine.signature}"`;
  if (routine.oid < FIRST_OWN_OID)
    return `${routine.definer ? `ALTER ROUTINE ${routine.signature} SECURITY INVOKER; ` : ""}-- Make it what it was. ${judged}`;
  const own = world.catalogue.grants.filter((each) => each.class === "function" && each.oid === routine.oid);
  const later = `ALTER DEFAULT PRIVILEGES FOR ROLE ${routine.owner} REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;`;
  const parsed = world.catalogue.version >= 140_000 && !routine.definer ? parsedForm(routine) : undefined;
  const otherwise = own.length > 0 ? ` Or, if no dashboard needs it: ${revoke(own, world)}` : "";
  const isAmbiguous = isReadOtherwise(routine, world);
  if (parsed && !isAmbiguous) return otherwise ? `${parsed} --${otherwise}` : parsed;
  if (own.length === 0 || routine.isUsed || isAmbiguous)
    return `-- Write it, for each type of its arguments, as CREATE FUNCTION … LANGUAGE sql SECURITY INVOKER RETURN …; ${judged}${otherwise}`;
  return `${revoke(own, world)} -- For functions that are made later: ${later} ${judged}`;
}

/** The other roles that have the rights of one of some roles, or of everybody. */
function heirsOf(roles: readonly string[], { catalogue }: World): string[] {
  const isHeir = (inherits: readonly string[]) => ["PUBLIC", ...inherits].some((each) => roles.includes(each));
  return catalogue.others.filter(({ inherits }) => isHeir(inherits)).map(({ name }) => name);
}

/** A policy for the queries' roles, beside what other policies require. It limits the roles that inherit from a reader, too. */
function restrict(relation: Relation, base: string, condition: string, world: World): string {
  const { readers } = relation;
  const names = world.catalogue.roles.filter(({ oid }) => readers.includes(oid)).map(({ name }) => name);
  const heirs = heirsOf(names, world).join(", ");
  const fix = create(relation, base, `AS RESTRICTIVE FOR SELECT TO ${names.join(", ")} USING (${condition})`);
  const limits = ` -- It also limits ${heirs}: before you paste it, revoke the role that they inherit, and grant them the tables.`;
  return heirs ? fix + limits : fix;
}

/** Two findings of a table may have this fix. */
function create(relation: Relation, base: string, rest: string): string {
  const on = `${freeName(relation, base)} ON ${relation.object}`;
  return `DROP POLICY IF EXISTS ${on}; CREATE POLICY ${on} ${rest};`;
}

/** A condition that binds the rows of a table to the caller, if its columns show what to compare. */
function conditionFor(relation: Relation, world: World): string | undefined {
  const columns = relation.columns.filter(({ generated, folds }) => !generated && !folds);
  const found = learnt(relation.oid, columns, world) ?? guessed(columns, world);
  if (!found) return undefined;
  const { caller, column } = found;
  const environment = world.anyEnvironment ? undefined : environmentOf(caller, world);
  const equality = `${column.name} = ${callerSql(caller, column.typeName)}`;
  return environment === undefined ? equality : `${equality} AND ${environment}`;
}

/** A column of a name and type that a policy compares, of the same table first. Each table has an `id` of its own. */
function learnt(oid: number, columns: Relation["columns"], { comparisons }: World) {
  const own = comparisons.filter(({ relation }) => relation === oid);
  const others = comparisons.filter(({ column }) => column.name !== "id");
  return [...own, ...others].flatMap(({ column: { name, type }, caller }) =>
    columns.filter((each) => each.name === name && each.type === type).map((column) => ({ column, caller })),
  )[0];
}

/** The column with the name of what the two callers have set differently, if it can have their values. Another guess could hide a mistake. */
function guessed(columns: Relation["columns"], { callers }: World) {
  const [source] = callers.differences();
  if (!source) return undefined;
  const own = [...source.setting.split("."), ...source.path].at(-1) ?? "";
  const base = own.replaceAll(/^current_|_id$/g, "");
  const names = [own, base, `${base}_id`, `${base}_uuid`];
  const [column] = names.flatMap((name) => columns.filter((each) => each.name.replaceAll('"', "") === name));
  const values = callers.valuesOf([source]);
  const fits = values.every((value) => value !== undefined && TYPED.test(`${column?.typeName} ${value}`));
  return column && fits ? { column, caller: [source] } : undefined;
}

function environmentOf(caller: Caller, { callers }: World): string | undefined {
  const conditions = [...new Set(caller.map(({ setting }) => setting))].map((setting) => {
    const environment = callers.environmentIn(setting);
    return environment && `${sourceSql({ setting, path: ["aud"] })} = ${quoted(environment)}`;
  });
  return conditions.includes(undefined) ? undefined : conditions.join(" AND ");
}

/** A name that no policy of a table has. */
function freeName({ policyNames }: Relation, base: string): string {
  let name = base;
  for (let count = 2; policyNames.includes(name); count += 1) name = `${base}_${count}`;
  return name;
}

/** SQL for a caller as a value of a type. */
function callerSql(caller: Caller, type: string): string {
  const [first = "NULL", ...rest] = caller.map(sourceSql);
  const value = rest.length > 0 ? `coalesce(${[first, ...rest].join(", ")})` : first;
  return /^(?:text|character varying)$/.test(type) ? value : `(${value})::${type}`;
}

/** Whether the text of a function may mean something else where it is pasted: escapes, types that a call chooses, the path of a login. */
const isReadOtherwise = ({ source, signature, settings }: Routine, { catalogue }: World): boolean =>
  source.includes("\\") ||
  /\bany(?:element|array|nonarray|enum|range|multirange|compatible)/.test(signature) ||
  (!settings.some((each) => each.startsWith("search_path=")) &&
    catalogue.roleSettings.some(({ role, name }) => role !== null && name === "search_path"));

/** A function of SQL, or one of PL/pgSQL that only returns, with a body that is parsed; in one line, as all fixes are. */
function parsedForm({ language, definition, source, tree, settings }: Routine): string | undefined {
  const header = oneLineOf(definition?.split(/\nAS \$/)[0] ?? "");
  const body = oneLineOf(source)?.replace(/;$/, "") ?? "";
  const [, isRows, returned] = /^begin\s+return\s+(query\s+)?(?!next\b)([^;]+);\s*end$/i.exec(body) ?? [];
  // PL/pgSQL casts what it returns, and takes a query without its SELECT. `character` would cut.
  const [, type] = /\n RETURNS (?!(?:character|bit)\n)(.+)\n/.exec(definition ?? "") ?? [];
  const value =
    returned && `SELECT (${/\bfrom\b/i.test(returned) ? "SELECT " : ""}${returned})${type ? `::${type}` : ""}`;
  const query = language === "plpgsql" ? (isRows ? returned : value) : body;
  const isQuery = query !== undefined && /^(?:select|with)\b[^;]*$/i.test(query) && !/\$\w*\$/.test(query);
  if (!header || tree !== null || !isQuery || !["sql", "plpgsql"].includes(language)) return undefined;
  const made = `${header.replace(/\bLANGUAGE plpgsql\b/, "LANGUAGE sql")} BEGIN ATOMIC ${query}; END;`;
  const path = settings.find((each) => each.startsWith("search_path="))?.slice("search_path=".length);
  // PostgreSQL reads the names of such a body when it is made, with the path of the role that makes it.
  return path === undefined
    ? made
    : `BEGIN; SELECT pg_catalog.set_config('search_path', ${quoted(path)}, true); ${made} COMMIT;`;
}
