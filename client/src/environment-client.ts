import { type FeedReader, feedReader } from "./resources/event.ts";
import { groupHistory } from "./resources/group-history.ts";
import { type GroupsByNumber, groupsByNumber } from "./resources/groups-by-number.ts";
import { sessionEnds } from "./resources/viewer-session.ts";
import type { Connection, Query } from "./transport/connection.ts";

/**
 * The calls of one environment that both an API key and an operator may make. None of them shows a token. An operator gets
 * this from `inEnvironment`; a `UserGroupClient` is one, so a function that takes an `EnvironmentClient` works for both.
 */
export type EnvironmentClient = GroupsByNumber &
  FeedReader &
  ReturnType<typeof groupHistory> &
  ReturnType<typeof sessionEnds>;

/** `environment` names the environment, where the credential does not. */
export const environmentClient = (connection: Connection, environment: Query = {}): EnvironmentClient => ({
  ...groupsByNumber(connection, environment),
  ...groupHistory(connection, environment),
  ...feedReader(connection, environment),
  ...sessionEnds(connection, environment),
});
