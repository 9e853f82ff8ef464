/** Finds rights with which queries reach rows without naming their table. */
import { type Catalogue, type ForeignKey, qualified, type Relation, type Right } from "./catalogue.ts";
import { identifier } from "./database.ts";
import { type Findings, joined, listed, type Mistake } from "./finding.ts";
import type { Policies } from "./policies/policies.ts";
import { type Allowed, rolesThat } from "./relations.ts";
import { grantees } from "./roles.ts";

/** Finds functions, servers, parameters, large objects, foreign keys, rules and triggers that reach rows of others. */
export const checkRights = (policies: Policies, isAllowed: Allowed): Findings =>
  joined(
    { mistakes: [...checkHidden(policies.catalogue), ...checkLargeObjects(policies.catalogue)] },
    ...policies.catalogue.foreignKeys.map((key) => checkCascade(policies, key, isAllowed)),
    checkOwnersCode(policies),
  );

/** The same right of several roles is one mistake. */
const byObject = <R extends Right>(rights: readonly R[]): R[] =>
  [...new Map(rights.map((right) => [right.object, right])).values()].map((first) => {
    const all = rights.filter(({ object }) => object === first.object);
    const names = [...new Set(all.flatMap((right) => grantees(right).split(", ")))];
    return { ...first, role: listed(all.map(({ role }) => identifier(role))), grantees: names };
  });

const checkHidden = ({ hiddenFunctions, servers, parameters }: Catalogue): Mistake[] => [
  ...byObject(hiddenFunctions).map(({ role, object, grantees: from }) => ({
    code: "builtin_function",
    object,
    message: `${role} may call this function, which reads or writes what no policy covers: files, other servers, or the server itself.`,
    fix: `REVOKE EXECUTE ON FUNCTION ${object} FROM ${from.join(", ")};`,
  })),
  ...byObject(servers).map(({ role, object, kind, grantees: from }) => ({
    code: "foreign_server",
    object,
    message: `${role} may use this ${kind.toLowerCase()}, with which queries read what another server or a file has, or connect to this one as somebody else.`,
    fix: `REVOKE USAGE ON ${kind} ${object} FROM ${from.join(", ")};`,
  })),
  ...byObject(parameters).map(({ role, object, grantees: from }) => ({
    code: "parameter",
    object,
    message: `${role} may set this parameter of the server, and so pass by policies, triggers or foreign keys.`,
    fix: `REVOKE ALL ON PARAMETER ${object} FROM ${from.join(", ")};`,
  })),
];

function checkLargeObjects({ largeObjects, bootstrap }: Catalogue): Mistake[] {
  if (largeObjects.length === 0) return [];
  const each = (statements: readonly string[]) =>
    `DO $$ DECLARE o oid; BEGIN FOR o IN SELECT oid FROM pg_catalog.pg_largeobject_metadata LOOP ${statements
      .map((text) => `EXECUTE pg_catalog.format('${text}', o);`)
      .join(" ")} END LOOP; END $$;`;
  const from = [...new Set(largeObjects.flatMap(({ grantees }) => grantees.flatMap((names) => names.split(", "))))];
  const statements = [
    ...(largeObjects.some(({ owned }) => owned) ? [`ALTER LARGE OBJECT %s OWNER TO ${identifier(bootstrap)}`] : []),
    ...(from.length > 0 ? [`REVOKE ALL ON LARGE OBJECT %s FROM ${from.join(", ")}`] : []),
  ];
  return [
    {
      code: "large_object",
      object: "pg_catalog.pg_largeobject",
      message: `${listed(largeObjects.map(({ role }) => identifier(role)))} can use large objects (${Math.max(...largeObjects.map(({ count }) => count))}). No policy applies to them, so each customer can read those of all others.`,
      fix:
        statements.length > 0
          ? each(statements)
          : `ALTER SYSTEM SET lo_compat_privileges = off; SELECT pg_catalog.pg_reload_conf();`,
    },
  ];
}

const ACTIONS: Record<string, string> = { c: "CASCADE", n: "SET NULL", d: "SET DEFAULT" };

/** A foreign key whose actions delete or change rows of a table without its policies. */
function checkCascade(policies: Policies, key: ForeignKey, isAllowed: Allowed): Partial<Findings> {
  const { catalogue, bounds, callers } = policies;
  const [table, parent] = [key.table, key.parent].map((oid) => catalogue.relations.find((each) => each.oid === oid));
  if (!table || !parent || isAllowed(table)) return {};
  const isDone = (action: string, privilege: "DELETE" | "UPDATE") =>
    ACTIONS[action] !== undefined && isReached(policies, parent, privilege);
  const done = [
    ...(isDone(key.onDelete, "DELETE") ? [`ON DELETE ${ACTIONS[key.onDelete]}`] : []),
    ...(isDone(key.onUpdate, "UPDATE") ? [`ON UPDATE ${ACTIONS[key.onUpdate]}`] : []),
  ];
  if (done.length === 0 || bindsBoth(policies, key)) return {};
  const [name, constraint] = [qualified(table), identifier(key.name)];
  const columns = (names: readonly string[]) => names.map(identifier).join(", ");
  const fix = `ALTER TABLE ${name} DROP CONSTRAINT ${constraint}, ADD CONSTRAINT ${constraint} FOREIGN KEY (${columns(key.columns)}) REFERENCES ${qualified(parent)} (${columns(key.parentColumns)});`;
  const isProtected =
    parent.enabled &&
    rolesThat(parent, ["DELETE", "UPDATE"]).every((role) =>
      (["d", "w"] as const).every((command) =>
        callers.areSeparatedBy(bounds.ofTable(parent, role, [command, "using"])),
      ),
    );
  const message = `The foreign key ${constraint} (${done.join(", ")}) deletes or changes rows of this table when a customer deletes or changes rows of ${qualified(parent)}. Policies do not limit that, and nothing says that both rows belong to the same customer.`;
  if (!isProtected) return { mistakes: [{ code: "cascade", object: name, message, fix }] };
  const object = `${name}.${constraint}`;
  return {
    notJudged: [{ object, message, fix: `${fix} -- If both always belong to the same customer: --accept ${object}` }],
  };
}

/** Whether a customer deletes or changes rows of a table, perhaps by foreign keys. */
function isReached(
  { catalogue, bounds }: Pick<Policies, "catalogue" | "bounds">,
  table: Relation,
  privilege: "DELETE" | "UPDATE",
  seen = new Set<number>(),
): boolean {
  if (seen.has(table.oid)) return false;
  seen.add(table.oid);
  if (bounds.isWritable(table, [privilege])) return true;
  return catalogue.foreignKeys.some((key) => {
    const parent = catalogue.relations.find(({ oid }) => oid === key.parent);
    const isPassed = key.table === table.oid && (privilege === "DELETE" ? key.onDelete === "c" : key.onUpdate === "c");
    return isPassed && parent !== undefined && isReached({ catalogue, bounds }, parent, privilege, seen);
  });
}

/** Whether a foreign key names the customer, too, or rows of its table belong to whom the parent belongs to. */
function bindsBoth({ catalogue, bounds }: Policies, key: ForeignKey): boolean {
  const judged = (oid: number) =>
    catalogue.policies
      .filter(({ relation, permissive, roles }) => relation === oid && permissive && roles.length > 0)
      .map((policy) => bounds.judge(policy, policy.using === null ? "check" : "using"));
  const [children, parents] = [judged(key.table), judged(key.parent)];
  const isChild = key.columns.some((column) => children.every(({ links }) => links.has(`${column} ${key.parent}`)));
  return (
    children.length > 0 &&
    (isChild ||
      key.columns.some(
        (column, index) =>
          children.every(({ columns }) => columns.has(column)) &&
          parents.every(({ columns }) => columns.has(key.parentColumns[index] ?? "")),
      ))
  );
}

/** Rules, and triggers whose functions run as their owner, on tables that queries change. */
function checkOwnersCode({ catalogue, bounds }: Policies): Partial<Findings> {
  return {
    notJudged: catalogue.ownersCode.flatMap(({ relation: oid, name, events, message, fix }) => {
      const relation = catalogue.relations.find((each) => each.oid === oid);
      if (!relation) {
        const object = identifier(name);
        return oid === 0 ? [{ object, message, fix: `${fix} -- If you have read it: --accept ${object}` }] : [];
      }
      const isRun =
        rolesThat(relation, events).length > 0 ||
        bounds.isWritable(relation, ["INSERT", "UPDATE", "DELETE"]) ||
        catalogue.foreignKeys.some(
          ({ table, onDelete, onUpdate }) => table === oid && (ACTIONS[onDelete] ?? ACTIONS[onUpdate]),
        );
      if (!isRun) return [];
      const object = `${qualified(relation)}.${identifier(name)}`;
      return [{ object, message, fix: `${fix} -- If you have read it: --accept ${object}` }];
    }),
  };
}
