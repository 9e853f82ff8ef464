/** Pages of /docs of earlier releases, by their names, and the pages that have their content now. */
export const MOVED_PAGES: Readonly<Record<string, string>> = {
  "console-code": "recipes",
  costs: "cloudflare",
  drills: "customers",
  erasing: "customers",
  "leaked-secrets": "incidents",
  stages: "cloudflare",
};
