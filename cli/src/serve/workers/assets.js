/** The binding `ASSETS` of Cloudflare for one machine: the files of `public/` on the disk, with their media types and validators. */
export default {
  async fetch(request, { FILES, DISK }) {
    // Only the plus of a name is encoded.
    const pathname = new URL(request.url).pathname.replaceAll("%2B", "+");
    const file = Object.hasOwn(FILES, pathname) ? FILES[pathname] : undefined;
    if (!file) return new Response(null, { status: 404 });
    const { type, bytes, etag } = file;
    const headers = { "Content-Type": type, ETag: etag, "Cache-Control": "public, max-age=0, must-revalidate" };
    const known = (request.headers.get("If-None-Match") ?? "").split(",").map((tag) => tag.trim().replace(/^W\//, ""));
    if (known.includes(etag) || known.includes("*")) return new Response(null, { status: 304, headers });
    const { body } = await DISK.fetch(new Request(request.url, { method: request.method }));
    return new Response(body, { headers: { ...headers, "Content-Length": String(bytes) } });
  },
};
