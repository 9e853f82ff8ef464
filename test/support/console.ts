import { env } from "cloudflare:workers";
import { expect } from "vitest";
import { mintFormToken, verifyConsoleCookie } from "../../src/domain/credentials/console-cookie.ts";
import { operatorConsole } from "../../src/http/console/console.ts";
import { type PageAccess, pageAccessOf } from "../../src/http/console/page-access.ts";
import { type Answer, type CallOptions, call } from "./client.ts";
import { ringOfKeys } from "./signing-ring.ts";

const ORIGIN = "http://localhost";

/** What a browser sends when a person navigates. */
const NAVIGATION = { "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document", "Sec-Fetch-Site": "same-origin" };

/** A page or a form of the console, as its router has it. */
export type ConsoleRoute = { name: string; method: string; path: string; access: PageAccess };

const PARAMETERS: Record<string, string> = { workspace: "acme", environment: "Testing" };

/** Every page and form of the console. Numbers in their paths are 1. */
export const CONSOLE_ROUTES: ConsoleRoute[] = [
  ...new Map(
    operatorConsole.routes
      .filter(({ method }) => method !== "ALL")
      .map(({ method, path: pattern }) => {
        const name = `${method} ${pattern}`;
        const path = pattern.replace(/:(\w+)/g, (_, parameter: string) => PARAMETERS[parameter] ?? "1");
        const access = pageAccessOf(method, pattern) ?? { role: "admin" };
        return [name, { name, method, path, access }] as const;
      }),
  ).values(),
];

export type VisitOptions = Pick<CallOptions, "env" | "headers" | "origin"> & { fields?: Record<string, string> };

/** A request as a browser makes it: a page, or with `POST` a form. A header with an empty value is left out. */
export function visit(method: string, path: string, options: VisitOptions = {}): Promise<Answer> {
  const isForm = method === "POST";
  const form = { Origin: options.origin ?? ORIGIN, "Content-Type": "application/x-www-form-urlencoded" };
  const headers = { ...NAVIGATION, ...(isForm && form), ...options.headers };
  return call(method, path, {
    undocumented: "a page of the console",
    ...(options.env && { env: options.env }),
    ...(options.origin !== undefined && { origin: options.origin }),
    headers: Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== "")),
    ...(isForm && { body: new URLSearchParams(options.fields).toString() }),
  });
}

/** A browser in which somebody has signed in. */
export type Visitor = {
  cookie: string;
  get: (path: string, options?: VisitOptions) => Promise<Answer>;
  /** Opens a page, fills in the form that it sends to `action`, the page's own path unless given, and sends it. */
  send: (path: string, fields?: Record<string, string>, action?: string) => Promise<Answer>;
  /** Sends a form that no page has offered. */
  forge: (path: string, fields?: Record<string, string>, options?: VisitOptions) => Promise<Answer>;
};

/** Signs in with a key. */
export async function signIn(operatorKey: string, callEnv: Env = env): Promise<Visitor> {
  const answer = await visit("POST", "/console/sign-in", { fields: { operator_key: operatorKey }, env: callEnv });
  expect(answer.status).toBe(303);
  return visitorOf(answer.headers.get("Set-Cookie")?.split(";")[0] ?? "", callEnv);
}

/** The browser with a cookie, such as `console=…`. */
export function visitorOf(cookie: string, callEnv: Env = env): Visitor {
  const asVisitor = (options: VisitOptions = {}): VisitOptions => ({
    env: callEnv,
    ...options,
    headers: { Cookie: cookie, ...options.headers },
  });
  const get = (path: string, options?: VisitOptions) => visit("GET", path, asVisitor(options));
  return {
    cookie,
    get,
    send: async (path, fields = {}, action = new URL(path, ORIGIN).pathname) => {
      const page = await get(path);
      expect(page.status).toBe(200);
      return visit("POST", action, asVisitor({ fields: { ...hiddenFields(page.body, action), ...fields } }));
    },
    forge: async (path, fields = {}, options = {}) => {
      const form_token = fields.form_token ?? (await formToken(cookie, path));
      return visit("POST", path, asVisitor({ ...options, fields: { form_token, ...fields } }));
    },
  };
}

/** What the form of a page has in hidden fields. */
function hiddenFields(html: string, action: string): Record<string, string> {
  const start = html.indexOf(`<form method="post" action="${action}"`);
  expect(start, `a form for ${action}`).toBeGreaterThan(-1);
  const form = html.slice(start, html.indexOf("</form>", start));
  const inputs = form.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g);
  return Object.fromEntries([...inputs].map(([, name = "", value = ""]) => [name, decode(value)]));
}

const decode = (html: string): string =>
  html
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");

/** The field that the console would put into a form of this session for this path. */
export async function formToken(cookie: string, path: string): Promise<string> {
  const ring = await ringOfKeys(env.SIGNING_KEYS);
  const session = await verifyConsoleCookie(ring, undefined, cookie.replace(/^[^=]*=/, ""));
  if (!session) throw new Error("The cookie is none of this service.");
  return mintFormToken(ring, session, path);
}
