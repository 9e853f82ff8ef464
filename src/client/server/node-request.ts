/** The part of a request that Express, Fastify and Node's own server have in common. */
export type NodeRequest = {
  method?: string | undefined;
  headers: Record<string, string | string[] | undefined>;
};

/** A request without a body, as Node's `fetch` has it. Its method and headers are the given ones; its URL means nothing. */
export function toRequest({ method = "GET", headers }: NodeRequest): Request {
  const copied = new Headers();
  for (const [name, values] of Object.entries(headers))
    for (const value of [values ?? []].flat()) copied.append(name, value);
  return new Request("http://localhost/", { method, headers: copied });
}
