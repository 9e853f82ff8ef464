import { Hono } from "hono";
import type { ExtractSchema } from "hono/types";
import type { AppEnv } from "../app-env.ts";
import type { PageName } from "./access.ts";
import { listGroups } from "./pages/groups/list.tsx";
import { signIn } from "./pages/sign-in.tsx";
import { signOut } from "./pages/sign-out.ts";
import { ENVIRONMENTS } from "./paths.ts";
import { authorize } from "./request/authorize.tsx";
import { protect } from "./request/protect.tsx";
import { redirect } from "./response/redirect.ts";

/** The pages of the console, for operators in a browser. They work without a script. */
const pages = new Hono<AppEnv>()
  .use("/console", protect, authorize)
  .use("/console/*", protect, authorize)
  .get("/console", (c) => redirect(c, ENVIRONMENTS))
  .route("/console/sign-in", signIn)
  .route("/console/sign-out", signOut)
  .get("/console/environments/:workspace/:environment/groups", ...listGroups);

/** The routes of the console, such as `GET /console`. */
type PagesOf<Schema> = {
  [Path in keyof Schema & string]: `${Uppercase<MethodOf<keyof Schema[Path]>>} ${Path}`;
}[keyof Schema & string];
type MethodOf<Key> = Key extends `$${infer Method}` ? Method : never;
type Unlisted = Exclude<PagesOf<ExtractSchema<typeof pages>>, PageName>;

/** The router of the console. It does not compile while a page lacks its entry in the table of who may see which page. */
export const operatorConsole: [Unlisted] extends [never] ? typeof pages : Unlisted = pages;
