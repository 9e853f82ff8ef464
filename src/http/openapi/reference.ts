import * as z from "zod";
import packageFile from "../../../package.json" with { type: "json" };
import { content, field } from "./fields.ts";
import type { Operations } from "./operation.ts";

const { version } = packageFile;

const Version = field(z.string(), "The version of the service.", version);

const READINESS = content("Readiness", {
  ready: field(z.literal(true), "The service can serve calls.", true),
  version: Version,
  jurisdiction: field(
    z.enum(["eu", "us"]).nullable(),
    "Where the platform keeps all data, or null for no restriction.",
    null,
  ),
});

const link = (what: string, path: string) => field(z.string(), `The path of ${what}.`, path);

const SERVICE = content("Service", {
  name: field(z.literal("user-group-service"), "The name of the service."),
  version: Version,
  links: field(
    z.strictObject({
      openapi: link("this document", "/openapi.json"),
      docs: link("the pages to read", "/docs"),
      console: field(
        z.nullable(z.string()),
        "The path of the operators' console, or null if it is turned off.",
        "/console",
      ),
      health: link("the check that the service is configured", "/health"),
    }),
    "What else is here, for those who know only the address.",
  ),
});

/** The calls that take no credential. */
export const referenceOperations = {
  "GET /ready": {
    id: "checkReadiness",
    summary: "Check that the service can serve calls",
    description:
      "Asks the registry, at most every 5 seconds, whether it answers and its storage can be read and written. It takes no credential. HEAD is answered as well.",
    answer: { description: "It can.", content: READINESS },
    refusals: ["not_ready"],
  },
  "GET /": {
    id: "describeService",
    summary: "Get the name, the version and the links of the service",
    description: "HEAD is answered as well.",
    answer: { description: "What is here.", content: SERVICE, headers: ["Vary"] },
    redirectDescription:
      "The request accepts `text/html`, as that of a browser does: the console is there, or `/docs` if the console is turned off.",
  },
  "GET /health": {
    id: "checkHealth",
    summary: "Check that the service is configured",
    description: "HEAD is answered as well.",
    answer: { description: "It is.", content: content("Health", { version: Version }) },
  },
  "GET /openapi.json": {
    id: "describeApi",
    summary: "Get this document",
    description: "HEAD is answered as well.",
    answer: { description: "An OpenAPI 3.1 document.", content: "application/json" },
  },
  "GET /openapi-3.0.json": {
    id: "describeApiIn30",
    summary: "Get this document in OpenAPI 3.0",
    description: "For generators that read no 3.1. It says the same. HEAD is answered as well.",
    answer: { description: "An OpenAPI 3.0 document.", content: "application/json" },
    // The Worker was deployed without the files of public/.
    refusals: ["route_not_found"],
  },
  "GET /docs": {
    id: "showReference",
    summary: "Read the documents",
    description:
      "A page that leads to all others: every call of this document, and the guides. They need no script. HEAD is answered as well.",
    answer: { description: "The page.", content: "text/html" },
    // The Worker was deployed without the files of public/.
    refusals: ["route_not_found"],
  },
} satisfies Operations;
