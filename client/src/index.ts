/**
 * The service's client, for Node 20 and newer, Deno, Bun, Workers, and (ViewerClient) browsers. It uses only what all of
 * them have.
 *
 * Names are the wire's, in camelCase, and each thing has one name: `user_group_id` in requests and `provided_id` in responses
 * are both `userGroupId` here. The keys of `mapping`, `properties` and `variables` are yours and stay as you gave them.
 */

export type { EnvironmentClient } from "./environment-client.ts";
export { OperatorClient, type OperatorClientOptions } from "./operator-client.ts";
export type {
  ApiKey,
  IssuedKey,
  IssueKeyInput,
  KeyPage,
  KeysInput,
  RevokeKeyInput,
  RollKeyInput,
  Scope,
} from "./resources/api-key.ts";
export type { Actor, Caller } from "./resources/caller.ts";
export type {
  Environment,
  EnvironmentPage,
  EnvironmentsInput,
  EraseEnvironmentInput,
  ListedEnvironment,
  LocationHint,
} from "./resources/environment.ts";
export type {
  ChangeEvent,
  EventPage,
  EventsInput,
  EventType,
  FeedReader,
  FollowInput,
} from "./resources/event.ts";
export type { CredentialReason, ExplainedCredential, ExplainInput } from "./resources/explained-credential.ts";
export type { HistoryInput, HistoryPage } from "./resources/group-history.ts";
export type { EnsureInput, RemoveInput, RotateInput, SuspendInput, UpdateInput } from "./resources/groups-by-id.ts";
export type {
  GetInput,
  GroupPage,
  ListInput,
  MergeInput,
  NumberInput,
  PurgeInput,
  RemoveByNumberInput,
  RestoreInput,
  RotateByNumberInput,
  UpdateByNumberInput,
} from "./resources/groups-by-number.ts";
export type {
  IssuedOperator,
  IssueOperatorInput,
  IssueOperatorWithoutKeyInput,
  Operator,
  OperatorPage,
  OperatorsInput,
  RevokeOperatorInput,
  Role,
  RollOperatorInput,
} from "./resources/operator.ts";
export type {
  EnsuredGroup,
  GroupFields,
  GroupState,
  ListedGroup,
  Mapping,
  NumberedGroup,
  RotatedGroup,
  UpdatedGroup,
} from "./resources/user-group.ts";
export type { EndSessionsInput, MintSessionInput, ViewerSession } from "./resources/viewer-session.ts";
export type { JsonProperties } from "./transport/json.ts";
export type { OnceOptions } from "./transport/once.ts";
export type { EnvironmentTag } from "./transport/response-body.ts";
export { UserGroupClient, type UserGroupClientOptions } from "./user-group-client.ts";
/** All that pages use, servers use too. */
export * from "./viewer.ts";
