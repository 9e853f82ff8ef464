/** The scopes of API keys, in the order in which answers list them. */
export const SCOPES = [
  "groups:read",
  "groups:write",
  "groups:delete",
  "tokens:read",
  "tokens:rotate",
  "sessions:create",
  "events:read",
] as const;

/** One right of an API key. */
export type Scope = (typeof SCOPES)[number];

/** The roles of a ladder: each may do what those before it may. */
const LADDER = ["viewer", "support", "admin"] as const;
export type LadderRole = (typeof LADDER)[number];

/** The roles of operators. `backup` is beside the ladder: it lists environments and takes backups, and does nothing else. */
export const ROLES = [...LADDER, "backup"] as const;
export type Role = (typeof ROLES)[number];

/** The shorthands for scopes. Keys store the shorthand, so that a `write` key also gets the scopes of later releases. */
const ACCESSES: Record<Access, readonly Scope[]> = { read: ["groups:read", "events:read"], write: SCOPES };

/** `write` is all scopes. `read` has no `tokens:read`, because a key that reads tokens can view as every customer. */
export type Access = "read" | "write";

/** What an API key may do: a shorthand, or one scope or more. */
export type Grant = { access: Access; scopes?: never } | { access?: never; scopes: Scope[] };

/** A grant as keys store it. */
export const toRights = ({ access, scopes }: Grant): string => access ?? scopes.join(" ");

/** What a key's rights grant: the shorthand, or `null`, and the scopes that it means today. */
export function grantOf(rights: string): { access: Access | null; scopes: readonly Scope[] } {
  if (rights === "read" || rights === "write") return { access: rights, scopes: ACCESSES[rights] };
  const words = rights.split(" ");
  return { access: null, scopes: SCOPES.filter((scope) => words.includes(scope)) };
}

/** The role in an operator's rights. */
export const roleOf = (rights: string): Role => ROLES.find((role) => role === rights) ?? "viewer";

/** Whether `role` may do what needs `minimum`. A role beside the ladder may do nothing of it. */
export const allowsRole = (role: Role, minimum: LadderRole): boolean =>
  LADDER.slice(LADDER.indexOf(minimum)).some((each) => each === role);
