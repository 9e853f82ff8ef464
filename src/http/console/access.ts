import type { LadderRole } from "../../domain/credentials/rights.ts";

/** Who may see a page or send a form of the console. A page of an environment names the environment in its path. */
export type PageAccess =
  | {
      /** An operator with this role, or a higher one. */
      role: LadderRole;
      /** Whether the page reads much at once, and has a limit of its own. */
      isList?: true;
      /** Whether a form changes nothing, so that it may be sent again. */
      changesNothing?: true;
      /** Why a form asks for the operator's own key, besides the session. A thief of the cookie lacks the key. */
      asksForKey?: KeyReason;
    }
  /** Everybody, without a session. */
  | { role?: never; isList?: never; changesNothing?: never; asksForKey?: never };

/** The next page shows a credential, which outlives the session, or what the form erases cannot be restored. */
export type KeyReason = "credential" | "erasure";

/**
 * Who may see each page and send each form, by its method and the pattern of its path. A route of the console without an entry
 * does not compile (console.tsx).
 */
export const PAGES = {
  "GET /console": {},
  "GET /console/sign-in": {},
  "POST /console/sign-in": {},
  "POST /console/sign-out": { role: "viewer" },
  "GET /console/sessions": { role: "viewer" },
  "POST /console/sessions": { role: "viewer" },
  "GET /console/environments": { role: "viewer", isList: true },
  "GET /console/environments/create": { role: "admin" },
  "POST /console/environments/create": { role: "admin", asksForKey: "credential" },
  "GET /console/events": { role: "viewer", isList: true },
  "GET /console/find-key": { role: "viewer" },
  "POST /console/find-key": { role: "viewer", changesNothing: true },
  "GET /console/operators": { role: "viewer", isList: true },
  "GET /console/operators/issue": { role: "admin" },
  "POST /console/operators/issue": { role: "admin", asksForKey: "credential" },
  "GET /console/operators/:id/roll": { role: "admin" },
  "POST /console/operators/:id/roll": { role: "admin", asksForKey: "credential" },
  "GET /console/operators/:id/revoke": { role: "admin" },
  "POST /console/operators/:id/revoke": { role: "admin" },
  "GET /console/environments/:workspace/:environment": { role: "viewer", isList: true },
  "GET /console/environments/:workspace/:environment/erase": { role: "admin" },
  "POST /console/environments/:workspace/:environment/erase": { role: "admin", asksForKey: "erasure" },
  "GET /console/environments/:workspace/:environment/events": { role: "viewer", isList: true },
  "GET /console/environments/:workspace/:environment/keys": { role: "viewer", isList: true },
  "GET /console/environments/:workspace/:environment/keys/issue": { role: "admin" },
  "POST /console/environments/:workspace/:environment/keys/issue": { role: "admin", asksForKey: "credential" },
  "GET /console/environments/:workspace/:environment/keys/:id/roll": { role: "admin" },
  "POST /console/environments/:workspace/:environment/keys/:id/roll": { role: "admin", asksForKey: "credential" },
  "GET /console/environments/:workspace/:environment/keys/:id/revoke": { role: "admin" },
  "POST /console/environments/:workspace/:environment/keys/:id/revoke": { role: "admin" },
  "GET /console/environments/:workspace/:environment/groups": { role: "viewer", isList: true },
  "GET /console/environments/:workspace/:environment/groups/:team_id": { role: "viewer" },
  "GET /console/environments/:workspace/:environment/groups/:team_id/edit": { role: "support" },
  "POST /console/environments/:workspace/:environment/groups/:team_id/edit": { role: "support" },
  "GET /console/environments/:workspace/:environment/groups/:team_id/view-as": { role: "viewer" },
  "POST /console/environments/:workspace/:environment/groups/:team_id/view-as": {
    role: "viewer",
    changesNothing: true,
  },
  "GET /console/environments/:workspace/:environment/groups/:team_id/rotate": { role: "support" },
  "POST /console/environments/:workspace/:environment/groups/:team_id/rotate": { role: "support" },
  "GET /console/environments/:workspace/:environment/groups/:team_id/suspend": { role: "support" },
  "POST /console/environments/:workspace/:environment/groups/:team_id/suspend": { role: "support" },
  "GET /console/environments/:workspace/:environment/groups/:team_id/resume": { role: "support" },
  "POST /console/environments/:workspace/:environment/groups/:team_id/resume": { role: "support" },
  "GET /console/environments/:workspace/:environment/groups/:team_id/end-sessions": { role: "support" },
  "POST /console/environments/:workspace/:environment/groups/:team_id/end-sessions": { role: "support" },
  "GET /console/environments/:workspace/:environment/groups/:team_id/delete": { role: "admin" },
  "POST /console/environments/:workspace/:environment/groups/:team_id/delete": { role: "admin" },
  "GET /console/environments/:workspace/:environment/groups/:team_id/restore": { role: "support" },
  "POST /console/environments/:workspace/:environment/groups/:team_id/restore": { role: "support" },
  "GET /console/environments/:workspace/:environment/groups/:team_id/purge": { role: "admin" },
  "POST /console/environments/:workspace/:environment/groups/:team_id/purge": { role: "admin", asksForKey: "erasure" },
} as const satisfies Record<string, PageAccess>;

/** The name of a page in the table. */
export type PageName = keyof typeof PAGES;

/** The table's entry for a request, if it has one. */
export const pageAccessOf = (method: string, pattern: string): PageAccess | undefined => {
  const name = `${method === "HEAD" ? "GET" : method} ${pattern}`;
  return isPage(name) ? PAGES[name] : undefined;
};

const isPage = (name: string): name is PageName => Object.hasOwn(PAGES, name);
