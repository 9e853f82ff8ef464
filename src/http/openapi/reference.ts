import * as z from "zod";
import packageFile from "../../../package.json" with { type: "json" };
import { Success } from "./fields.ts";
import type { Operations } from "./operation.ts";

const { version } = packageFile;

const Health = z.strictObject({
  success: Success,
  version: z.string().meta({ description: "The version of the service.", examples: [version] }),
});

const Readiness = z.strictObject({
  success: Success,
  ready: z.literal(true).meta({ description: "The service can serve calls.", examples: [true] }),
  version: z.string().meta({ description: "The version of the service.", examples: [version] }),
  jurisdiction: z
    .enum(["eu", "us"])
    .nullable()
    .meta({ description: "Where the platform keeps all data, or null for no restriction.", examples: [null] }),
});

const link = (what: string, path: string) => z.string().meta({ description: `The path of ${what}.`, examples: [path] });

const Service = z.strictObject({
  success: Success,
  name: z.literal("user-group-service").meta({ description: "The name of the service." }),
  version: Health.shape.version,
  links: z
    .strictObject({
      openapi: link("this document", "/openapi.json"),
      docs: link("the pages to read", "/docs"),
      console: z.nullable(z.string()).meta({
        description: "The path of the operators' console, or null if it is turned off.",
        examples: ["/console"],
      }),
      health: link("the check that the service is configured", "/health"),
    })
    .meta({ description: "What else is here, for those who know only the address." }),
});

/** The calls that take no credential. */
export const referenceOperations = {
  "GET /ready": {
    id: "checkReadiness",
    tag: "About",
    summary: "Check that the service can serve calls",
    description:
      "Asks the registry, at most every 5 seconds, whether it answers and its storage can be read and written. It takes no credential. HEAD is answered as well.",
    answer: { status: 200, description: "It can.", content: { name: "Readiness", schema: Readiness } },
    refusals: ["not_ready"],
  },
  "GET /": {
    id: "describeService",
    tag: "About",
    summary: "Get the name, the version and the links of the service",
    description: "HEAD is answered as well.",
    answer: {
      status: 200,
      description: "What is here.",
      content: { name: "Service", schema: Service },
      headers: ["Vary"],
    },
    redirectDescription:
      "The request accepts `text/html`, as that of a browser does: the console is there, or `/docs` if the console is turned off.",
    refusals: [],
  },
  "GET /health": {
    id: "checkHealth",
    tag: "About",
    summary: "Check that the service is configured",
    description: "HEAD is answered as well.",
    answer: { status: 200, description: "It is.", content: { name: "Health", schema: Health } },
    refusals: [],
  },
  "GET /openapi.json": {
    id: "describeApi",
    tag: "About",
    summary: "Get this document",
    description: "HEAD is answered as well.",
    answer: { status: 200, description: "An OpenAPI 3.1 document.", content: "application/json" },
    refusals: [],
  },
  "GET /openapi-3.0.json": {
    id: "describeApiIn30",
    tag: "About",
    summary: "Get this document in OpenAPI 3.0",
    description: "For generators that read no 3.1. It says the same. HEAD is answered as well.",
    answer: { status: 200, description: "An OpenAPI 3.0 document.", content: "application/json" },
    // The Worker was deployed without the files of public/.
    refusals: ["route_not_found"],
  },
  "GET /docs": {
    id: "showReference",
    tag: "About",
    summary: "Read the documents",
    description:
      "A page that leads to all others: every call of this document, and the guides. They need no script. HEAD is answered as well.",
    answer: { status: 200, description: "The page.", content: "text/html" },
    // The Worker was deployed without the files of public/.
    refusals: ["route_not_found"],
  },
} satisfies Operations;
