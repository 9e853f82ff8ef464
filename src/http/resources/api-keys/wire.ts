import type { Environment } from "../../../../common/environment.ts";
import { grantOf } from "../../../domain/credentials/rights.ts";
import type { StoredKey } from "../../../records.ts";
import { timesOf } from "../times.ts";

/** `api_key`, with times in ISO 8601, and never the key itself. */
export const apiKeyBody = (key: StoredKey, { workspace, tag }: Environment) => ({
  id: key.id,
  workspace,
  environment: tag,
  name: key.name,
  ...grantOf(key.rights),
  ...timesOf(key),
});
