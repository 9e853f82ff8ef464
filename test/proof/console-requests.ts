/** Pages and forms of the console, for the fuzz proof: each is asked for as a browser asks, with a session that may see it. */
import fc from "fast-check";
import { PAGE_NAMES } from "../support/console-pages.ts";
import { words } from "../support/words.ts";
import type { FuzzRequest } from "./call-inputs.ts";

/** An admin's key and the cookies, as `name=value`, of sessions with it. Those of `spare` may end, as each admin has a bounded number of sessions. */
export type ConsoleCredentials = { own: ConsoleAdmin; spare: ConsoleAdmin };
export type ConsoleAdmin = { key: string; cookies: readonly string[] };

/** Fields that forms take. None issues an operator's key or erases an environment: those lack a role, or the right confirmation. */
const SOUND_FIELDS = {
  name: "fuzz",
  reason: "fuzz",
  preset: "read",
  grace_seconds: "0",
  confirmation: "fuzz",
  user_group_id: "fuzz",
  mapping: "{}",
  properties: '{"a":1}',
  sql: "SELECT {{user_group_id}}",
  placeholders: "?",
  viewer_id: "ann",
  viewer_properties: "{}",
  text: "fuzz",
  workspace: "fuzz-created",
  environment: "Testing",
};
const FIELDS = [
  ...Object.keys(SOUND_FIELDS),
  "",
  ...words("new_user_group_id rotate_token etag session form_token expires_in_seconds location __proto__"),
];
const QUERY_FIELDS = words(`
  user_group_id_prefix state cursor search type actor since next last_viewed_before until team_id __proto__
`);

/** What a page would run if it did not escape it. */
const MARKUP = `"><script>alert(1)</script>`;

/** Forms that may end a session of the admin who sends them. */
const ENDS_SESSIONS = ["POST /console/sign-in", "POST /console/sign-out", "POST /console/sessions"];

/** The requests of a browser, of which most forms are those that the page itself has offered. */
export function consoleRequests(
  { own, spare }: ConsoleCredentials,
  origin: string,
  {
    workspace,
    strings,
    numberIn,
    presented,
  }: {
    workspace: string;
    strings: fc.Arbitrary<string>;
    numberIn: (pattern: string) => fc.Arbitrary<number>;
    /** Credentials that people paste into the search. */
    presented: readonly string[];
  },
  addresses: fc.Arbitrary<string>,
): fc.Arbitrary<FuzzRequest> {
  const texts = fc.oneof(strings, fc.constant(MARKUP));
  const requestOf = (name: string): fc.Arbitrary<FuzzRequest> => {
    const [method = "", pattern = ""] = name.split(" ");
    const isForm = method === "POST";
    const admin = ENDS_SESSIONS.includes(name) ? spare : own;
    return fc
      .record({
        cookie: fc.constantFrom(...admin.cookies),
        number: numberIn(pattern),
        query: isForm ? fc.constant({}) : fc.dictionary(fc.constantFrom(...QUERY_FIELDS), texts, { maxKeys: 2 }),
        fields: fc.dictionary(fc.constantFrom(...FIELDS), texts, { maxKeys: 3 }),
        text: fc.oneof(
          fc.constant({}),
          fc.constantFrom(...presented).map((text) => ({ text })),
        ),
        isOpened: fc.oneof({ weight: 9, arbitrary: fc.constant(true) }, fc.constant(false)),
        address: addresses,
      })
      .map(({ cookie, number, query, fields, text, isOpened, address }) => {
        const page = pattern.replace(":workspace/:environment", `${workspace}/Testing`).replace(/:\w+/, String(number));
        const params = new URLSearchParams(query).toString();
        return {
          method,
          path: params === "" ? page : `${page}?${params}`,
          headers: {
            cookie,
            "cf-connecting-ip": address,
            ...(isForm && { origin, "content-type": "application/x-www-form-urlencoded" }),
          },
          body: isForm
            ? Buffer.from(
                new URLSearchParams({
                  ...SOUND_FIELDS,
                  operator_key: admin.key,
                  ...fields,
                  ...(name.endsWith("/search") && text),
                }).toString(),
              )
            : undefined,
          ...(isForm && isOpened && { opensFirst: page }),
        };
      });
  };
  return fc.oneof(...PAGE_NAMES.map(requestOf));
}

/** The hidden fields of the form that a page sends to its own path. */
export function hiddenFieldsOf(html: string, path: string): string {
  const [, form = ""] = html.split(`<form method="post" action="${path}"`);
  const inputs = form.split("</form>")[0]?.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g) ?? [];
  const fields = [...inputs].map(([, name = "", value = ""]): [string, string] => [
    name,
    value.replaceAll("&quot;", `"`),
  ]);
  return new URLSearchParams(fields).toString();
}
