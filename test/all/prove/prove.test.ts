import { describeFixes, describeProver, ENGINES } from "../../support/node/prover.ts";

const [FIRST, SECOND] = ENGINES;
describeProver(SECOND);
describeFixes(FIRST);
describeFixes(SECOND);
