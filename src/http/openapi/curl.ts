import { EXAMPLE_TOKEN } from "./fields.ts";
import type { Operation } from "./operation.ts";

/** The shell variables that stand for the credentials. */
const VARIABLES: Record<NonNullable<Operation["credential"]>, string> = {
  api_key: "$API_KEY",
  user_group_token: "$TOKEN",
  operator_token: "$OPERATOR_TOKEN",
};

/** A body as a word of the shell. The token of the example becomes `$TOKEN`. */
function quotedBody(body: object): string {
  const json = JSON.stringify(body);
  if (!json.includes(EXAMPLE_TOKEN)) return `'${json.replaceAll("'", "'\\''")}'`;
  const escaped = json.replaceAll(/["\\$`]/g, "\\$&");
  return `"${escaped.replaceAll(EXAMPLE_TOKEN, () => "$TOKEN")}"`;
}

/** The example of an operation as a call of curl. The service's URL is `$SERVICE_URL`; optional headers are left out. */
export function curlOf(method: string, path: string, operation: Operation): string {
  const { credential, body } = operation;
  const pathExample = Object.entries(operation.path?.example ?? {});
  const filledPath = pathExample.reduce((filled, [name, value]) => filled.replace(`{${name}}`, String(value)), path);
  const query = new URLSearchParams(
    Object.entries(operation.query?.example ?? {}).map(([name, value]) => [name, String(value)]),
  );
  const url = query.size > 0 ? `${filledPath}?${query}` : filledPath;
  return [
    method === "get" && !body ? `curl "$SERVICE_URL${url}"` : `curl -X ${method.toUpperCase()} "$SERVICE_URL${url}"`,
    ...(credential ? [`-H "Authorization: Token ${VARIABLES[credential]}"`] : []),
    ...(body ? ["-H 'Content-Type: application/json'", `-d ${quotedBody(body.example)}`] : []),
  ].join(" \\\n  ");
}
