import { testPages } from "../../support/node/docs-site.ts";

testPages(false);
