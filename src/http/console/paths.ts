import { directoryName, type Environment, findEnvironment, tagWord } from "../../../common/environment.ts";

export const CONSOLE = "/console";
export const SIGN_IN = `${CONSOLE}/sign-in`;
export const SIGN_OUT = `${CONSOLE}/sign-out`;
export const ENVIRONMENTS = `${CONSOLE}/environments`;
export const OPERATORS = `${CONSOLE}/operators`;
export const EVENTS = `${CONSOLE}/events`;
export const ATTENTION = `${CONSOLE}/attention`;
export const CREATE_ENVIRONMENT = `${ENVIRONMENTS}/create`;
export const SEARCH = `${CONSOLE}/search`;
export const SESSIONS = `${CONSOLE}/sessions`;

/** The path of an environment's overview, below which its other pages are. */
export const environmentPath = ({ workspace, tag }: Environment): string =>
  `${ENVIRONMENTS}/${workspace}/${tagWord(tag)}`;

export const groupPath = (environment: Environment, teamId: number): string =>
  `${environmentPath(environment)}/groups/${teamId}`;

/** The path of the page of events, with those of one environment, or of one of its groups. */
export const eventsPath = (environment: Environment, filter: { team_id?: string } = {}): string =>
  withQuery(EVENTS, { environment: directoryName(environment), ...filter });

export const operatorPath = (id: number): string => `${OPERATORS}/${id}/about`;

/** The path of an API key, or without an environment of an operator. */
export const keyPath = (environment: Environment | undefined, id: number): string =>
  environment ? `${environmentPath(environment)}/keys/${id}/about` : operatorPath(id);

/** The environment that the path of a page names; `undefined` if no environment can have that name. */
export function environmentOfPath(path: string): Environment | undefined {
  if (!path.startsWith(`${ENVIRONMENTS}/`)) return undefined;
  const [workspace = "", word = ""] = path.slice(ENVIRONMENTS.length + 1).split("/");
  return findEnvironment(`${workspace}/${word}`);
}

/** A path with a query. Fields without a value are left out. */
export function withQuery(path: string, fields: Record<string, string | undefined>): string {
  const given = Object.entries(fields).filter((field): field is [string, string] => (field[1] ?? "") !== "");
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`;
}
