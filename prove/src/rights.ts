/** Judges the rights of the queries' roles, and the functions that they can call. */
import type { Catalogue, Grant, Role, Routine } from "./catalogue.ts";
import { FIRST_OWN_OID } from "./catalogue.ts";
import { identifier } from "./database.ts";
import type { Forms } from "./expressions/forms.ts";
import { readTree, UnknownTree, usesOf } from "./expressions/tree.ts";
import { type Findings, joined, listed, type NotJudged } from "./finding.ts";
import type { Fixes } from "./fixes.ts";

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
const RISKY = /["]|\b(?:from|set|set_config|execute|call|ts_stat|ts_rewrite)\b|xml/i;

export function checkRights(catalogue: Catalogue, { forms, fixes }: { forms: Forms; fixes: Fixes }): Findings {
  const major = Math.floor(catalogue.version / 10_000);
  const isNewer = major > VERSION_MAX;
  const newer: NotJudged = {
    object: `PostgreSQL ${major}`,
    message: `This version of ug knows PostgreSQL 12 to ${VERSION_MAX}. A newer one may store what this one does not understand.`,
    fix: "-- Use a newer release of ug.",
  };
  return joined(
    { notJudged: [...catalogue.unread, ...(isNewer ? [newer] : [])] },
    ...catalogue.roles.map((role) => checkRole(role, catalogue)),
    { notJudged: checkOwners(catalogue) },
    { notJudged: checkDomains(catalogue, forms) },
    { notJudged: checkGrants(catalogue, fixes) },
  );
}

function checkRole(role: Role, { memberships, login }: Catalogue): Partial<Findings> {
  const name = identifier(role.name);
  const who = role.name === login ? `${name}, the role that logs in,` : `${name}, a role of the queries,`;
  const [certain] = ["SUPERUSER", "BYPASSRLS"].filter((attribute) => role.attributes.includes(attribute));
  if (certain !== undefined) {
    const message = `${who} has ${certain}: no policy applies to it.`;
    return {
      mistakes: [{ code: certain.toLowerCase(), object: name, message, fix: `ALTER ROLE ${name} NO${certain};` }],
    };
  }
  const rights = role.attributes.map((attribute) => ({
    object: name,
    message: `${who} has ${attribute}, and so rights beyond its tables.`,
    fix: `ALTER ROLE ${name} NO${attribute};`,
  }));
  const predefined = memberships
    .filter((each) => each.member === role.name && each.role.startsWith("pg_"))
    .map((each) => ({
      object: name,
      message: `${who} is a member of ${each.role}, which has rights beyond its tables.`,
      fix: `REVOKE ${each.role} FROM ${name};`,
    }));
  return { notJudged: [...rights, ...predefined] };
}

/** A cast to a domain runs its conditions, which a query of the integrator does not show. */
const checkDomains = ({ checks }: Catalogue, forms: Forms): NotJudged[] =>
  checks.flatMap(({ object, constraint, tree }) => {
    const problem = forms.problemIn(tree, { mayBeRandom: true });
    const fix = `ALTER DOMAIN ${object} DROP CONSTRAINT ${constraint};`;
    return problem === undefined
      ? []
      : [{ object, message: `The condition ${constraint} of this domain cannot be judged: ${problem}.`, fix }];
  });

function checkOwners({ owned, relations }: Catalogue): NotJudged[] {
  return [...new Set(owned.map(({ role }) => role))].map((role) => {
    const own = relations.filter(({ owner }) => owner === role).map(({ object }) => object);
    const schemas = owned.flatMap((each) =>
      each.role === role ? (/^schema (.*)$/s.exec(each.object)?.[1] ?? []) : [],
    );
    const kept = [
      ...schemas.map((name) => `USAGE ON SCHEMA ${identifier(name)}`),
      ...own.map((name) => `SELECT ON ${name}`),
    ];
    const keep = kept.map((right) => ` GRANT ${right} TO ${identifier(role)};`).join("");
    return {
      object: identifier(role),
      message: `It owns ${listed(owned.filter((each) => each.role === role).map(({ object }) => object))}. An owner can change what it owns, and its policies. Give this to another role, which creates and changes it from then on.`,
      fix: `REASSIGN OWNED BY ${identifier(role)} TO CURRENT_USER;${keep}`,
    };
  });
}

/** What a right lets queries do that initdb and extensions do not give everybody, or that no policy limits. */
const MEANINGS: Record<Grant["class"], (grant: Grant) => string | undefined> = {
  schema: ({ privilege }) => (privilege === "CREATE" ? "Queries may create tables and functions in it" : undefined),
  database: ({ privilege }) => {
    if (privilege === "CREATE") return "Queries may create schemas in it";
    return privilege === "TEMPORARY" ? "Queries may create temporary tables and functions in it" : undefined;
  },
  relation: ({ initial }) =>
    initial ? undefined : "Queries have a right on a table of PostgreSQL's own that initdb does not give them",
  sequence: () => "Queries may use this sequence, which counts the rows of all customers",
  function: ({ oid, initial }) =>
    oid < FIRST_OWN_OID && !initial ? "Queries may call this function, which PostgreSQL hides" : undefined,
  "large object": () => "Queries may use a large object, to which no policy applies",
  server: () => "Queries may read from elsewhere by this server or wrapper",
  parameter: () => "Queries may set this parameter of the server",
};

function checkGrants({ relations, grants }: Catalogue, fixes: Fixes): NotJudged[] {
  const own = new Set(relations.map(({ oid }) => oid));
  const groups = new Map<string, { meaning: string; grants: Grant[] }>();
  for (const grant of grants) {
    const isTable = grant.class === "relation" && own.has(grant.oid);
    const meaning = isTable ? undefined : MEANINGS[grant.class](grant);
    if (meaning === undefined) continue;
    const key = `${meaning} ${grant.target}`;
    groups.set(key, { meaning, grants: [...(groups.get(key)?.grants ?? []), grant] });
  }
  return [...groups.values()].map(({ meaning, grants }) => ({
    object: grants.slice(0, 1).map(objectOf).join(""),
    message: `${meaning} (${[...new Set(grants.map(({ privilege, grantee }) => `${privilege} of ${grantee}`))].join(", ")}).`,
    fix: fixes.revoke(grants),
  }));
}

/** `SCHEMA public` as `schema public`, and `ROUTINE f(integer)` as `f(integer)`. */
const objectOf = ({ class: kind, target }: Grant): string =>
  target.replace(/^[A-Z ]+ /, (words) => (["sequence", "function"].includes(kind) ? "" : words.toLowerCase()));

/** Judges each function in reach that is not as initdb has made it. Those of one extension are one finding. */
export function checkFunctions(catalogue: Catalogue, { forms, fixes }: { forms: Forms; fixes: Fixes }): NotJudged[] {
  const reasons = catalogue.routines.map((routine) => ({ routine, reason: reasonAgainst(routine, catalogue, forms) }));
  const refused = reasons.filter(({ reason }) => reason !== undefined);
  const own = refused.filter(({ routine }) => routine.extension === null);
  const extensions = [...new Set(refused.flatMap(({ routine }) => routine.extension ?? []))];
  return [
    ...own.map(({ routine, reason }) => ({
      object: routine.signature,
      message: `Queries may call this function${routine.isPart ? ", by way of a type, an aggregate or an operator," : ""} and ${reason}`,
      fix: fixes.routine(routine, catalogue.grants),
    })),
    ...extensions.map((extension) => {
      const routines = refused.map(({ routine }) => routine).filter((each) => each.extension === extension);
      const oids = routines.map(({ oid }) => oid);
      const grants = catalogue.grants.filter((each) => each.class === "function" && oids.includes(each.oid));
      return {
        object: `extension ${identifier(extension)}`,
        message: `Queries may call functions of this extension that are not known to be harmless: ${listed(routines.map(({ signature }) => signature))}.`,
        fix: grants.length > 0 ? fixes.revoke(grants) : `-- If you have judged it: --accept "extension ${extension}"`,
      };
    }),
  ];
}

/** Why a function is not known to be harmless, if it is not. */
function reasonAgainst(routine: Routine, catalogue: Catalogue, forms: Forms): string | undefined {
  try {
    const isKnown = isOfKnownExtension(routine, catalogue, forms) || forms.isSafe(routine);
    const defaults = routine.defaults === null ? undefined : forms.problemIn(routine.defaults, { mayBeRandom: true });
    if (isKnown) return defaults && `of a default of its arguments, ${defaults}.`;
  } catch (error) {
    if (!(error instanceof UnknownTree)) throw error;
    return `${error.message}.`;
  }
  const { oid, definer, leakproof, settings, tree, language } = routine;
  const reasons: [boolean, string][] = [
    [oid < FIRST_OWN_OID, "PostgreSQL did not make it as it is now."],
    [definer, "it runs as its owner, whose rows may be of all customers."],
    [settings.some((each) => !each.startsWith("search_path=")), "it changes a setting while it runs."],
    [leakproof, "LEAKPROOF lets it see rows before the policies apply."],
    [tree === null && language !== "sql", `its body is of the language ${language}, which is not read.`],
    [
      tree === null && catalogue.version < 140_000,
      "before version 14, PostgreSQL stores its body as a text, which is not read.",
    ],
    [tree === null, "its body is a text, which is not read."],
  ];
  const found = reasons.find(([isTrue]) => isTrue);
  return found ? found[1] : "its body calls what could change a setting or run a text as SQL.";
}

/** Whether a function belongs to an extension that is known, and is as the extension has made it. */
function isOfKnownExtension(routine: Routine, { grants }: Catalogue, forms: Forms): boolean {
  const { extension, definer, settings, kind, oid, isAlias } = routine;
  const isAsMade = grants.every((each) => each.class !== "function" || each.oid !== oid || each.initial);
  if (extension === null || !EXTENSIONS.includes(extension) || definer || settings.length > 0 || !isAsMade)
    return false;
  return kind === "a" ? isAlias : isHarmlessBody(routine, LIBRARIES[extension] ?? extension, forms);
}

function isHarmlessBody({ language, library, isAlias, source, tree }: Routine, own: string, forms: Forms): boolean {
  // A library may have a version, such as postgis-3.
  if (language === "c") return library?.replace("$libdir/", "").replace(/-\d[\d.]*$/, "") === own;
  if (language !== "sql") return language === "internal" && isAlias;
  if (tree === null) return !RISKY.test(source);
  return usesOf(readTree(tree)).relations.size === 0 && forms.problemIn(tree, { mayBeRandom: true }) === undefined;
}
