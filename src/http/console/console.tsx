import { Hono } from "hono";
import type { ExtractSchema } from "hono/types";
import type { AppEnv } from "../app-env.ts";
import { GROUP_PATTERN, type PagePattern } from "./page-access.ts";
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
import { revokeKey, revokeKeyPage, rollKey, rollKeyPage, showKey } from "./pages/keys/changes.tsx";
import { issueKey, issueKeyPage } from "./pages/keys/issue.tsx";
import { listKeys } from "./pages/keys/list.tsx";
import {
  revokeOperator,
  revokeOperatorPage,
  rollOperatorKey,
  rollOperatorPage,
  showOperator,
} from "./pages/operators/changes.tsx";
import { issueOperatorKey, issueOperatorPage } from "./pages/operators/issue.tsx";
import { listOperators } from "./pages/operators/list.tsx";
import { endSessions, listSessions, signOut } from "./pages/own-sessions.tsx";
import { search, searchPage } from "./pages/search.tsx";
import { signIn } from "./pages/sign-in.tsx";
import { ENVIRONMENTS } from "./paths.ts";
import { admitOperator } from "./request/admit-operator.tsx";
import { protect } from "./request/protect.tsx";
import { redirect } from "./response/redirect.ts";

/** The pages of the console, for operators in a browser. They work without a script. */
const pages = new Hono<AppEnv>()
  .use("/console/*", protect, admitOperator)
  .get("/console", (c) => redirect(c, ENVIRONMENTS))
  .route("/console/sign-in", signIn)
  .route("/console/sign-out", signOut)
  .get("/console/sessions", ...listSessions)
  .post("/console/sessions", ...endSessions)
  .get("/console/environments", ...listEnvironments)
  .get("/console/environments/create", ...createEnvironmentPage)
  .post("/console/environments/create", ...createEnvironment)
  .get("/console/events", ...listDeploymentEvents)
  .get("/console/search", ...searchPage)
  .post("/console/search", ...search)
  .get("/console/operators", ...listOperators)
  .get("/console/operators/issue", ...issueOperatorPage)
  .post("/console/operators/issue", ...issueOperatorKey)
  .get("/console/operators/:id/about", ...showOperator)
  .get("/console/operators/:id/roll", ...rollOperatorPage)
  .post("/console/operators/:id/roll", ...rollOperatorKey)
  .get("/console/operators/:id/revoke", ...revokeOperatorPage)
  .post("/console/operators/:id/revoke", ...revokeOperator)
  .get("/console/environments/:workspace/:environment", ...showOverview)
  .get("/console/environments/:workspace/:environment/erase", ...eraseEnvironmentPage)
  .post("/console/environments/:workspace/:environment/erase", ...eraseEnvironment)
  .get("/console/environments/:workspace/:environment/events", ...listEvents)
  .get("/console/environments/:workspace/:environment/keys", ...listKeys)
  .get("/console/environments/:workspace/:environment/keys/issue", ...issueKeyPage)
  .post("/console/environments/:workspace/:environment/keys/issue", ...issueKey)
  .get("/console/environments/:workspace/:environment/keys/:id/about", ...showKey)
  .get("/console/environments/:workspace/:environment/keys/:id/roll", ...rollKeyPage)
  .post("/console/environments/:workspace/:environment/keys/:id/roll", ...rollKey)
  .get("/console/environments/:workspace/:environment/keys/:id/revoke", ...revokeKeyPage)
  .post("/console/environments/:workspace/:environment/keys/:id/revoke", ...revokeKey)
  .get("/console/environments/:workspace/:environment/groups", ...listGroups)
  .get("/console/environments/:workspace/:environment/groups/:team_id", ...showGroup)
  .get("/console/environments/:workspace/:environment/groups/:team_id/events", ...showHistory)
  .get("/console/environments/:workspace/:environment/groups/:team_id/edit", ...editPage)
  .post("/console/environments/:workspace/:environment/groups/:team_id/edit", ...editGroup)
  .get("/console/environments/:workspace/:environment/groups/:team_id/view-as", ...viewAsPage)
  .post("/console/environments/:workspace/:environment/groups/:team_id/view-as", ...viewAs);

for (const { word, show, make } of GROUP_CHANGE_PAGES)
  pages.get(`${GROUP_PATTERN}/${word}`, ...show).post(`${GROUP_PATTERN}/${word}`, ...make);

type Unlisted = Exclude<keyof ExtractSchema<typeof pages>, PagePattern>;

/** The router of the console. It does not compile while a page lacks its entry in the table of who may see which page. */
export const operatorConsole: [Unlisted] extends [never] ? typeof pages : Unlisted = pages;
