import type { LadderRole } from "../../domain/credentials/rights.ts";

/** Who may see a page of the console, and who may send its form. A page of an environment names the environment in its path. */
export type PageAccess = {
  /** An operator with this role, or a higher one. Without it, everybody, also without a session. */
  role?: LadderRole;
  /** Whether the page reads much at once, and has a limit of its own. */
  isList?: true;
  /** The form of the page, which is sent to the page's own path; `undefined` if it has none. */
  form?: {
    /** Whether the form changes nothing, so that it may be sent again. */
    changesNothing?: true;
    /** Why the form asks for the operator's own key, besides the session. A thief of the cookie lacks the key. */
    asksForKey?: KeyReason;
    /** Whether the form is on other pages, and its path shows none. */
    hasNoPage?: true;
    /** Whether the form only ends its session, which needs no assertion of the company: that may be over, or be for another person by now. */
    endsSession?: true;
  };
};

/** The next page shows a credential, which outlives the session, or what the form erases cannot be restored. */
export type KeyReason = "credential" | "erasure";

/** The pages below that of a group which change it, by the last word of their paths. */
const GROUP_CHANGES = {
  rotate: { role: "support", form: {} },
  suspend: { role: "support", form: {} },
  resume: { role: "support", form: {} },
  "end-sessions": { role: "support", form: {} },
  delete: { role: "admin", form: {} },
  restore: { role: "support", form: {} },
  purge: { role: "admin", form: { asksForKey: "erasure" } },
} as const satisfies Record<string, PageAccess>;

export type GroupChange = keyof typeof GROUP_CHANGES;

export const GROUP_PATTERN = "/console/environments/:workspace/:environment/groups/:team_id";

/** Who may see each other page and send its form, by the pattern of its path. A page without an entry does not compile (console.ts). */
const PAGES = {
  "/console": {},
  "/console/sign-in": { form: {} },
  "/console/sign-in/company": { form: { hasNoPage: true } },
  "/console/sign-out": { role: "viewer", form: { hasNoPage: true, endsSession: true } },
  "/console/sessions": { role: "viewer", form: {} },
  "/console/environments": { role: "viewer", isList: true },
  "/console/environments/create": { role: "admin", form: { asksForKey: "credential" } },
  "/console/events": { role: "viewer", isList: true },
  "/console/attention": { role: "viewer", isList: true },
  "/console/search": { role: "viewer", form: { changesNothing: true, hasNoPage: true } },
  "/console/operators": { role: "viewer", isList: true },
  "/console/operators/issue": { role: "admin", form: { asksForKey: "credential" } },
  "/console/operators/:id/about": { role: "viewer", isList: true },
  "/console/operators/:id/end": { role: "admin", form: { asksForKey: "credential" } },
  "/console/environments/:workspace/:environment": { role: "viewer", isList: true },
  "/console/environments/:workspace/:environment/erase": { role: "admin", form: { asksForKey: "erasure" } },
  "/console/environments/:workspace/:environment/keys": { role: "viewer", isList: true },
  "/console/environments/:workspace/:environment/keys/issue": { role: "admin", form: { asksForKey: "credential" } },
  "/console/environments/:workspace/:environment/keys/:id/about": { role: "viewer", isList: true },
  "/console/environments/:workspace/:environment/keys/:id/end": { role: "admin", form: { asksForKey: "credential" } },
  "/console/environments/:workspace/:environment/groups": { role: "viewer", isList: true },
  "/console/environments/:workspace/:environment/groups/:team_id": { role: "viewer" },
  "/console/environments/:workspace/:environment/groups/:team_id/edit": { role: "support", form: {} },
  "/console/environments/:workspace/:environment/groups/:team_id/view-as": {
    role: "viewer",
    form: { changesNothing: true },
  },
} as const satisfies Record<string, PageAccess>;

export type Pages = typeof PAGES;

/** Every page of the console, by the pattern of its path. */
export const ALL_PAGES: ReadonlyMap<string, PageAccess> = new Map<string, PageAccess>([
  ...Object.entries(PAGES),
  ...Object.entries(GROUP_CHANGES).map(([word, access]) => [`${GROUP_PATTERN}/${word}`, access] as const),
]);

/** Who may make a request to a path of this pattern: see its page, or with POST send its form. `undefined` if there is none. */
export function pageAccessOf(method: string, pattern: string): PageAccess | undefined {
  const access = ALL_PAGES.get(pattern);
  const isThere =
    method === "POST" ? access?.form : (method === "GET" || method === "HEAD") && !access?.form?.hasNoPage;
  return isThere ? access : undefined;
}
