import { rmSync } from "node:fs";
import { inject, it, onTestFinished } from "vitest";
import { type Bundle, bundleOf } from "../../../cli/src/serve/bundle.ts";
import { OperatorClient } from "../../../client/src/index.ts";
import { report } from "../../proof/effort.ts";
import { startLoad } from "../../support/node/gated-load.ts";
import { GROWN_GROUPS, GROWN_OBJECTS, GROWN_SESSIONS } from "../../support/node/next-release.ts";
import { PREVIOUS_RELEASE, recorded } from "../../support/node/releases.ts";
import { waitUntil } from "../../support/node/service.ts";
import { bundleWith, newState, startSkewed } from "../../support/node/skewed-workerd.ts";

/** The release before this one, this one, and a planted next one, which follow one another in steps and back. */

it("under load, two deployments in steps and their rollbacks fail no call, lose no write and revive no credential", async ({
  expect,
}) => {
  const before = recorded(PREVIOUS_RELEASE).worker;
  const now = bundleOf({ isNew: () => undefined });
  const next = await bundleWith([...GROWN_OBJECTS, ...GROWN_SESSIONS, ...GROWN_GROUPS]);
  const state = newState();
  for (const folder of [next.folder, state.folder])
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  /** The Workers that requests go to, and whose Durable Objects there are. */
  const steps: [Bundle[], Bundle][] = [
    [[before, now], before],
    [[before, now], now],
    [[now], now],
    [[now, next], now],
    [[now, next], next],
    [[next], next],
    [[next, now], now],
    [[now], now],
    [[now, before], now],
    [[now, before], before],
    [[before], before],
  ];
  const roundsOfStep = inject("effort").minutes > 0 ? 20 : 1;
  let service = await startSkewed([before], before, state);
  onTestFinished(() => service.stop());
  const { url, operatorToken } = service;
  const operator = new OperatorClient({ url, operatorKey: operatorToken });
  const { key } = await operator.issueKey({ workspace: "acme", environment: "Testing", name: "load" });
  const load = startLoad({ url, isOlder: true }, { key, operatorToken });
  for (const [workers, objects] of steps) {
    await waitUntil(() => load.rounds() >= roundsOfStep, "the service was used");
    await load.hold();
    await service.stop();
    service = await startSkewed(workers, objects, state);
    load.release({ url: service.url, isOlder: objects === before || workers.includes(before) });
  }
  const failures = await load.stop();
  report("skew", load.counts);
  expect(failures).toEqual([]);
  expect(Math.min(...Object.values(load.counts))).toBeGreaterThan(20);
}, 86_400_000);
