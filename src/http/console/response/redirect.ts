import type { RequestContext } from "../../app-env.ts";
import { PROTECTION } from "./protection.ts";

/** Leads a browser to another page of the console, which it gets with GET (RFC 9110, section 15.4.4). */
export const redirect = (c: RequestContext, location: string, headers: Record<string, string> = {}): Response =>
  new Response(null, { status: 303, headers: { ...c.get("headers"), ...PROTECTION, ...headers, Location: location } });
