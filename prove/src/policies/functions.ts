import type { Catalogue, Policy, StoredFunction } from "../catalogue.ts";
import { identifier } from "../database.ts";
import type { Mistake } from "../finding.ts";
import { allowsMissingSetting, dependsOnCaller } from "../sql/expression.ts";

/** Languages whose bodies the prover searches. */
const READ_LANGUAGES = ["sql", "plpgsql"];

/** The names, without schema, of the functions that depend on the caller. */
export function callerFunctionsOf(catalogue: Catalogue): string[] {
  const used = new Set(catalogue.policies.flatMap(({ functions }) => functions));
  const callerFunctions = new Set<string>();
  // A function may call another one.
  for (let size = -1; size !== callerFunctions.size; ) {
    size = callerFunctions.size;
    for (const { oid, name, definition, language } of catalogue.functions)
      if (dependsOnCaller(definition, [...callerFunctions]) || (used.has(oid) && !READ_LANGUAGES.includes(language)))
        callerFunctions.add(name);
  }
  return [...callerFunctions];
}

/** Whether a policy, or a function in it, gives a missing setting a meaning. */
export function isMissingAllowed(
  { catalogue, callerFunctions }: { catalogue: Catalogue; callerFunctions: readonly string[] },
  policy: Policy,
): boolean {
  const bodies = functionsOf(catalogue, policy)
    .filter(({ language }) => READ_LANGUAGES.includes(language))
    .map(({ definition }) => definition);
  return [policy.using, policy.check, ...bodies].some(
    (text) => text !== null && allowsMissingSetting(text, callerFunctions),
  );
}

/** The functions in a policy, and those that they call. */
function functionsOf(catalogue: Catalogue, { functions }: Policy): StoredFunction[] {
  const used = new Set(catalogue.functions.filter(({ oid }) => functions.includes(oid)));
  for (const caller of used)
    for (const each of catalogue.functions)
      if (caller !== each && new RegExp(`\\b${each.name.replaceAll(/[^\w]/g, ".")}"?\\s*\\(`).test(caller.definition))
        used.add(each);
  return [...used];
}

/** Finds mistakes in the functions of policies. */
export function checkPolicyFunctions(catalogue: Catalogue): Mistake[] {
  const bound = catalogue.policies.filter(({ roles }) => roles.length > 0);
  const used = new Set(bound.flatMap((policy) => functionsOf(catalogue, policy)));
  return [...used].flatMap(({ signature, ownerOid }) => {
    const owner = catalogue.roles.find(({ oid, superuser }) => oid === ownerOid && !superuser);
    if (!owner) return [];
    return [
      {
        code: "policy_function_owned",
        object: signature,
        message: `A policy calls this function, and ${identifier(owner.name)}, which queries can run as, owns it and can replace it.`,
        fix: `ALTER FUNCTION ${signature} OWNER TO ${identifier(catalogue.bootstrap)};`,
      },
    ];
  });
}
