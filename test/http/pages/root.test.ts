import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { version } from "../../../package.json";
import { call } from "../../support/client.ts";

/** What Chromium and Firefox send when somebody opens an address. */
const BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8";

const open = (method: string, Accept: string | undefined, CONSOLE = "on") =>
  call(method, "/", { headers: Accept === undefined ? {} : { Accept }, env: { ...env, CONSOLE } });

describe("/", () => {
  it.for([
    ["GET", "on", "/console"],
    ["HEAD", "on", "/console"],
    ["GET", "off", "/docs"],
  ] as const)("leads a browser's %s with the console %s to %s", async ([method, CONSOLE, location]) => {
    const { status, headers } = await open(method, BROWSER, CONSOLE);
    expect([status, headers.get("Location"), headers.get("Vary")]).toEqual([302, location, "Accept"]);
    expect(headers.get("Cache-Control")).toBe("no-store");
  });

  it.for([undefined, "*/*", "application/json"])(
    "tells a program that accepts %s the name, the version and the links",
    async (accept) => {
      const { status, body, headers } = await open("GET", accept);
      expect(status).toBe(200);
      expect(headers.get("Vary")).toBe("Accept");
      expect(body).toEqual({
        success: 1,
        name: "user-group-service",
        version,
        links: { openapi: "/openapi.json", docs: "/docs", console: "/console", health: "/health" },
      });
    },
  );

  it("names no console that is turned off", async () => {
    expect((await open("GET", undefined, "off")).body.links.console).toBe(null);
  });
});
