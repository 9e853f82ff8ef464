/**
 * `node tools/kit/record.ts`: records the kit of the version on top of CHANGELOG.md, whose names then have no hash. A release does it once, after
 * its last change.
 */
import { ROOT } from "../../cli/src/serve/bundle.ts";
import { recordKit } from "./kit.ts";

console.info(`Recorded the kit of ${await recordKit(ROOT)} in client/releases/.`);
