/** The wire's `api_environment_tag`; `null` is the environment without one. */
export type EnvironmentTag = "Customer" | "Testing" | null;

const TAGS: EnvironmentTag[] = ["Customer", "Testing", null];

/** The scope in which a `user_group_id` is unique, and in which an API key acts. */
export type Environment = { workspace: string; tag: EnvironmentTag };

/** A workspace's slug: 1 to 40 lower-case letters, digits and hyphens, no hyphen first. */
export const WORKSPACE = /^[a-z0-9][a-z0-9-]{0,39}$/;

/** The name of an environment's directory. A change of it would lose all groups. */
export const directoryName = ({ workspace, tag }: Environment): string => `${workspace}/${tag ?? "untagged"}`;

/** The environment of a directory's name; `undefined` for any other text. */
export function findEnvironment(name: string): Environment | undefined {
  const [workspace = "", word] = name.split("/");
  const tag = TAGS.find((each) => (each ?? "untagged") === word);
  if (tag === undefined || !WORKSPACE.test(workspace)) return undefined;
  const environment = { workspace, tag };
  return directoryName(environment) === name ? environment : undefined;
}

/** The environment of a directory's name; throws for any other text. */
export function parseDirectoryName(name: string): Environment {
  const environment = findEnvironment(name);
  if (!environment) throw new Error(`${name} is no name of a directory.`);
  return environment;
}
