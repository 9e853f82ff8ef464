import type { CallOptions, Connection } from "../transport/connection.ts";
import type { ResponseBody } from "../transport/response-body.ts";
import type { RefusalCode } from "../transport/user-group-service-error.ts";
import { type Actor, actorOrNull } from "./caller.ts";

/** The credential to explain. */
export type ExplainInput = {
  /** A viewer session, a token, an API key or the key of an operator, as somebody presents it. */
  credential: string;
  /** The environment that it should be of, such as `acme/Customer`. */
  audience?: string | undefined;
  /** The origin of the page that presents it. Without it, a server presents it. */
  origin?: string | undefined;
};

/** Why a credential is refused. */
export type CredentialReason = {
  /** The code of the refusal. A newer service may have more codes than these. */
  code: RefusalCode | (string & Record<never, never>);
  message: string;
  /** Since when, in ISO 8601 in UTC; `null` if that is not known. */
  since: string | null;
  /** Who has done it; `null` if nobody has, or its event is no longer kept. */
  by: Actor | null;
};

/** A credential without its text, and all reasons why it is refused; none of a valid one. */
export type ExplainedCredential = {
  /** A newer service may have more kinds than these. */
  kind: "api_key" | "operator" | "user_group_token" | "viewer_session" | "unknown" | (string & Record<never, never>);
  /** The number of the key or the operator, or the `teamId` of a viewer's group; `null` for the bootstrap token and an unknown text. */
  number: number | null;
  /** The environment, such as `acme/Customer`; `null` for an operator and an unknown text. */
  audience: string | null;
  valid: boolean;
  reasons: CredentialReason[];
};

const toReason = (reason: ResponseBody): CredentialReason => ({
  code: reason.text("code"),
  message: reason.text("message"),
  since: reason.textOrNull("since"),
  by: actorOrNull(reason, "by"),
});

export type Credentials = ReturnType<typeof credentialsOf>;

/** What an operator asks about the credentials of others. */
export const credentialsOf = (connection: Connection) => ({
  /**
   * Explains why a credential is refused. It is no view and no use of the credential, and the service does not store it.
   *
   * @example
   * const { kind, valid, reasons } = await operator.explainCredential({ credential: "ugt_mistyped" });
   * console.info(kind, valid, reasons[0]?.code);
   * // unknown false unauthenticated
   */
  async explainCredential(
    { credential, audience, origin }: ExplainInput,
    options?: CallOptions,
  ): Promise<ExplainedCredential> {
    const call = { method: "POST", path: "/api/credentials/explain", retryable: true } as const;
    const { body } = await connection.send({ ...call, body: { credential, audience, origin } }, options);
    const explained = body.object("credential");
    return {
      kind: explained.text("kind"),
      number: explained.numberOrNull("number"),
      audience: explained.textOrNull("audience"),
      valid: explained.oneOf("valid", [true, false]),
      reasons: explained.objects("reasons").map(toReason),
    };
  },
});
