import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import openapi from "../../public/openapi.json" with { type: "json" };

const page = readFileSync("docs/alerts.md", "utf8");
const sources = readdirSync("src", { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".ts"))
  .map((file) => readFileSync(join("src", file), "utf8"));

/** The beginning of each message that the service logs as a warning or an error, up to its first value. */
const messages = sources.flatMap((source) =>
  [...source.matchAll(/log\.(?:warn|error)\(\{[^}]*?message: ["`]([^"`$]+?)(?:\.|["`$])/g)].map(([, text = ""]) =>
    text.replace(/"$/, ""),
  ),
);

it("the page of alerts has every message that the service logs without a request", () => {
  expect(messages.length).toBeGreaterThan(4);
  for (const message of messages) expect(page).toContain(message);
});

it("the page of alerts names every failure of the service itself", () => {
  const names = Object.entries<{ content: Record<string, { schema: object }> }>(openapi.components.responses)
    .filter(([name]) =>
      /^(?:internal_error|.*overloaded|.*unavailable|.*not_configured|.*full|.*restoring|not_ready)/.test(name),
    )
    .flatMap(([name]) => name.split("-or-"));
  expect(names.length).toBeGreaterThan(4);
  for (const name of names) expect(page, name).toContain(`"failure":"${name}"`);
});

it("the texts by which to find a line are fields that the service logs", () => {
  const log = readFileSync("src/http/app.ts", "utf8");
  const fields = [...page.matchAll(/`"(\w+)":"/g)].map(([, field]) => field);
  expect(fields.length).toBeGreaterThan(8);
  for (const field of fields) expect(log).toMatch(new RegExp(`^ {4}${field}[:,]`, "m"));
});
