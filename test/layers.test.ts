/// <reference types="vite/types/importMeta.d.ts" />
import { it } from "vitest";

const LAYERS = ["http", "domain", "storage"];
const sources = import.meta.glob<string>("../src/**/*.ts", { query: "?raw", import: "default", eager: true });

it("imports go down only: http, domain, storage", ({ expect }) => {
  const upward = Object.entries(sources).flatMap(([file, text]) => {
    const from = LAYERS.indexOf(file.split("/")[2] ?? "");
    const imported = [...text.matchAll(/from "\.\.?\/(?:(\w+)\/)?[^"]+"/g)].map(([, layer]) =>
      LAYERS.indexOf(layer ?? ""),
    );
    return imported.filter((to) => to !== -1 && to < from).map((to) => `${file} imports from ${LAYERS[to]}`);
  });
  expect(Object.keys(sources).length).toBeGreaterThan(10);
  expect(upward).toEqual([]);
});

it("only storage speaks SQL or KV, and only http speaks HTTP", ({ expect }) => {
  const offenders = Object.entries(sources)
    .filter(([file]) => !file.endsWith(".d.ts"))
    .filter(
      ([file, text]) =>
        (!file.includes("/storage/") && /\.exec\(["`]|\bSELECT\b|TOKEN_INDEX\./.test(text)) ||
        (!file.includes("/http/") && /from "hono|\bResponse\b|\bRequest\b/.test(text)),
    )
    .map(([file]) => file);
  expect(offenders).toEqual([]);
});
