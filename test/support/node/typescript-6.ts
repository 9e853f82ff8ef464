/** Gives generators TypeScript 6, which they drive by an API that TypeScript 7 does not have. Loaded with --import. */
import { registerHooks } from "node:module";

const TYPESCRIPT_6 = import.meta.resolve("@ts-morph/common").replace(/[^/]+$/, "typescript.js");

registerHooks({
  resolve: (specifier, context, next) => next(specifier === "typescript" ? TYPESCRIPT_6 : specifier, context),
});
