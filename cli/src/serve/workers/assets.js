/** The binding `ASSETS` of Cloudflare for one machine: the files of `public/` on the disk, with their media types and validators. */
export default {
  async fetch(request, { FILES, DISK }) {
    const url = new URL(request.url);
    // Only the plus of a name is encoded.
    const pathname = url.pathname.replaceAll("%2B", "+");
    const file = Object.hasOwn(FILES, pathname) ? FILES[pathname] : undefined;
    if (!file) return new Response(null, { status: 404 });
    const isCompressed = file.gzip !== undefined && takesGzip(request.headers.get("Accept-Encoding") ?? "");
    const { bytes, etag } = isCompressed ? file.gzip : file;
    const headers = {
      "Content-Type": file.type,
      ETag: etag,
      "Cache-Control": "public, max-age=0, must-revalidate",
      ...(file.gzip && { Vary: "Accept-Encoding" }),
    };
    const known = (request.headers.get("If-None-Match") ?? "").split(",").map((tag) => tag.trim().replace(/^W\//, ""));
    if (known.includes(etag) || known.includes("*")) return new Response(null, { status: 304, headers });
    if (isCompressed) {
      url.pathname += ".gz";
      headers["Content-Encoding"] = "gzip";
    }
    const { body } = await DISK.fetch(new Request(url, { method: request.method }));
    // The runtime would compress a body with this header.
    const encodeBody = isCompressed ? "manual" : "automatic";
    return new Response(body, { headers: { ...headers, "Content-Length": String(bytes) }, encodeBody });
  },
};

/** Whether a client takes gzip (RFC 9110, section 12.5.3). `*` is every encoding that the header does not name. */
function takesGzip(acceptEncoding) {
  const accepted = acceptEncoding
    .toLowerCase()
    .split(",")
    .map((each) => each.split(";").map((part) => part.trim()));
  const named =
    accepted.find(([name]) => name === "gzip" || name === "x-gzip") ?? accepted.find(([name]) => name === "*");
  if (!named) return false;
  const [, quality = "q=1"] = named;
  return Number(quality.replace(/^q=/, "")) > 0;
}
