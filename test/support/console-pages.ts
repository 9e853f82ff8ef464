import { ALL_PAGES, pageAccessOf } from "../../src/http/console/page-access.ts";

/** The requests that the table of the console's pages allows, such as `POST /console/sign-in`. */
export const PAGE_NAMES: string[] = [...ALL_PAGES.keys()].flatMap((path) =>
  ["GET", "POST"].filter((method) => pageAccessOf(method, path)).map((method) => `${method} ${path}`),
);
