import { directoryName } from "../../../../common/environment.ts";
import type { Explanation } from "../../operations/explain-credential.ts";
import { REASONS } from "../../response/reasons.ts";
import { time } from "../times.ts";

/** `credential`: what it is, and each reason why it is refused. Nothing of its text is in it. */
export const explanationBody = ({ kind, number, environment, reasons }: Explanation) => ({
  kind,
  number,
  audience: environment ? directoryName(environment) : null,
  valid: reasons.length === 0,
  reasons: reasons.map(({ name, since, by }) => ({ ...REASONS[name], since: time(since), by })),
});
