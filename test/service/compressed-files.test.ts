import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { request } from "undici";
import { describe, expect, inject, it } from "vitest";

const { url, folder } = inject("service");
const COMPRESSED_BYTES_MIN = 4_000;

/** The files of the running service, by the paths at which it serves them. */
const contents = new Map(
  globSync("{openapi-3.0.json,llms.txt,docs.html,docs/openapi.json,docs/**/*.{html,js,md,txt}}", {
    cwd: join(folder, "public"),
  }).map((file) => [`/${file.replace(/\.html$|^docs\/(?=openapi)/, "")}`, readFileSync(join(folder, "public", file))]),
);
/** Their examples have the origin of each reader, so they are compressed by a proxy, or not at all. */
const withExamples = (JSON.parse(readFileSync(join(folder, "public/docs/examples.json"), "utf8")) as string[]).map(
  (file) => file.replace(/\.html$/, ""),
);
const large = [...contents]
  .filter(([path, content]) => content.length > COMPRESSED_BYTES_MIN && !withExamples.includes(path))
  .map(([path]) => path);

/** The response as it is on the wire: `fetch` would decompress it. */
async function answerOf(path: string, headers: Record<string, string> = {}, method: "GET" | "HEAD" = "GET") {
  const response = await request(url + path, { method, headers });
  return { ...response, bytes: Buffer.from(await response.body.arrayBuffer()) };
}

const gzip = { "Accept-Encoding": "gzip, deflate, br" };

describe("one box sends large files", () => {
  it("compressed to a client that takes gzip, with another validator, and as they are to others", async () => {
    expect(large).toEqual(
      expect.arrayContaining(["/openapi.json", "/openapi-3.0.json", "/docs/index", "/docs/search-index.js"]),
    );
    for (const path of large) {
      const plain = await answerOf(path);
      const compressed = await answerOf(path, gzip);
      expect([plain.statusCode, plain.headers["content-encoding"]], path).toEqual([200, undefined]);
      expect([compressed.statusCode, compressed.headers["content-encoding"]], path).toEqual([200, "gzip"]);
      expect(plain.bytes.equals(contents.get(path) ?? Buffer.of()), path).toBe(true);
      expect(gunzipSync(compressed.bytes).equals(plain.bytes), path).toBe(true);
      expect(compressed.bytes.length, path).toBeLessThan(plain.bytes.length / 2);
      // Without a time, so that the same sources give the same bytes (RFC 1952, section 2.3).
      expect(compressed.bytes.readUInt32LE(4), path).toBe(0);
      expect(compressed.headers["content-type"], path).toBe(plain.headers["content-type"]);
      expect(compressed.headers.etag, path).toMatch(/^"[\w-]+"$/);
      expect(compressed.headers.etag, path).not.toBe(plain.headers.etag);
      for (const { headers, bytes } of [plain, compressed]) {
        expect(headers.vary, path).toBe("Accept-Encoding");
        expect(headers["content-length"], path).toBe(String(bytes.length));
      }
    }
  });

  it.for([
    ["gzip", "gzip"],
    ["GZip", "gzip"],
    ["x-gzip", "gzip"],
    ["br;q=1.0,gzip;q=0.001", "gzip"],
    ["deflate , gzip ; Q=0.5", "gzip"],
    ["*", "gzip"],
    ["br, *;q=0.1", "gzip"],
    ["gzip, *;q=0", "gzip"],
    ["", undefined],
    ["identity", undefined],
    ["br, deflate", undefined],
    ["gzipped", undefined],
    ["gzip;q=0", undefined],
    ["gzip; q=0.000", undefined],
    ["GZIP;Q=0", undefined],
    ["*;q=0", undefined],
    ["gzip;q=0, *", undefined],
    ["*, gzip;q=0", undefined],
    ["gzip;q=none", undefined],
  ] as const)("as the client asks with Accept-Encoding: %s", async ([asked, encoding]) => {
    const { headers } = await answerOf("/openapi.json", { "Accept-Encoding": asked });
    expect(headers["content-encoding"]).toBe(encoding);
  });

  it("once to a client that has what it asks for, and not for another encoding of it", async () => {
    const plain = (await answerOf("/openapi.json")).headers.etag as string;
    const compressed = (await answerOf("/openapi.json", gzip)).headers.etag as string;
    for (const [tag, accepted, status] of [
      [compressed, gzip, 304],
      [`"other", W/${compressed}`, gzip, 304],
      ["*", gzip, 304],
      [plain, gzip, 200],
      [plain, {}, 304],
      [compressed, {}, 200],
    ] as const) {
      const { statusCode, headers, bytes } = await answerOf("/openapi.json", { ...accepted, "If-None-Match": tag });
      expect(statusCode, tag).toBe(status);
      expect(headers.vary, tag).toBe("Accept-Encoding");
      expect(headers.etag, tag).toBe(accepted === gzip ? compressed : plain);
      expect(bytes.length > 0, tag).toBe(status === 200);
    }
  });

  it("with the same headers to HEAD", async () => {
    for (const accepted of [gzip, {}]) {
      const { date, "x-request-id": id, ...get } = (await answerOf("/openapi.json", accepted)).headers;
      const head = await answerOf("/openapi.json", accepted, "HEAD");
      expect(head.headers).toMatchObject(get);
      expect(head.bytes.length).toBe(0);
    }
  });

  it("to a browser with both headers by which they vary", async () => {
    const { headers, bytes } = await answerOf("/docs/index", { ...gzip, Accept: "text/html" });
    expect(headers).toMatchObject({ vary: "Accept, Accept-Encoding", "content-encoding": "gzip" });
    expect(gunzipSync(bytes).equals(contents.get("/docs/index") ?? Buffer.of())).toBe(true);
  });

  it("alone: neither small files, nor pictures, nor pages with the reader's origin, nor the stored files", async () => {
    for (const path of ["/favicon.svg", "/docs/pictures/product.png", ...withExamples, "/docs/nothing"]) {
      const { headers } = await answerOf(path, gzip);
      expect([headers["content-encoding"], headers.vary], path).toEqual([undefined, undefined]);
    }
    for (const path of ["/openapi.json.gz", "/docs/index.html.gz", "/docs/changelog.md.gz"])
      expect((await answerOf(path)).statusCode, path).toBe(404);
    expect(globSync("**/*.gz", { cwd: join(folder, "public") })).toEqual([]);
  });
});
