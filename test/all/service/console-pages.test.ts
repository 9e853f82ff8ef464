import { testPages, testTasks } from "../../support/node/console-site.ts";

testPages(false);
testTasks("mouse");
