import * as z from "zod/mini";
import { Audience, lazy, Origin, withMeta } from "../fields.ts";

const MESSAGE = "Give the credential, a string that is not empty.";

/** POST /api/credentials/explain */
export const ExplainBody = lazy(() =>
  z.strictObject({
    credential: withMeta(z.string({ error: MESSAGE }).check(z.minLength(1, { error: MESSAGE })), {
      description:
        "A viewer session, a token, an API key or the key of an operator, as somebody presents it. Any other text is unknown.",
    }),
    audience: z.optional(Audience()),
    origin: withMeta(z.optional(Origin()), {
      description: "The origin of the page that presents the credential; without it, a server presents it.",
    }),
  }),
);
