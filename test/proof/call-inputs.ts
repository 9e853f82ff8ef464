/** What calls take besides the fields that most of them have, for the fuzz proof. */
import fc from "fast-check";

/** A request of the fuzz proof. */
export type FuzzRequest = {
  /** The call that this is, if it is one that the service has. */
  name?: string;
  method: string;
  path: string;
  /** They have an address, too. Refused credentials are counted by it. */
  headers: Record<string, string>;
  body: Buffer | undefined;
  /** The page from whose form the hidden fields are. */
  opensFirst?: string;
};

/** The environment of the proof, and others: the audience of a credential, or of another one, or of none. */
const audiences = fc.constantFrom(
  ...["fuzz/Testing", "fuzz/Testing", "fuzz/Testing", "fuzz/Customer", "fuzz/untagged", "other/Testing"],
  ...["", "fuzz", "fuzz/", "/Testing", "fuzz/Testing/", "fuzz/Testing, x/Testing", "FUZZ/testing", "é/Testing"],
);
const words = (strings: fc.Arbitrary<string>) =>
  fc.oneof(
    {
      weight: 3,
      arbitrary: fc.constantFrom("fuzz", "FUZZ 1", "fúzz", "ß", "z", "%", "_", "x".repeat(100), "x".repeat(101)),
    },
    strings.filter((text) => text.isWellFormed()),
  );
const days = fc.constantFrom("2026-10-01", "2099-01-01", "1969-12-31", "2026-02-30", "2026-10-01T00:00:00Z", "0", "");
const states = fc.constantFrom("active", "suspended", "deleted", "purged", "");
const limits = fc.constantFrom("1", "2", "100", "1000", "1001", "0", "-1", "1e3", "");
const cursors = fc.constantFrom("latest", "WzEsMSwiIiwwXQ", "W10", "x", "", "A".repeat(5000));

/** The fields of a call's query, of which some are given, by the call. */
function fieldsOf(name: string, strings: fc.Arbitrary<string>): Record<string, fc.Arbitrary<string>> {
  switch (name) {
    case "GET /api/user_groups":
      return {
        search: words(strings),
        last_viewed_before: days,
        state: states,
        user_group_id_prefix: words(strings),
        user_group_id: words(strings),
        limit: limits,
        cursor: cursors,
      };
    case "GET /api/user_groups/:team_id/events":
      return { limit: limits, cursor: cursors };
    case "GET /api/viewer":
    case "GET /api/viewer/check":
      return { audience: audiences };
    default:
      return { limit: limits, cursor: cursors, state: states };
  }
}

/** A query such as `search=a&limit=1`, in which a field is missing, repeated or unknown at times. */
export function queriesOf(name: string, strings: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const fields = Object.entries(fieldsOf(name, strings)).map(([field, texts]) =>
    texts.map((text): [string, string] => [field, text]),
  );
  const others = fc.constantFrom<[string, string][]>(["unknown", "1"], ["__proto__", "1"], ["confirm", "fuzz"]);
  const given = fc.oneof({ weight: 9, arbitrary: fc.oneof(...fields) }, others);
  const [first] = fields;
  const some = fc
    .tuple(first ?? others, fc.array(given, { maxLength: 2 }), fc.nat({ max: 3 }))
    .map(([one, more, choice]) => new URLSearchParams(choice === 0 ? more : [one, ...more]).toString());
  return name.startsWith("GET /api/viewer") ? fc.oneof(some, fc.constant("audience=fuzz/Testing")) : some;
}

/** Claims that a mint may add, and names that the service, RFC 7519 and later releases use. */
const claims = fc.dictionary(
  fc.constantFrom("role", "https://hasura.io/jwt/claims", "token_type", "sub", "aud", "exp", "ug_x", "__proto__", ""),
  fc.oneof(fc.constantFrom("reader", "x".repeat(2100)), fc.jsonValue({ maxDepth: 4 })),
  { maxKeys: 3 },
);
const values = fc.dictionary(fc.constantFrom("from", "a", "A"), fc.oneof(fc.constant(1), fc.jsonValue()));
const numbers = fc.constantFrom(1, 2, 3, 7, 999, 0, -1, 1.5, 2 ** 53, "1", null);
const groups = fc.oneof(
  fc.constant({ user_group_id: "fuzz" }),
  numbers.map((team_id) => ({ team_id })),
  fc.constant({ user_group_id: "fuzz", team_id: 1 }),
);
const some = (fields: Record<string, fc.Arbitrary<unknown>>) => fc.record(fields, { requiredKeys: [] });

/** Bodies that the schemas of these calls take, or nearly take. */
export function bodiesOf(name: string, presented: readonly string[]): fc.Arbitrary<object> | undefined {
  switch (name) {
    case "POST /api/viewer_sessions":
      return fc
        .tuple(groups, some({ claims, viewer_id: fc.constantFrom("ann", ""), include_variables: fc.boolean() }))
        .map(([group, fields]) => ({ ...group, ...fields }));
    case "POST /api/viewer_sessions/end":
      return fc
        .tuple(groups, some({ viewer_id: fc.constantFrom("ann", "") }))
        .map(([group, fields]) => ({ ...group, ...fields }));
    case "POST /api/viewer/query":
      return fc
        .oneof(fc.constant({}), some({ audience: audiences, values }))
        .map((fields) => ({ sql: "SELECT {{user_group_id}} [[AND {{value.from}}]]", ...fields }));
    case "POST /api/credentials/explain":
      return fc
        .tuple(
          fc.oneof(
            fc.constantFrom(...presented),
            fc.constantFrom("x", "ugk_testing_x", "eyJ.eyJ.x", `${presented[0]}x`),
          ),
          some({ audience: audiences, origin: fc.constantFrom("https://a.example", "null", "") }),
        )
        .map(([credential, fields]) => ({ credential, ...fields }));
    default:
      return undefined;
  }
}
