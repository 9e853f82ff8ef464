import { ALL_PAGES, pageAccessOf } from "../../src/http/console/page-access.ts";

/** The pages that the fixture can show. They derive from the console's own table, which has each new page. */

const OF_ENVIRONMENT = "/console/environments/:workspace/:environment";

/** The group of the fixture's shop on which a page makes sense: the first one, unless it is suspended or deleted. */
const TEAM_IDS: Record<string, string> = { resume: "4", restore: "12", purge: "12" };

const patterns = [...ALL_PAGES.keys()].filter((path) => pageAccessOf("GET", path) && path !== "/console");

const lastWord = (pattern: string) => pattern.slice(pattern.lastIndexOf("/") + 1);

/** The pages of the shop, and those of the whole deployment. */
export const SHOP_PAGES: string[] = [
  ...patterns.map((pattern) =>
    pattern
      .replace(OF_ENVIRONMENT, "/console/environments/acme/Customer")
      .replace(":team_id", TEAM_IDS[lastWord(pattern)] ?? "1")
      .replace(":id", "1"),
  ),
  "/console/environments/acme/Customer/groups?state=deleted",
];

/** The pages of the environment with hostile names. Its groups have the numbers from 1 on. */
export const HOSTILE_PAGES: string[] = patterns
  .filter((pattern) => pattern.startsWith(OF_ENVIRONMENT) && !/(?:resume|restore|purge)$/.test(pattern))
  .flatMap((pattern) => {
    const path = pattern.replace(OF_ENVIRONMENT, "/console/environments/hostile/untagged").replace(":id", "1");
    const isOfGroup = /:team_id(?:\/(?:edit|view-as))?$/.test(path);
    return isOfGroup
      ? ["1", "4", "8", "9", "10", "11", "12"].map((id) => path.replace(":team_id", id))
      : [path.replace(":team_id", "1")];
  });
