import { expect, it } from "vitest";
import { MOVED_PAGES } from "../../../common/moved-pages.ts";
import { call } from "../../support/client.ts";

const undocumented = "the document has no pages of /docs";

it.for(Object.entries(MOVED_PAGES).flatMap(([from, to]) => ["", ".md"].map((end) => [from + end, to + end] as const)))(
  "/docs/%s leads to /docs/%s on Workers, for good, and that page is there",
  async ([from, to]) => {
    for (const method of ["GET", "HEAD"]) {
      const { status, headers, body } = await call(method, `/docs/${from}`, { undocumented });
      expect([status, headers.get("Location"), body]).toEqual([301, `/docs/${to}`, undefined]);
    }
    expect((await call("GET", `/docs/${to}`, { undocumented })).status).toBe(200);
  },
);
