import { createFactory } from "hono/factory";
import { allowsRole } from "../../../../domain/credentials/rights.ts";
import type { RequestContext } from "../../../app-env.ts";
import { rollApiKey } from "../../../operations/keys.ts";
import { Rights } from "../../components/key-details.tsx";
import { Text, Time } from "../../components/text.tsx";
import type { EnvironmentEnv } from "../../console-env.ts";
import { environmentPath, keyPath } from "../../paths.ts";
import { refuseWithPage } from "../../response/respond-with-page.tsx";
import { type KeyKind, revokeKeyOf, rollKeyOf, showKeyOf, showRevokePage, showRollPage } from "../key-changes.tsx";

/** The API keys of the environment in the path. */
function apiKeysOf(c: RequestContext<EnvironmentEnv>): KeyKind {
  const manager = {
    ring: c.get("ring"),
    directory: c.get("directory"),
    environment: c.get("environment"),
    operator: c.get("operator"),
  };
  const { directory, environment, operator } = manager;
  return {
    listPath: `${environmentPath(environment)}/keys`,
    listTitle: "API keys",
    environment,
    pathOf: (id) => keyPath(environment, id),
    rights: "May",
    canChange: () => allowsRole(operator.role, "admin"),
    titleOf: (id) => `API key ${id}`,
    describe: ({ key }) => (
      <>
        Key {key.id}, <Text value={key.name} />: <Rights rights={key.rights} />. Last used{" "}
        <Time at={key.lastUsedAt} none="never" />.
      </>
    ),
    find: async (id) => {
      const found = await directory.findKeys(operator, [id]);
      return found.ok ? found.value[0] : refuseWithPage(c, found.failure);
    },
    setSubject: (id) => c.set("subjectKeyId", id),
    roll: {
      title: (id) => `Roll API key ${id}`,
      effects: [
        "A new key with the same name, scopes and expiry takes its place. Its text is shown once, on the next page.",
        "The old key is refused after the grace, and with it the viewer sessions that it has minted.",
      ],
      graceSeconds: "3600",
      run: (input) => rollApiKey(manager, input),
    },
    revoke: {
      title: (id) => `Revoke API key ${id}`,
      effects: () => [
        "From now on the service refuses it, and the viewer sessions that it has minted. The program that uses it stops working.",
        "This cannot be undone. To replace the key without a break, roll it with a grace instead.",
      ],
      button: "Revoke the key",
      run: (id) => directory.revokeKey(operator, id),
    },
  };
}

const factory = createFactory<EnvironmentEnv>();

/** The page of an API key. */
export const showKey = factory.createHandlers((c) => showKeyOf(c, apiKeysOf(c)));

/** The page on which to roll an API key. */
export const rollKeyPage = factory.createHandlers((c) => showRollPage(c, apiKeysOf(c)));

/** Rolls an API key, and shows the text of the new one once. */
export const rollKey = factory.createHandlers((c) => rollKeyOf(c, apiKeysOf(c)));

/** The page on which to revoke an API key. */
export const revokeKeyPage = factory.createHandlers((c) => showRevokePage(c, apiKeysOf(c)));

/** Revokes an API key. */
export const revokeKey = factory.createHandlers((c) => revokeKeyOf(c, apiKeysOf(c)));
