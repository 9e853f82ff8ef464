import { EXAMPLE_TOKEN } from "./fields.ts";
import type { CredentialName, Operation } from "./operation.ts";

/** The header Authorization with the shell variable that stands for a credential. */
const AUTHORIZATIONS: Record<CredentialName, string> = {
  api_key: "Token $API_KEY",
  viewer_session: "Bearer $SESSION",
  user_group_token: "Token $TOKEN",
  operator_key: "Token $OPERATOR_KEY",
};

/** The parts of a curl call of an operation. `query` includes the environment that an operator names. */
export type CurlCall = {
  method: string;
  path: string;
  credential: CredentialName | undefined;
  query: Record<string, unknown>;
};

/** A body as a word of the shell. The token of the example becomes `$TOKEN`. */
function quotedBody(body: object): string {
  const json = JSON.stringify(body);
  if (!json.includes(EXAMPLE_TOKEN)) return `'${json.replaceAll("'", "'\\''")}'`;
  const escaped = json.replaceAll(/["\\$`]/g, "\\$&");
  return `"${escaped.replaceAll(EXAMPLE_TOKEN, () => "$TOKEN")}"`;
}

/** The example of an operation as a call of curl. The service's URL is `$SERVICE_URL`; optional headers are left out. */
export function curlOf({ method, path, credential, query: example }: CurlCall, operation: Operation): string {
  const { body, rawBody } = operation;
  const pathExample = Object.entries(operation.path?.example ?? {});
  const filledPath = pathExample.reduce((filled, [name, value]) => filled.replace(`{${name}}`, String(value)), path);
  const query = new URLSearchParams(Object.entries(example).map(([name, value]) => [name, String(value)]));
  const url = query.size > 0 ? `${filledPath}?${query}` : filledPath;
  return [
    method === "get" && !body ? `curl "$SERVICE_URL${url}"` : `curl -X ${method.toUpperCase()} "$SERVICE_URL${url}"`,
    ...(credential ? [`-H "Authorization: ${AUTHORIZATIONS[credential]}"`] : []),
    ...(body ? ["-H 'Content-Type: application/json'", `-d ${quotedBody(body.example)}`] : []),
    ...(rawBody ? [`-H 'Content-Type: ${rawBody}'`, "--data-binary @page-1.ndjson"] : []),
  ].join(" \\\n  ");
}
