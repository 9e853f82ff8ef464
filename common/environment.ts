/** The values of `api_environment_tag`; `null` is the environment without one. */
export const ENVIRONMENT_TAGS = ["Customer", "Testing", null] as const;
export type EnvironmentTag = (typeof ENVIRONMENT_TAGS)[number];

/** The scope in which a `user_group_id` is unique, and in which an API key acts. */
export type Environment = { workspace: string; tag: EnvironmentTag };

/** A workspace's slug: 1 to 40 lower-case letters, digits and hyphens, no hyphen first. */
export const WORKSPACE = /^[a-z0-9][a-z0-9-]{0,39}$/;

/** A tag in names and in credentials. */
export const tagWord = (tag: EnvironmentTag): string => tag ?? "untagged";

/** The name of an environment's directory. A change of it would lose all groups. */
export const directoryName = ({ workspace, tag }: Environment): string => `${workspace}/${tagWord(tag)}`;

/** The environment whose directory has this name; `undefined` for any other text. */
export function findEnvironment(name: string): Environment | undefined {
  const [workspace = ""] = name.split("/");
  const environment = ENVIRONMENT_TAGS.map((tag) => ({ workspace, tag })).find((each) => directoryName(each) === name);
  return environment && WORKSPACE.test(workspace) ? environment : undefined;
}

/** The environment whose directory has this name; throws for any other text. */
export function parseDirectoryName(name: string): Environment {
  const environment = findEnvironment(name);
  if (!environment) throw new Error(`${name} is no name of a directory.`);
  return environment;
}
