/**
 * `npm run smoke`: tests a deployment with one group, which it creates, updates, rotates, views by its token and by a viewer
 * session, and deletes.
 */

import { Command } from "commander";
import { escapeInvisible } from "../cli/src/support/printable.ts";
import { apiKeyFrom, apiKeyRefused, notTheService, serviceUrl } from "../cli/src/support/service.ts";
import { CommandError } from "../common/command-error.ts";
import { type HttpCall, type Refusal, readBody, send } from "./call.ts";
import { runTool, URL_OPTION } from "./command.ts";

type GroupFields = { new_user_group?: boolean; user_group?: { token: string; name: string; provided_id: string } };
type SessionFields = { session?: { token: string } };
type ResponseFields = GroupFields & SessionFields & { success?: number; error?: Refusal | undefined };
type ServiceResponse = { status: number; body: ResponseFields };
type IsExpected = (response: ServiceResponse) => boolean;

const override = (method: string) => ({ "X-HTTP-Method-Override": method });
const isSuccess: IsExpected = ({ status, body }) => status === 200 && body.success === 1;
const isRevoked: IsExpected = ({ body }) => body.error?.code === "credential_revoked";
const hasName =
  (name: string): IsExpected =>
  ({ status, body }) =>
    status === 200 && body.user_group?.name === name;

/** One run: the calls on its group, and the outcomes of its steps. */
class SmokeTest {
  readonly #service: URL;
  readonly #key: string;
  readonly #id = `smoke-test-${crypto.randomUUID()}`;
  /** The last token in a response; empty before the first one. */
  #token = "";
  #isDeleted = false;
  #failed = 0;

  constructor(service: URL, key: string) {
    this.#service = service;
    this.#key = key;
  }

  /** Runs all steps, deletes the group whatever happens, and returns the number of steps that failed. */
  async run(): Promise<number> {
    try {
      await this.#create();
      await this.#getWithBody();
      // All other steps need the group.
      if (this.#token) await this.#changeAndDelete();
    } finally {
      if (this.#token && !this.#isDeleted) await this.#cleanUp();
    }
    return this.#failed;
  }

  async #create(): Promise<void> {
    const { status, body } = await this.#step(
      "create, by POST with X-HTTP-Method-Override: GET",
      this.#group("POST", { user_group_id: this.#id }, override("GET")),
      (response) => response.status === 200 && response.body.new_user_group === true,
    );
    if (body.success === undefined) throw notTheService(this.#service, status);
    if (status === 401) throw apiKeyRefused(this.#service, body.error?.code ?? "");
    // A key with read access finds no group, and creates none.
    if (status === 403 || status === 404)
      throw new CommandError("This API key may not create groups. Use a key with write access.");
  }

  async #getWithBody(): Promise<void> {
    const { status, body } = await this.#step(
      "GET with a body is the same call, or its refusal explains how to make it",
      this.#group("GET", { user_group_id: this.#id }),
      (response) =>
        (response.status === 200 && response.body.new_user_group === false) ||
        (response.status === 400 && response.body.error?.code === "body_required"),
    );
    if (status === 200) console.info("        GET requests arrive here with their body.");
    if (body.error?.code === "body_required")
      console.info("        GET requests lose their body on the way: send POST with X-HTTP-Method-Override: GET.");
  }

  async #changeAndDelete(): Promise<void> {
    const name = "Smoke test";
    await this.#step("update, by PUT", this.#group("PUT", { user_group_id: this.#id, name }), hasName(name));
    await this.#step("a viewer sees the update", this.#view(this.#token), hasName(name));

    const old = this.#token;
    const isRotated: IsExpected = ({ status, body }) => status === 200 && body.user_group?.token !== old;
    await this.#step("rotate, by POST", this.#group("POST", { current_token: old }), isRotated);
    await this.#step("the old token is refused", this.#view(old), isRevoked);
    await this.#step("the new token shows the group", this.#view(this.#token), isSuccess);

    const body = { user_group_id: this.#id, expires_in_seconds: 60 };
    const mint = this.#call("/api/viewer_sessions", { method: "POST", credential: this.#key, body });
    const isMinted: IsExpected = (response) => response.status === 201 && response.body.session !== undefined;
    const session = (await this.#step("mint a viewer session", mint, isMinted)).body.session?.token;
    if (session) await this.#step("the session shows the group", this.#view(session), isSuccess);

    const deleted = this.#group("DELETE", { current_token: this.#token });
    this.#isDeleted = isSuccess(await this.#step("delete, by DELETE", deleted, isSuccess));
    await this.#step("its token is refused", this.#view(this.#token), isRevoked);
    if (session) await this.#step("its session is refused", this.#view(session), isRevoked);
  }

  /** Deletes the group by its current token, which may have been in a lost response. */
  async #cleanUp(): Promise<void> {
    const { body } = await this.#group("POST", { user_group_id: this.#id }, override("GET"));
    await this.#group("POST", { current_token: body.user_group?.token }, override("DELETE"));
  }

  /** Prints the outcome of a call, and keeps the token in the response. */
  async #step(name: string, call: Promise<ServiceResponse>, isExpected: IsExpected): Promise<ServiceResponse> {
    const response = await call;
    const { error, user_group: group } = response.body;
    if (isExpected(response)) console.info(`ok      ${name}`);
    else {
      this.#failed += 1;
      const reason = `${response.status} ${error?.code ?? ""} ${error?.message ?? ""}`;
      console.info(`FAILED  ${name}: ${escapeInvisible(reason)}`);
    }
    if (group?.token) this.#token = group.token;
    return response;
  }

  #group(method: string, body: object, headers = {}): Promise<ServiceResponse> {
    return this.#call("/api/user", { method, credential: this.#key, body, headers });
  }

  #view(credential: string): Promise<ServiceResponse> {
    return this.#call("/api/viewer", { method: "GET", credential });
  }

  async #call(path: string, call: HttpCall): Promise<ServiceResponse> {
    const { status, text } = await send(new URL(path, this.#service), call);
    return { status, body: readBody<ResponseFields>(call.credential, text) ?? {} };
  }
}

async function smoke({ url }: { url?: string }): Promise<void> {
  const key = apiKeyFrom(process.env);
  const failed = await new SmokeTest(serviceUrl(url, process.env), key).run();
  if (failed > 0) throw new CommandError(`${failed} of the steps failed.`);
}

await runTool(
  new Command("npm run --silent smoke --")
    .description(
      "Creates a user group with an id of its own, updates, rotates and views it, mints a viewer session, deletes the group, and " +
        "reports whether GET requests with a body reach the service. API_KEY is read from the environment, and must have write " +
        "access; an environment Testing is best.",
    )
    .option(...URL_OPTION)
    .action(smoke),
);
