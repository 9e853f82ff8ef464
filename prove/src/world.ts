/** What each check looks at. */
import type { Callers } from "./callers.ts";
import type { Catalogue, Relation } from "./catalogue.ts";
import type { Forms } from "./expressions/forms.ts";
import type { Caller } from "./expressions/terms.ts";

export type World = {
  catalogue: Catalogue;
  forms: Forms;
  callers: Callers;
  /** Columns that exact policies compare with a caller. */
  comparisons: { relation: number; column: Relation["columns"][number]; caller: Caller }[];
  /** Whether the user has judged an object, by its name. */
  isAccepted: (object: string) => boolean;
  /** Whether the numbers of the database are its own, so that no policy must name an environment. */
  anyEnvironment: boolean;
};
