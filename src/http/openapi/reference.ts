import * as z from "zod";
import packageFile from "../../../package.json" with { type: "json" };
import { Success } from "./fields.ts";
import type { Operations } from "./operation.ts";

const { version } = packageFile;

const Health = z.strictObject({
  success: Success,
  version: z.string().meta({ description: "The version of the service.", examples: [version] }),
});

/** The calls that take no credential. */
export const referenceOperations: Operations = {
  "/health": {
    get: {
      id: "checkHealth",
      tag: "About",
      summary: "Check that the service is configured",
      description: "HEAD is answered as well.",
      answer: { status: 200, description: "It is.", content: { name: "Health", schema: Health } },
      refusals: [],
    },
  },
  "/openapi.json": {
    get: {
      id: "describeApi",
      tag: "About",
      summary: "Get this document",
      description: "HEAD is answered as well.",
      answer: { status: 200, description: "An OpenAPI 3.1 document.", content: "application/json" },
      refusals: [],
    },
  },
  "/docs": {
    get: {
      id: "showReference",
      tag: "About",
      summary: "Read this document",
      description: "A page that shows this document. HEAD is answered as well.",
      answer: { status: 200, description: "The page.", content: "text/html" },
      refusals: [],
    },
  },
  "/demo": {
    get: {
      id: "showDemo",
      tag: "About",
      summary: "See what a viewer sees",
      description:
        "A page on which to paste a token. It is there only where the operator has turned it on. HEAD is answered as well.",
      answer: { status: 200, description: "The page.", content: "text/html" },
      refusals: ["route_not_found"],
    },
  },
};
