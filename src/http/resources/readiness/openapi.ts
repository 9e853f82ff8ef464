import * as z from "zod";
import packageFile from "../../../../package.json" with { type: "json" };
import { Success } from "../../openapi/fields.ts";
import type { Operations } from "../../openapi/operation.ts";

const Readiness = z.strictObject({
  success: Success,
  ready: z.literal(true).meta({ description: "The service can serve calls.", examples: [true] }),
  version: z.string().meta({ description: "The version of the service.", examples: [packageFile.version] }),
  jurisdiction: z
    .enum(["eu", "us"])
    .nullable()
    .meta({ description: "Where the platform keeps all data, or null for no restriction.", examples: [null] }),
});

/** The call of load balancers and monitors. */
export const readinessOperations = {
  "GET /ready": {
    id: "checkReadiness",
    tag: "About",
    summary: "Check that the service can serve calls",
    description:
      "Asks the registry, at most every 5 seconds, whether it answers and its storage can be read and written. It takes no credential. HEAD is answered as well.",
    answer: { status: 200, description: "It can.", content: { name: "Readiness", schema: Readiness } },
    refusals: ["not_ready"],
  },
} satisfies Operations;
