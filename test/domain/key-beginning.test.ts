import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { BOOTSTRAP } from "../../src/domain/credentials/caller.ts";
import { mintCredential, newNonce } from "../../src/domain/credentials/credential.ts";
import { readBeginning } from "../../src/domain/credentials/key-beginning.ts";
import { REGISTRY_NAME } from "../../src/domain/placement.ts";
import { ringOfKeys } from "../support/signing-ring.ts";
import { newIntegrator } from "../support/states.ts";

const cause = { requestId: "a test" };
const presented = { ...cause, key: "bootstrap" } as const;
const registry = () => env.REGISTRY.getByName(REGISTRY_NAME);
const directory = () => env.GROUP_DIRECTORY.getByName("acme/Testing");

describe("the beginning of a credential", () => {
  const mint = async (signingId: string, claim: Parameters<typeof mintCredential>[1]) =>
    mintCredential(await ringOfKeys(`${signingId}:${Buffer.alloc(32, 3).toString("base64")}`), claim);

  it("names the environment and at most 16 numbers, whatever it ends with", async () => {
    for (const signingId of ["k1", "k22", "k333"])
      for (const workspace of ["a", "ab", "acme"])
        for (const id of [1, 17, 4711, 2 ** 40 + 5]) {
          const environment = { workspace, tag: "Customer" } as const;
          const text = await mint(signingId, { kind: "api_key", environment, id, nonce: newNonce() });
          const publicBits = (3 + signingId.length + workspace.length + 8) * 8;
          const publicText = text.slice(0, "ugk_customer_".length + Math.floor(publicBits / 6));
          for (const given of [publicText, `${publicText}…`, ` ${publicText}... `]) {
            const read = readBeginning(given);
            expect(read).toMatchObject({ kind: "api_key", environment });
            expect(read?.ids).toContain(id);
            expect(read?.ids.length).toBeLessThanOrEqual(16);
          }
          expect(readBeginning(text)).toEqual({ kind: "api_key", environment, ids: [id] });
          expect(readBeginning(publicText.slice(0, -1))?.ids).toEqual([]);
        }
  });

  it("of an operator's key and of a group token names the number", async () => {
    const operatorKey = await mint("k1", { kind: "operator_key", id: 12, nonce: newNonce() });
    expect(readBeginning(operatorKey)).toEqual({ kind: "operator_key", environment: undefined, ids: [12] });
    const environment = { workspace: "acme", tag: null };
    const token = await mint("k1", { kind: "token", environment, id: 7, nonce: newNonce() });
    expect(readBeginning(token)).toEqual({ kind: "token", environment, ids: [7] });
  });

  it.for(["", "acme", "ugk_", "ugk_live_AQ", "ugk_testing_AQ JrMQ", `ugo_${"A".repeat(161)}`, "eyJhbGciOiJFUzI1NiJ9"])(
    "is none in %j",
    (text) => {
      expect(readBeginning(text)).toBe(undefined);
    },
  );

  it.for(["ugk_testing_", "ugo_", "ugk_testing_A", "ugk_testing_AQ", "ugk_testing_AQJr", "ugk_testing____________"])(
    "that ends before the number names none: %s",
    (text) => {
      expect(readBeginning(text)?.ids).toEqual([]);
    },
  );
});

describe("newest events", () => {
  it("come newest first, in pages, of one group, and from a time on", async () => {
    const { get } = await newIntegrator();
    for (const id of ["a", "b", "c", "d"]) await get({ user_group_id: id });
    const page = async (query: object) => {
      const caller = { ...BOOTSTRAP, ...cause };
      const read = await directory().listNewestEvents(caller, { limit: 2, ...query });
      return read.ok ? [read.value.events.map(({ providedId }) => providedId), read.value.next] : read;
    };
    expect(await page({})).toEqual([["d", "c"], 4]);
    expect(await page({ before: 4 })).toEqual([["b", "a"], 2]);
    expect(await page({ before: 2 })).toEqual([[null], null]);
    expect(await page({ providedId: "b" })).toEqual([["b"], null]);
    expect(await page({ teamId: 3, limit: 1 })).toEqual([["c"], null]);
    expect(await page({ since: Date.now() + 60_000 })).toEqual([[], null]);
    expect(await page({ since: 0, limit: 10 })).toEqual([["d", "c", "b", "a", null], null]);
  });

  it("of a deployment without any change are none", async () => {
    expect(await registry().listNewestEvents(presented, { limit: 2 })).toMatchObject({
      value: { events: [], next: null },
    });
  });
});
