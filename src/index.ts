export { GroupDirectory } from "./domain/group-directory.ts";
export { app as default } from "./http/app.ts";
