/** The part of a request that Express and Fastify have in common. */
export type NodeRequest = {
  method?: string | undefined;
  headers: Record<string, string | string[] | undefined>;
};

/** The methods that no `Request` may have (Fetch Standard, "forbidden method"). */
const FORBIDDEN = /^(?:CONNECT|TRACE|TRACK)$/i;

/** A request of Node as a `Request`, with its method and headers. It has no body, and its URL is a placeholder. */
export function toRequest({ method = "GET", headers }: NodeRequest): Request {
  const copied = new Headers();
  // Node shows the pseudo-headers of HTTP/2, such as `:path`, as headers.
  for (const [name, values] of Object.entries(headers).filter(([header]) => !header.startsWith(":")))
    for (const value of [values ?? []].flat()) copied.append(name, value);
  return new Request("http://localhost/", { method: FORBIDDEN.test(method) ? "GET" : method, headers: copied });
}

/** The headers of an answer. Several cookies are several headers, which no comma can join. */
export function headersOf({ headers }: Response): Record<string, string | string[]> {
  const cookies = headers.getSetCookie();
  return { ...Object.fromEntries(headers), ...(cookies.length > 0 && { "set-cookie": cookies }) };
}
