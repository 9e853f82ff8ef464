export { GroupDirectory } from "./domain/group-directory.ts";
export { Registry } from "./domain/registry.ts";
export { app as default } from "./http/app.ts";
