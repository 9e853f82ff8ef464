/** Judges the rights of the queries' roles, and the functions that they can call. */
import { type Catalogue, FIRST_OWN_OID, type Grant, type Role, type Routine } from "./catalogue.ts";
import { readTree, usesOf } from "./expressions/tree.ts";
import { type Finding, listed } from "./finding.ts";
import { replace, revoke } from "./fixes.ts";
import type { World } from "./world.ts";

/** The newest version of PostgreSQL whose stored expressions this prover has read. */
const VERSION_MAX = 18;

/** Extensions whose functions neither run a text as SQL nor read files or other servers. */
const EXTENSIONS =
  `btree_gin btree_gist citext cube earthdistance fuzzystrmatch hstore intarray isn ltree pg_stat_statements pg_trgm pgcrypto plpgsql postgis seg
  unaccent uuid-ossp vector`.split(/\s+/);
/** Libraries that are not named as their extension. */
const LIBRARIES: Record<string, string> = { intarray: "_int" };

/** Tables and views of extensions that show no row of the integrator. */
export const EXTENSION_RELATIONS: Record<string, readonly string[]> = {
  pg_stat_statements: ["pg_stat_statements", "pg_stat_statements_info"],
  postgis: ["spatial_ref_sys", "geometry_columns", "geography_columns"],
};

/** Words in the text of an extension's function that could read a table, change a setting or run a text as SQL. */
const RISKY = /["\\]|\b(?:do|from|table|set|reset|set_config|execute|call|ts_stat|ts_rewrite)\b|xml/i;

export function* checkRights(world: World): Iterable<Finding> {
  const { catalogue, forms } = world;
  yield* catalogue.unread;
  const major = Math.floor(catalogue.version / 10_000);
  if (major > VERSION_MAX)
    yield {
      object: `PostgreSQL ${major}`,
      message: `This version of ug knows PostgreSQL 12 to ${VERSION_MAX}. A newer one may store what this one does not understand.`,
      fix: "-- Use a newer release of ug.",
    };
  for (const role of catalogue.roles) yield* checkRole(role);
  yield* checkOwners(catalogue);
  for (const { object, extension, fix } of catalogue.parts)
    if (extension === null || !EXTENSIONS.includes(extension))
      yield { object, message: "It could show rows or values that no policy shows.", fix };
  // A cast to a domain runs its conditions, which a query of the integrator does not show.
  for (const { object, constraint, tree } of catalogue.checks) {
    const problem = forms.problemIn(tree);
    const message = `The condition ${constraint} of this domain cannot be judged: ${problem}.`;
    if (problem !== undefined) yield { object, message, fix: `ALTER DOMAIN ${object} DROP CONSTRAINT ${constraint};` };
  }
  yield* checkGrants(world);
}

function* checkRole({ name: object, isLogin, attributes, predefined }: Role): Iterable<Finding> {
  const who = isLogin ? `${object}, the role that logs in,` : `${object}, a role of the queries,`;
  const certain = ["SUPERUSER", "BYPASSRLS"].find((attribute) => attributes.includes(attribute));
  if (certain !== undefined) {
    const message = `${who} has ${certain}: no policy applies to it.`;
    yield { code: certain.toLowerCase(), object, message, fix: `ALTER ROLE ${object} NO${certain};` };
    return;
  }
  const rights = [
    ...attributes.map((each) => ({ what: `has ${each}`, fix: `ALTER ROLE ${object} NO${each};` })),
    ...predefined.map((each) => ({ what: `is a member of ${each}`, fix: `REVOKE ${each} FROM ${object};` })),
  ];
  for (const { what, fix } of rights)
    yield { object, message: `${who} ${what}, and so has rights beyond its tables.`, fix };
}

function* checkOwners({ owned }: Catalogue): Iterable<Finding> {
  for (const [role, own] of Map.groupBy(owned, ({ role }) => role)) {
    const keep = own.map(({ kept }) => (kept ? ` GRANT ${kept} TO ${role};` : "")).join("");
    yield {
      object: role,
      message: `It owns ${listed(own.map(({ object }) => object))}. An owner can change what it owns, and its policies. Give this to another role, which creates and changes it from then on.`,
      fix: `REASSIGN OWNED BY ${role} TO CURRENT_USER;${keep}`,
    };
  }
}

/** What a right lets queries do that initdb and extensions do not give everybody, or that no policy limits. */
const MEANINGS: Record<Grant["class"], (grant: Grant) => string | false> = {
  schema: ({ privilege }) => privilege === "CREATE" && "Queries may create tables and functions in it",
  database: ({ privilege }) =>
    (privilege === "CREATE" && "Queries may create schemas in it") ||
    (privilege === "TEMPORARY" && "Queries may create temporary tables and functions in it"),
  relation: ({ initial }) =>
    !initial && "Queries have a right on a table of PostgreSQL's own that initdb does not give them",
  sequence: () => "Queries may use this sequence, which counts the rows of all customers",
  function: ({ oid, initial }) =>
    oid < FIRST_OWN_OID && !initial && "Queries may call this function, which PostgreSQL hides",
  "large object": () => "Queries may use a large object, to which no policy applies",
  server: () => "Queries may read from elsewhere by this server or wrapper",
  parameter: () => "Queries may set this parameter of the server",
};

function* checkGrants(world: World): Iterable<Finding> {
  const { relations, grants } = world.catalogue;
  const tables = new Set(relations.map(({ oid }) => oid));
  const meaningOf = (grant: Grant) =>
    (grant.class !== "relation" || !tables.has(grant.oid)) && MEANINGS[grant.class](grant);
  const groups = Map.groupBy(grants.filter(meaningOf), (grant) => `${meaningOf(grant)} ${grant.target}`);
  for (const own of groups.values()) {
    const whose = new Set(own.map(({ privilege, grantee }) => `${privilege} of ${grantee}`));
    for (const grant of own.slice(0, 1))
      yield {
        object: objectOf(grant),
        message: `${meaningOf(grant)} (${[...whose].join(", ")}).`,
        fix: revoke(own, world),
      };
  }
}

/** `SCHEMA public` as `schema public`, and `ROUTINE f(integer)` as `f(integer)`. */
const objectOf = ({ class: kind, target }: Grant): string =>
  target.replace(/^[A-Z ]+ /, (words) => (["sequence", "function"].includes(kind) ? "" : words.toLowerCase()));

/** Judges each function in reach that is not as initdb has made it. Those of one extension are one finding. */
export function* checkFunctions(world: World): Iterable<Finding> {
  const { routines, grants } = world.catalogue;
  const refused = routines.filter((routine) => reasonAgainst(routine, world) !== undefined);
  for (const routine of refused.filter(({ extension }) => extension === null))
    yield {
      object: routine.signature,
      message: `Queries may call this function${routine.isPart ? ", by way of a type, an aggregate or an operator," : ""} and ${reasonAgainst(routine, world)}`,
      fix: world.forms.isFalselyImmutable(routine)
        ? `ALTER FUNCTION ${routine.signature} STABLE;`
        : replace(routine, world),
    };
  const ofExtensions = refused.filter(({ extension }) => extension !== null);
  for (const [extension, own] of Map.groupBy(ofExtensions, (each) => each.extension)) {
    const oids = own.map(({ oid }) => oid);
    const given = grants.filter((each) => each.class === "function" && oids.includes(each.oid));
    const object = `extension ${extension}`;
    yield {
      object,
      message: `Queries may call functions of this extension that are not known to be harmless: ${listed(own.map(({ signature }) => signature))}.`,
      fix: given.length > 0 ? revoke(given, world) : `-- If you have judged it: --accept "${object}"`,
    };
  }
}

/** Why a function is not known to be harmless, if it is not. */
function reasonAgainst(routine: Routine, world: World): string | undefined {
  const { forms } = world;
  const { oid, definer, leakproof, settings, tree, language, defaults } = routine;
  if (isOfKnownExtension(routine, world) || forms.isSafe(routine)) {
    const problem = defaults === null ? undefined : forms.problemIn(defaults);
    return problem && `of a default of its arguments, ${problem}.`;
  }
  const reasons: [boolean, string][] = [
    [oid < FIRST_OWN_OID, "PostgreSQL did not make it as it is now."],
    [definer, "it runs as its owner, whose rows may be of all customers."],
    [forms.isFalselyImmutable(routine), "it is IMMUTABLE, and what it calls is not: a plan may keep another caller."],
    [settings.some((each) => !each.startsWith("search_path=")), "it changes a setting while it runs."],
    [leakproof, "LEAKPROOF lets it see rows before the policies apply."],
    [tree === null && language !== "sql", `its body is of the language ${language}, which is not read.`],
    [tree === null, "its body is a text, which is not read."],
    [true, "its body calls what could change a setting or run a text as SQL."],
  ];
  return reasons.find(([isTrue]) => isTrue)?.[1];
}

/** Whether a function belongs to an extension that is known, and is as the extension has made it. */
function isOfKnownExtension(routine: Routine, { catalogue, forms }: World): boolean {
  const { extension, definer, leakproof, settings, kind, oid, isAlias, language, library, source, tree } = routine;
  const isAsMade = catalogue.grants.every((each) => each.class !== "function" || each.oid !== oid || each.initial);
  if (extension === null || !EXTENSIONS.includes(extension) || definer || leakproof) return false;
  if (settings.length > 0 || !isAsMade) return false;
  if (kind === "a" || language === "internal") return isAlias;
  // A library may have a version, such as postgis-3.
  if (language === "c")
    return library?.replace("$libdir/", "").replace(/-\d[\d.]*$/, "") === (LIBRARIES[extension] ?? extension);
  if (language !== "sql") return false;
  if (tree === null) return !RISKY.test(source);
  return forms.problemIn(tree) === undefined && usesOf(readTree(tree)).relations.size === 0;
}
