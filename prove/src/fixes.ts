/** SQL to paste. It works as it is, and names or gives back what it takes from the integrator's other programs. */
import { type Callers, sourceSql } from "./callers.ts";
import { type Catalogue, FIRST_OWN_OID, type Grant, type Relation, type Routine } from "./catalogue.ts";
import { identifier } from "./database.ts";
import type { Bound } from "./expressions/forms.ts";
import type { Caller, Source } from "./expressions/terms.ts";
import { oneLineOf } from "./setup.ts";

/** Names that columns of customers and people have. The first that a table has is taken. */
const NAMES = [
  ...["customer", "tenant", "team", "account", "organization", "organisation", "org", "company", "workspace", "client"],
  ...["user_group", "group", "owner", "user", "person", "store"],
];

/** A column that an exact policy compares with a caller. */
type Comparison = { relation: number; column: string; type: number; caller: Caller };

export class Fixes {
  readonly #catalogue: Catalogue;
  readonly #callers: Callers;
  readonly #anyEnvironment: boolean;
  readonly #comparisons: Comparison[] = [];

  constructor(catalogue: Catalogue, { callers, anyEnvironment }: { callers: Callers; anyEnvironment: boolean }) {
    this.#catalogue = catalogue;
    this.#callers = callers;
    this.#anyEnvironment = anyEnvironment;
  }

  /** Notes how the policies of a table bind its rows, for the fixes of others. */
  learn(relation: Relation, bounds: Iterable<Bound>): void {
    for (const { column, caller, isList } of bounds) {
      const found = relation.columns.find(({ number }) => number === column);
      if (found && this.#callers.areSeparatedBy({ caller, isList }))
        this.#comparisons.push({ relation: relation.oid, column: found.name, type: found.type, caller });
    }
  }

  /** Takes rights away, and gives them back to other roles that had them in the same way. */
  revoke(grants: readonly Grant[]): string {
    const privileges = [...new Set(grants.map(({ privilege }) => privilege))].join(", ");
    const grantees = [...new Set(grants.map(({ grantee }) => grantee))];
    const targets = [...new Set(grants.map(({ target }) => target.replace(/^ROUTINE /, "")))].join(", ");
    const on = `${privileges} ON ${grants[0]?.class === "function" ? `ROUTINE ${targets}` : targets}`;
    const others = this.#catalogue.others
      .filter(({ inherits }) => grantees.some((each) => each === "PUBLIC" || inherits.map(identifier).includes(each)))
      .map(({ name }) => identifier(name));
    const back = others.length > 0 ? ` GRANT ${on} TO ${others.join(", ")};` : "";
    return `REVOKE ${on} FROM ${grantees.join(", ")};${back}`;
  }

  /** Adds a policy that binds the rows that the queries read. `object` is what a person may judge instead: the table, or a policy. */
  bind(relation: Relation, object = relation.object): string {
    const condition = this.#conditionFor(relation);
    const policy = `AS RESTRICTIVE FOR SELECT TO ${this.#readersOf(relation)} USING`;
    return condition === undefined
      ? `-- Say what a row must be equal to: CREATE POLICY own_rows ON ${relation.object} ${policy} (<column> = <caller>); If you have judged it: --accept ${object}`
      : `${this.#newPolicy(relation, "own_rows", `${policy} (${condition})`)}${this.#heirsOf(relation)}`;
  }

  /** Turns on row-level security, with a policy for the queries and one for the other roles that have rights. */
  secure(relation: Relation): string {
    const condition = this.#conditionFor(relation);
    const grants = this.#grantsOn(relation);
    if (condition === undefined)
      return `${this.revoke(grants.filter(({ privilege }) => privilege === "SELECT"))} -- If all customers may read it: --accept ${relation.object}`;
    const others = this.#catalogue.others
      .filter(({ name }) => name !== relation.owner)
      .map(({ name }) => identifier(name));
    const kept =
      others.length > 0
        ? ` ${this.#newPolicy(relation, "other_roles", `TO ${others.join(", ")} USING (true) WITH CHECK (true)`)}`
        : "";
    const own = this.#newPolicy(
      relation,
      "own_rows",
      `FOR SELECT TO ${this.#readersOf(relation)} USING (${condition})`,
    );
    return `ALTER TABLE ${relation.object} ENABLE ROW LEVEL SECURITY; ${own}${kept} -- If all customers may read it: --accept ${relation.object}`;
  }

  /** Adds a policy that names the environment of the settings of a caller. */
  bindEnvironment(relation: Relation, caller: Caller): string {
    const condition = this.#environmentOf(caller);
    const rest = `AS RESTRICTIVE FOR SELECT TO ${this.#readersOf(relation)} USING`;
    return condition === undefined
      ? `-- If the numbers of this database are its own, and no session of this service: --any-environment. Otherwise: CREATE POLICY environment ON ${relation.object} ${rest} (<claims> ->> 'aud' = 'workspace/Customer');`
      : `${this.#newPolicy(relation, "environment", `${rest} (${condition})`)} -- If the numbers of this database are its own: --any-environment${this.#heirsOf(relation).replace(" --", ".")}`;
  }

  /** The same function with a body that PostgreSQL reads when it is made, if the text is one query; otherwise takes the right to call it. */
  routine(routine: Routine, grants: readonly Grant[]): string {
    const judged = `If you have judged it: --accept "${routine.signature}"`;
    if (routine.oid < FIRST_OWN_OID)
      return `${routine.definer ? `ALTER ROUTINE ${routine.signature} SECURITY INVOKER; ` : ""}-- Make it what it was. ${judged}`;
    const own = grants.filter((each) => each.class === "function" && each.oid === routine.oid);
    const later = `ALTER DEFAULT PRIVILEGES FOR ROLE ${identifier(routine.owner)} REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;`;
    const parsed = this.#catalogue.version >= 140_000 && !routine.definer ? parsedForm(routine) : undefined;
    if (parsed) return own.length > 0 ? `${parsed} -- Or, if no dashboard needs it: ${this.revoke(own)}` : parsed;
    if (own.length === 0 || routine.isUsed)
      return `-- Write it as CREATE FUNCTION … LANGUAGE sql SECURITY INVOKER RETURN …; ${judged}`;
    return `${this.revoke(own)} -- For functions that are made later: ${later} ${judged}`;
  }

  #grantsOn({ oid }: Relation): Grant[] {
    return this.#catalogue.grants.filter((each) => each.class === "relation" && each.oid === oid);
  }

  /** A restrictive policy limits the roles that inherit from a reader, too. */
  #heirsOf(relation: Relation): string {
    const readers = this.#readersOf(relation).split(", ");
    const heirs = this.#catalogue.others.filter(({ inherits }) =>
      inherits.some((each) => readers.includes(identifier(each))),
    );
    return heirs.length === 0
      ? ""
      : ` -- It also limits ${heirs.map(({ name }) => identifier(name)).join(", ")}: before you paste it, revoke the role that they inherit, and grant them the tables.`;
  }

  #readersOf({ readers }: Relation): string {
    const names = this.#catalogue.roles.filter(({ oid }) => readers.includes(oid)).map(({ name }) => identifier(name));
    return names.join(", ");
  }

  #newPolicy(relation: Relation, base: string, rest: string): string {
    const free = (count: number): string => {
      const name = count === 1 ? base : `${base}_${count}`;
      return relation.policyNames.includes(name) ? free(count + 1) : name;
    };
    const name = free(1);
    // Two findings of a table may have this fix.
    return `DROP POLICY IF EXISTS ${name} ON ${relation.object}; CREATE POLICY ${name} ON ${relation.object} ${rest};`;
  }

  /** A condition that binds the rows of a table to the caller, if its columns show what to compare. */
  #conditionFor(relation: Relation): string | undefined {
    const columns = relation.columns.filter(({ generated, folds }) => !generated && !folds);
    const known = this.#comparisons
      .toSorted((one, other) => Number(other.relation === relation.oid) - Number(one.relation === relation.oid))
      .find(({ column, type }) => columns.some((each) => each.name === column && each.type === type));
    const source = this.#callers.differences()[0];
    const caller = known?.caller ?? (source && [source]);
    const column = columns.find(({ name }) => name === (known?.column ?? (source && guess(columns, source))));
    if (!caller || !column || (!known && !this.#fits(caller, column.typeName))) return undefined;
    const environment = this.#anyEnvironment ? undefined : this.#environmentOf(caller);
    const equality = `${identifier(column.name)} = ${callerSql(caller, column.typeName)}`;
    return environment === undefined ? equality : `${equality} AND ${environment}`;
  }

  /** Whether the values of both callers look like values of a type. */
  #fits(caller: Caller, type: string): boolean {
    const forms = [
      { types: /^(?:smallint|integer|bigint|numeric)$/, form: /^-?\d+$/ },
      { types: /^uuid$/, form: /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i },
      { types: /^(?:text|character varying)$/, form: /^/ },
    ];
    const form = forms.find(({ types }) => types.test(type))?.form;
    return this.#callers.valuesOf(caller).every((value) => value !== undefined && form?.test(value) === true);
  }

  #environmentOf(caller: Caller): string | undefined {
    const conditions = [...new Set(caller.map(({ setting }) => setting))].map((setting) => {
      const environment = this.#callers.environmentIn(setting);
      return environment === undefined
        ? undefined
        : `${sourceSql({ setting, path: ["aud"] })} = '${environment.replaceAll("'", "''")}'`;
    });
    return conditions.every((each) => each !== undefined) ? conditions.join(" AND ") : undefined;
  }
}

/** The column whose name says that it has what two callers have set differently. */
function guess(columns: Relation["columns"], { setting, path }: Source): string | undefined {
  const own = [...setting.split("."), ...path].at(-1) ?? "";
  return [own, own.replace(/_id$/, ""), ...NAMES]
    .flatMap((name) => [name, `${name}_id`, `${name}_uuid`])
    .find((name) => columns.some((each) => each.name === name));
}

/** SQL for a caller as a value of a type. */
function callerSql(caller: Caller, type: string): string {
  const [first = "NULL", ...rest] = caller.map(sourceSql);
  const value = rest.length > 0 ? `coalesce(${[first, ...rest].join(", ")})` : first;
  return /^(?:text|character varying)$/.test(type) ? value : `(${value})::${type}`;
}

/** A function of SQL, or one of PL/pgSQL that only returns, with a body that is parsed; in one line, as all fixes are. */
function parsedForm({ language, definition, source, tree, settings }: Routine): string | undefined {
  const header = oneLineOf(definition?.split(/\nAS \$/)[0] ?? "");
  const body = oneLineOf(source)?.replace(/;$/, "") ?? "";
  const [, isRows, returned] = /^begin\s+return\s+(query\s+)?(?!next\b)([^;]+);\s*end$/i.exec(body) ?? [];
  const query = language === "plpgsql" ? returned && (isRows ? returned : `SELECT ${returned}`) : body;
  const isQuery = query !== undefined && /^(?:select|with)\b[^;]*$/i.test(query) && !/\$\w*\$/.test(query);
  if (!header || tree !== null || !isQuery || !["sql", "plpgsql"].includes(language)) return undefined;
  const made = `${header.replace(/\bLANGUAGE plpgsql\b/, "LANGUAGE sql")} BEGIN ATOMIC ${query}; END;`;
  const path = settings.find((each) => each.startsWith("search_path="))?.slice("search_path=".length);
  // PostgreSQL reads the names of such a body when it is made, with the path of the role that makes it.
  return path === undefined
    ? made
    : `BEGIN; SELECT pg_catalog.set_config('search_path', '${path.replaceAll("'", "''")}', true); ${made} COMMIT;`;
}
