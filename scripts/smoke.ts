/** `npm run smoke`: whether a deployment works, by one group that it makes, changes, shows and deletes again. */
import { request } from "undici";
import {
  ANSWER_MS_MAX,
  apiKeyOf,
  bodyOf,
  foreign,
  isRedirect,
  LOCAL_URL,
  Refusal,
  type Refused,
  readArguments,
  redirecting,
  runCommand,
  serviceUrl,
  unreachable,
} from "./command.ts";

const USAGE = `Usage: npm run --silent smoke -- [--url URL]

Makes a user group with an id of its own, updates, rotates, shows and deletes it, and says whether GET requests with a body
arrive at the service. API_KEY is read from the environment, and must have write access; an environment "Testing" is best.

  --url URL   the service; ${LOCAL_URL} by default`;

type Shown = { new_user_group?: boolean; user_group?: { token: string; name: string; provided_id: string } };
type Answer = { status: number; body: Shown & { success?: number; error?: Refused | undefined } };

/** Calls the service with a body on any method, GET included, which `fetch` could not send. It follows no redirect. */
async function call(url: URL, method: string, credential: string, body?: object, headers = {}): Promise<Answer> {
  const answer = await request(url, {
    method: method as "GET",
    headers: {
      Authorization: `Token ${credential}`,
      ...(body && { "Content-Type": "application/json" }),
      ...headers,
    },
    body: body ? JSON.stringify(body) : null,
    headersTimeout: ANSWER_MS_MAX,
    bodyTimeout: ANSWER_MS_MAX,
  }).catch(() => {
    throw unreachable(url);
  });
  if (isRedirect(answer.statusCode)) throw redirecting(url);
  return { status: answer.statusCode, body: bodyOf<Shown>(credential, await answer.body.text()) ?? {} };
}

async function run(): Promise<void> {
  const { values, positionals } = readArguments({
    url: { type: "string", default: LOCAL_URL },
    help: { type: "boolean", default: false },
  });
  if (values.help) return console.info(USAGE);
  if (positionals.length > 0) throw new Refusal("smoke takes nothing but its options; --help shows them.");
  const key = apiKeyOf(process.env);
  const service = serviceUrl(values.url);
  const groups = new URL("/api/user", service);
  const viewer = new URL("/api/viewer", service);
  const id = `smoke-test-${crypto.randomUUID()}`;
  const override = (method: string) => ({ "X-HTTP-Method-Override": method });
  const viewed = (token: string) => call(viewer, "GET", token);

  let failed = 0;
  let token = "";
  let isThere = true;
  /** Tells what was expected and what came, and keeps the token that the answer shows. */
  const step = async (
    name: string,
    work: () => Promise<Answer>,
    isRight: (answer: Answer) => boolean,
  ): Promise<Answer> => {
    const answer = await work();
    const { error, user_group } = answer.body;
    const right = isRight(answer);
    if (!right) failed += 1;
    console.info(
      `${right ? "ok    " : "FAILED"}  ${name}${right ? "" : `: ${answer.status} ${error?.code ?? ""} ${error?.message ?? ""}`}`,
    );
    if (user_group?.token) token = user_group.token;
    return answer;
  };
  const succeeded = ({ status, body }: Answer) => status === 200 && body.success === 1;

  try {
    const made = await step(
      "create, by POST with X-HTTP-Method-Override: GET",
      () => call(groups, "POST", key, { user_group_id: id }, override("GET")),
      ({ status, body }) => status === 200 && body.new_user_group === true,
    );
    if (made.body.success === undefined) throw foreign(service, made.status);
    // A key that may only read finds no group, and makes none.
    if ([401, 403, 404].includes(made.status)) throw new Refusal("This API key may not create groups at this service.");
    const byGet = await step(
      "GET with a body is that call, or says how to make it",
      () => call(groups, "GET", key, { user_group_id: id }),
      ({ status, body }) =>
        (status === 200 && body.new_user_group === false) || (status === 400 && body.error?.code === "body_required"),
    );
    await step(
      "update, by PUT",
      () => call(groups, "PUT", key, { user_group_id: id, name: "Smoke test" }),
      ({ status, body }) => status === 200 && body.user_group?.name === "Smoke test",
    );
    await step(
      "a viewer sees the update",
      () => viewed(token),
      ({ body }) => body.user_group?.name === "Smoke test",
    );
    const old = token;
    await step(
      "rotate, by POST",
      () => call(groups, "POST", key, { current_token: old }),
      ({ status, body }) => status === 200 && body.user_group?.token !== old,
    );
    await step(
      "the old token is refused",
      () => viewed(old),
      ({ body }) => body.error?.code === "credential_revoked",
    );
    await step("the new token shows the group", () => viewed(token), succeeded);
    const removed = await step(
      "delete, by DELETE",
      () => call(groups, "DELETE", key, { current_token: token }),
      succeeded,
    );
    isThere = !succeeded(removed);
    await step(
      "its token is refused",
      () => viewed(token),
      ({ body }) => body.error?.code === "credential_revoked",
    );
    if (byGet.status === 200) console.info("\nGET requests arrive here with their body.");
    if (byGet.body.error?.code === "body_required")
      console.info("\nGET requests lose their body on the way: send POST with X-HTTP-Method-Override: GET.");
  } finally {
    if (token && isThere) {
      // Its current token, which the last answer need not have shown.
      const { body } = await call(groups, "POST", key, { user_group_id: id }, override("GET"));
      await call(groups, "POST", key, { current_token: body.user_group?.token }, override("DELETE"));
    }
  }
  if (failed > 0) throw new Refusal(`${failed} of the steps failed.`);
}

await runCommand(run);
