import * as z from "zod";
import { Audience, component, content, EXAMPLE_TOKEN, field, timeOrNull } from "../../openapi/fields.ts";
import type { Operations } from "../../openapi/operation.ts";
import { describeFields } from "../../openapi/request-fields.ts";
import { EXPLAINED_KINDS } from "../../operations/explain-credential.ts";
import { REASONS } from "../../response/reasons.ts";
import { Actor } from "../events/event-schema.ts";
import { ExplainBody, type explanationBody } from "./wire.ts";

const CODES = [...new Set(Object.values(REASONS).map(({ code }) => code))];

const Reason = component("CredentialReason", "Why a credential is refused.", {
  code: field(z.enum(CODES), "The code of the refusal.", "user_group_suspended"),
  message: field(z.string(), "What has happened and what to do, for people.", "Resume it."),
  since: timeOrNull(
    "Since when this is the case, or null if that is not known. For a superseded token, the time of the group's last rotation, or the end of its grace.",
  ),
  by: field(Actor.nullable(), "Who has done it, or null if nobody has, or its event is no longer kept."),
});

const ExplainedCredential = component("ExplainedCredential", "A credential, without its text.", {
  kind: field(
    z.enum(EXPLAINED_KINDS),
    "The kind of credential; unknown if no signing key of this service verifies it.",
  ),
  number: field(
    z.int().nullable(),
    "The number of the key or operator, or of a viewer's group; null for OPERATOR_TOKEN and an unknown text.",
    1,
  ),
  audience: field(Audience.nullable(), "The environment of the credential, or null.", "acme/Customer"),
  valid: field(z.boolean(), "Whether there is no reason to refuse it.", false),
  reasons: field(z.array(Reason), "All reasons, in the order in which the service checks them."),
}) satisfies z.ZodType<ReturnType<typeof explanationBody>>;

const EXPLAINED = content("Explained", { credential: field(ExplainedCredential, "The credential, without its text.") });

/** The call that explains a credential. */
export const credentialOperations = {
  "POST /api/credentials/explain": {
    id: "explainCredential",
    summary: "Explain why a credential is refused",
    description:
      "Returns all reasons why a viewer sees nothing, or a key is refused. It does not count as a view or as a use of the key. The service " +
      "neither stores nor logs the credential: send it only in the body. A session with max_stale_seconds may still get stale answers " +
      "although it is refused here.",
    body: {
      name: "ExplainBody",
      schema: describeFields(ExplainBody(), {
        credential:
          "A viewer session, a token, an API key or the key of an operator, as somebody presents it. Any other text is unknown.",
        origin: "The origin of the page that presents the credential; without it, a server presents it.",
      }),
      example: { credential: EXAMPLE_TOKEN, audience: "acme/Testing" },
    },
    answer: { description: "The reasons, or none.", content: EXPLAINED },
  },
} satisfies Operations;
