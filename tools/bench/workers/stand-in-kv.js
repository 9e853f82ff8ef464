/** The part of KV's protocol that the token index needs, in memory: a network would only hide what the service costs. */
const entries = new Map();

export default {
  async fetch(request) {
    const { pathname } = new URL(request.url);
    if (request.method === "PUT") entries.set(pathname, await request.arrayBuffer());
    if (request.method === "DELETE") entries.delete(pathname);
    if (request.method !== "GET") return new Response();
    const value = entries.get(pathname);
    return new Response(value, { status: value ? 200 : 404 });
  },
};
