import { ok } from "../../../../../common/result.ts";
import { allowsRole } from "../../../../domain/credentials/rights.ts";
import type { RequestContext } from "../../../app-env.ts";
import { rollApiKey } from "../../../operations/keys.ts";
import { admitAgain } from "../../../request/admit-caller.ts";
import { Rights } from "../../components/key-details.tsx";
import { Text, Time } from "../../components/text.tsx";
import type { EnvironmentEnv } from "../../console-env.ts";
import { environmentPath, keyPath } from "../../paths.ts";
import type { KeyKind } from "../key-pages.tsx";

/** The API keys of the environment in the path. */
export function apiKeysOf(c: RequestContext<EnvironmentEnv>): KeyKind {
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
    issue: "Issue a key",
    empty: "No keys. A program of the integrator needs one to call the API.",
    done: { revoked: "The key is revoked: the service refuses it and the sessions that it has minted." },
    list: async (query) =>
      query ? admitAgain(c, await directory.listKeys(operator, query)) : ok({ keys: [], next: null }),
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
    find: (ids) => directory.findKeys(operator, ids),
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
