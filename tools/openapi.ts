/**
 * `npm run openapi [FILE]`: generates the OpenAPI document from the schemas that validate the calls, and writes it to FILE. The
 * default is the committed file.
 */
import { readFileSync, writeFileSync } from "node:fs";

// Not by name, so that the types of the Workers runtime, which contradict Node's, stay out of this program.
const { documentOf } = await import(new URL("../src/http/document.ts", import.meta.url).href);

const { version } = JSON.parse(readFileSync("package.json", "utf8"));
const [file = "public/openapi.json"] = process.argv.slice(2);
writeFileSync(file, `${JSON.stringify(documentOf(version), null, 2)}\n`);
