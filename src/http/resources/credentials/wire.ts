import * as z from "zod/mini";
import { directoryName } from "../../../../common/environment.ts";
import type { Explanation } from "../../operations/explain-credential.ts";
import { REASONS } from "../../response/reasons.ts";
import { Audience, lazy, Origin, time } from "../fields.ts";

const MESSAGE = "Give the credential, a string that is not empty.";

/** POST /api/credentials/explain */
export const ExplainBody = lazy(() =>
  z.strictObject({
    credential: z.string(MESSAGE).check(z.minLength(1, MESSAGE)),
    audience: z.optional(Audience()),
    origin: z.optional(Origin()),
  }),
);

/** `credential`: what it is, and each reason why it is refused. Nothing of its text is in it. */
export const explanationBody = ({ kind, number, environment, reasons }: Explanation) => ({
  kind,
  number,
  audience: environment ? directoryName(environment) : null,
  valid: reasons.length === 0,
  reasons: reasons.map(({ name, since, by }) => ({ ...REASONS[name], since: time(since), by })),
});
