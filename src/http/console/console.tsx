import { type Handler, Hono } from "hono";
import type { AppEnv } from "../app-env.ts";
import type { EnvironmentEnv } from "./console-env.ts";
import { GROUP_PATTERN, type Pages } from "./page-access.ts";
import { createEnvironment, createEnvironmentPage } from "./pages/environments/create.tsx";
import { eraseEnvironment, eraseEnvironmentPage } from "./pages/environments/erase.tsx";
import { listEnvironments } from "./pages/environments/list.tsx";
import { showOverview } from "./pages/environments/show.tsx";
import { listDeploymentEvents, listEvents } from "./pages/events.tsx";
import { GROUP_CHANGE_PAGES } from "./pages/groups/changes.tsx";
import { editGroup, editPage } from "./pages/groups/edit.tsx";
import { showHistory } from "./pages/groups/history.tsx";
import { listGroups } from "./pages/groups/list.tsx";
import { showGroup } from "./pages/groups/show.tsx";
import { viewAs, viewAsPage } from "./pages/groups/view-as.tsx";
import { keyPages } from "./pages/key-pages.tsx";
import { issueKey, issueKeyPage } from "./pages/keys/issue.tsx";
import { apiKeysOf } from "./pages/keys/kind.tsx";
import { issueOperatorKey, issueOperatorPage } from "./pages/operators/issue.tsx";
import { operatorsOf } from "./pages/operators/kind.tsx";
import { endSessions, listSessions, signOut } from "./pages/own-sessions.tsx";
import { search, searchPage } from "./pages/search.tsx";
import { showSignIn, signIn, signInWithCompany } from "./pages/sign-in.tsx";
import { ENVIRONMENTS } from "./paths.ts";
import { admitOperator } from "./request/admit-operator.tsx";
import { protect } from "./request/protect.tsx";
import { redirect } from "./response/respond-with-page.tsx";

/** A page: what it shows, and what its form does. A page that lacks one of those that its entry in the table of access names does not compile. */
type Page<Access> = (Access extends { form: { hasNoPage: true } } ? object : { show: Handler<EnvironmentEnv> }) &
  (Access extends { form: object } ? { send: Handler<EnvironmentEnv> } : { send?: never });

const operators = keyPages(operatorsOf);
const keys = keyPages(apiKeysOf);

/** The pages by the patterns of their paths. */
const PAGES: { [Pattern in keyof Pages]: Page<Pages[Pattern]> } = {
  "/console": { show: (c) => redirect(c, ENVIRONMENTS) },
  "/console/sign-in": { show: showSignIn, send: signIn },
  "/console/sign-in/company": { send: signInWithCompany },
  "/console/sign-out": { send: signOut },
  "/console/sessions": { show: listSessions, send: endSessions },
  "/console/environments": { show: listEnvironments },
  "/console/environments/create": { show: createEnvironmentPage, send: createEnvironment },
  "/console/events": { show: listDeploymentEvents },
  "/console/search": { show: searchPage, send: search },
  "/console/operators": operators.list,
  "/console/operators/issue": { show: issueOperatorPage, send: issueOperatorKey },
  "/console/operators/:id/about": operators.about,
  "/console/operators/:id/roll": operators.roll,
  "/console/operators/:id/revoke": operators.revoke,
  "/console/environments/:workspace/:environment": { show: showOverview },
  "/console/environments/:workspace/:environment/erase": { show: eraseEnvironmentPage, send: eraseEnvironment },
  "/console/environments/:workspace/:environment/events": { show: listEvents },
  "/console/environments/:workspace/:environment/keys": keys.list,
  "/console/environments/:workspace/:environment/keys/issue": { show: issueKeyPage, send: issueKey },
  "/console/environments/:workspace/:environment/keys/:id/about": keys.about,
  "/console/environments/:workspace/:environment/keys/:id/roll": keys.roll,
  "/console/environments/:workspace/:environment/keys/:id/revoke": keys.revoke,
  "/console/environments/:workspace/:environment/groups": { show: listGroups },
  "/console/environments/:workspace/:environment/groups/:team_id": { show: showGroup },
  "/console/environments/:workspace/:environment/groups/:team_id/events": { show: showHistory },
  "/console/environments/:workspace/:environment/groups/:team_id/edit": { show: editPage, send: editGroup },
  "/console/environments/:workspace/:environment/groups/:team_id/view-as": { show: viewAsPage, send: viewAs },
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
