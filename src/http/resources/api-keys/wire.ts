import * as z from "zod/mini";
import type { Environment } from "../../../../common/environment.ts";
import { type Grant, grantOf, SCOPES } from "../../../domain/credentials/rights.ts";
import { LOCATIONS, type StoredKey } from "../../../records.ts";
import {
  Expiry,
  KeyName,
  lazy,
  numberedQuery,
  Reason,
  refuseValue,
  timesOf,
  transformed,
  Workspace,
} from "../fields.ts";

/** GET /api/keys */
export const KeysQuery = lazy(() => numberedQuery());

const scopesMessage = `Give a list of one scope or more, each once: ${SCOPES.join(", ")}.`;

export const Scopes = lazy(() =>
  z.array(z.enum(SCOPES, scopesMessage), scopesMessage).check(
    z.minLength(1, scopesMessage),
    z.refine((scopes) => new Set(scopes).size === scopes.length, scopesMessage),
  ),
);

/** POST /api/keys */
export const IssueKeyBody = lazy(() =>
  transformed(
    z.strictObject({
      workspace: Workspace(),
      environment: z.nullable(z.enum(["Customer", "Testing"], 'Give "Customer", "Testing" or null.')),
      name: KeyName(),
      access: z.optional(z.enum(["read", "write"], 'Give "read" or "write".')),
      scopes: z.optional(Scopes()),
      expires_in_seconds: Expiry(),
      location: z.optional(z.enum(LOCATIONS, `Give one of ${LOCATIONS.join(", ")}.`)),
      reason: Reason(),
    }),
    ({ access, scopes, ...fields }, payload) => {
      if (access && scopes) refuseValue(payload, "Give either access or scopes.", ["scopes"]);
      const grant: Grant = scopes ? { scopes } : { access: access ?? "write" };
      return { ...fields, grant };
    },
  ),
);

/** `api_key`, with times in ISO 8601, and never the key itself. */
export const apiKeyBody = (key: StoredKey, { workspace, tag }: Environment) => ({
  id: key.id,
  workspace,
  environment: tag,
  name: key.name,
  ...grantOf(key.rights),
  ...timesOf(key),
});
