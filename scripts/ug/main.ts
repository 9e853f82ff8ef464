/** Where `ug` was in 1.0. Units that were copied then start this file. */
import "../../cli/src/main.ts";
