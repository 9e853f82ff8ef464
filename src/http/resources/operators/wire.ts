import { hasKey } from "../../../domain/credentials/operators.ts";
import { roleOf } from "../../../domain/credentials/rights.ts";
import type { StoredKey } from "../../../records.ts";
import { timesOf } from "../times.ts";

/** `operator`, with times in ISO 8601, and never the key itself. */
export const operatorBody = (operator: StoredKey) => ({
  id: operator.id,
  name: operator.name,
  role: roleOf(operator.rights),
  email: operator.email ?? null,
  has_key: hasKey(operator),
  ...timesOf(operator),
});
