import { rmSync } from "node:fs";
import { expect, inject, it, onTestFinished } from "vitest";
import { type Bundle, bundleOf } from "../../../cli/src/serve/bundle.ts";
import { issueKey } from "../../../tools/bench/service.ts";
import { report } from "../../proof/effort.ts";
import { startLoad } from "../../support/node/gated-load.ts";
import { GROWN_GROUPS, GROWN_OBJECTS, GROWN_SESSIONS } from "../../support/node/next-release.ts";
import { RELEASES, recorded } from "../../support/node/releases.ts";
import { waitUntil } from "../../support/node/service.ts";
import { bundleWith, newState, startSkewed } from "../../support/node/skewed-workerd.ts";

/** A recorded release, this one, and a planted next one, which follow one another in steps and back. */

/** Whether a release lacks calls that the load makes. */
const lacksCalls = (release: string) =>
  !recorded(release).promises.some((promise) => promise.startsWith("GET /api/user_groups/{team_id}/events "));

it.for(RELEASES)(
  "under load, deployments in steps from %s and their rollbacks fail no call, lose no write and revive no credential",
  async (release) => {
    const before = recorded(release).worker;
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
    const load = startLoad({ url, isOlder: true }, { key: await issueKey(url, "acme"), operatorToken });
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
    const { refused, ...made } = load.counts;
    expect(Math.min(...Object.values(made))).toBeGreaterThan(20);
    expect(refused > 20).toBe(lacksCalls(release));
  },
);
