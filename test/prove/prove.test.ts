import { describeProver, ENGINES } from "../support/node/prover.ts";

describeProver(ENGINES[0]);
