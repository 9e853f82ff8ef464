/** The binding `ASSETS` of Cloudflare for one machine: the files of `public/`, which are bindings of this Worker. */
export default {
  async fetch(request, { FILES, ...contents }) {
    const { pathname } = new URL(request.url);
    const file = Object.hasOwn(FILES, pathname) ? FILES[pathname] : undefined;
    if (!file) return new Response(null, { status: 404 });
    const { type, etag } = file;
    const headers = { "Content-Type": type, ETag: etag, "Cache-Control": "public, max-age=0, must-revalidate" };
    const known = (request.headers.get("If-None-Match") ?? "").split(",").map((tag) => tag.trim().replace(/^W\//, ""));
    if (known.includes(etag) || known.includes("*")) return new Response(null, { status: 304, headers });
    const isHead = request.method === "HEAD";
    return new Response(isHead ? null : contents[pathname], { headers });
  },
};
