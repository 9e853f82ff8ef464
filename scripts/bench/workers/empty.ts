/** A Worker that does nothing, to tell what of a start is the platform's. */
export default { fetch: () => new Response() };
