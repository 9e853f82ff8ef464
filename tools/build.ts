/** `npm run build`: builds the Worker for `ug serve`. Each start does it too, unless the same sources are built already. */
import { bundleOf } from "../cli/src/serve/bundle.ts";

bundleOf({ isNew: () => console.info("Built the Worker.") });
