import type { Handler } from "hono";
import type { AppEnv } from "../app-env.ts";
import { Hono } from "../hono.ts";
import type { EnvironmentEnv } from "./console-env.ts";
import { GROUP_PATTERN, type Pages } from "./page-access.ts";
import { showAttention } from "./pages/attention.tsx";
import { createEnvironment, eraseEnvironment, issueKey } from "./pages/environments/create-and-erase.tsx";
import { listEnvironments } from "./pages/environments/list.tsx";
import { showOverview } from "./pages/environments/show.tsx";
import { showEvents } from "./pages/events.tsx";
import { GROUP_CHANGE_PAGES } from "./pages/groups/changes.tsx";
import { editGroup } from "./pages/groups/edit.tsx";
import { listGroups } from "./pages/groups/list.tsx";
import { showGroup } from "./pages/groups/show.tsx";
import { viewAs } from "./pages/groups/view-as.tsx";
import { issueOperatorKey } from "./pages/issue-operator.tsx";
import { apiKeysOf, keyPages, operatorsOf } from "./pages/key-pages.tsx";
import { search } from "./pages/search.tsx";
import { endSessions, listSessions, showSignIn, signIn, signInWithCompany, signOut } from "./pages/sign-in.tsx";
import { ENVIRONMENTS } from "./paths.ts";
import { admitOperator } from "./request/admit-operator.ts";
import { protect } from "./request/protect.ts";
import { redirect } from "./response/respond-with-page.tsx";

/** A page: what it shows, and what its form does. A page that lacks one of those that its entry in the table of access names does not compile. */
type Page<Access> = (Access extends { form: { hasNoPage: true } } ? object : { show: Handler<EnvironmentEnv> }) &
  (Access extends { form: object } ? { send: Handler<EnvironmentEnv> } : { send?: never });

const operators = keyPages(operatorsOf);
const keys = keyPages(apiKeysOf);

const PAGES: { [Pattern in keyof Pages]: Page<Pages[Pattern]> } = {
  "/console": { show: (c) => redirect(c, ENVIRONMENTS) },
  "/console/sign-in": { show: showSignIn, send: signIn },
  "/console/sign-in/company": { send: signInWithCompany },
  "/console/sign-out": { send: signOut },
  "/console/sessions": { show: listSessions, send: endSessions },
  "/console/environments": { show: listEnvironments },
  "/console/environments/create": createEnvironment,
  "/console/events": { show: showEvents },
  "/console/attention": { show: showAttention },
  "/console/search": { send: search },
  "/console/operators": operators.list,
  "/console/operators/issue": issueOperatorKey,
  "/console/operators/:id/about": operators.about,
  "/console/operators/:id/end": operators.end,
  "/console/environments/:workspace/:environment": { show: showOverview },
  "/console/environments/:workspace/:environment/erase": eraseEnvironment,
  "/console/environments/:workspace/:environment/keys": keys.list,
  "/console/environments/:workspace/:environment/keys/issue": issueKey,
  "/console/environments/:workspace/:environment/keys/:id/about": keys.about,
  "/console/environments/:workspace/:environment/keys/:id/end": keys.end,
  "/console/environments/:workspace/:environment/groups": { show: listGroups },
  "/console/environments/:workspace/:environment/groups/:team_id": { show: showGroup },
  "/console/environments/:workspace/:environment/groups/:team_id/edit": editGroup,
  "/console/environments/:workspace/:environment/groups/:team_id/view-as": viewAs,
};

/** The pages of the console, for operators in a browser. They work without a script. */
export const operatorConsole = new Hono<AppEnv>().use("/console/*", protect, admitOperator);

type AnyPage = { show?: Handler<EnvironmentEnv>; send?: Handler<EnvironmentEnv> };

for (const [pattern, { show, send }] of [
  ...Object.entries<AnyPage>(PAGES),
  ...GROUP_CHANGE_PAGES.map(({ word, ...page }) => [`${GROUP_PATTERN}/${word}`, page] as const),
]) {
  if (show) operatorConsole.get(pattern, show);
  if (send) operatorConsole.post(pattern, send);
}
