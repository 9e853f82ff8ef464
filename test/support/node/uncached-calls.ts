import { UserGroupClient, ViewerClient } from "../../../client/src/index.ts";

const TOKEN = "ugt_testing_x";
const SESSION = "eyJ.a.b";

/** What each call asks of the caches on its way, as `Cache-Control`. */
export const CALLS = {
  "a view with a token": "no-cache",
  "a view with a session": "max-age=300",
  "a view with a session as token": "max-age=300",
  "a view with a session and an age": "max-age=60",
  "SQL with a session": "max-age=300",
  "an ensure": "no-cache",
  "a list": "no-cache",
};

/** The calls. They run in this process, and in a Worker. */
export const callsOf = (url: string): Record<keyof typeof CALLS, () => Promise<unknown>> => {
  const groups = new UserGroupClient({ url, apiKey: "ugk_testing_x" });
  const session = async () => ({ token: SESSION, expires_in_seconds: 300 });
  const viewer = new ViewerClient({ url, session });
  return {
    "a view with a token": () => new ViewerClient({ url, token: TOKEN }).view(),
    "a view with a session": () => viewer.view(),
    "a view with a session as token": () => groups.asViewer({ session: SESSION }).view(),
    "a view with a session and an age": () => viewer.view({ maxAgeSeconds: 60 }),
    "SQL with a session": () => viewer.bindQuery({ sql: "" }),
    "an ensure": () => groups.ensure({ userGroupId: "a" }),
    "a list": () => groups.listPage(),
  };
};
