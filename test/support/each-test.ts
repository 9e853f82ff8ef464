import { reset } from "cloudflare:test";
import { afterEach, beforeEach, expect, vi } from "vitest";
import { CREDENTIAL_PATTERN } from "./credential-pattern.ts";

/** The lines that the service has logged in this test. */
export const logLines: Record<string, unknown>[] = [];

beforeEach(() => {
  logLines.length = 0;
  for (const level of ["info", "warn", "error"] as const)
    vi.spyOn(console, level).mockImplementation((line: string) => void logLines.push(JSON.parse(line)));
});

afterEach(async () => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  expect(JSON.stringify(logLines)).not.toMatch(CREDENTIAL_PATTERN);
  await reset();
});
