/** A Worker that does nothing, to measure the platform's own share of a start. */
export default { fetch: () => new Response() };
