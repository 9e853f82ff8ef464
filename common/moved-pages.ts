/** Pages of /docs of earlier releases, by their names, and the pages that have their content now. */
export const MOVED_PAGES: Readonly<Record<string, string>> = {
  "behind-a-proxy": "gateways",
  clients: "typescript-client",
  "console-code": "recipes",
  costs: "cloudflare",
  drills: "customers",
  erasing: "customers",
  "groups-by-number": "lifecycle",
  iframes: "embedding",
  "leaked-secrets": "incidents",
  "merging-customers": "lifecycle",
  outages: "going-live",
  retries: "api",
  stages: "cloudflare",
  "testing-your-integration": "going-live",
};
