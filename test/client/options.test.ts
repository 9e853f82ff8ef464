import { runInNewContext } from "node:vm";
import { describe, expect, it, vi } from "vitest";
import {
  type EnvironmentClient,
  OperatorClient,
  UserGroupClient,
  UserGroupServiceError,
  ViewerClient,
} from "../../client/src/index.ts";
import { requireSession } from "../../client/src/server.ts";
import { GROUP_FIELDS, type GroupField } from "../../common/content.ts";
import { refusal } from "../support/node/stand-in.ts";

const url = "https://service.test";
const { status, body } = refusal(403, "insufficient_access");
const send = vi.fn(async (_url: string, _init: RequestInit) => Response.json(body, { status }));
const common = { url, fetch: send, retries: 0 };
const groups = new UserGroupClient({ ...common, apiKey: "ugk_testing_x" });
const operator = new OperatorClient({ ...common, operatorKey: "ugo_x" });
const environment = operator.inEnvironment({ workspace: "acme", environment: null });
const session = async () => ({ token: "eyJ.a.b", expires_in_seconds: 300 });
const viewer = new ViewerClient({ ...common, session });

/** Makes a call, or begins with a list. Returns its error, and how many requests it has sent. */
async function outcomeOf(client: object, method: string, input: object) {
  send.mockClear();
  try {
    const result = Reflect.get(client, method).call(client, input);
    await (Symbol.asyncIterator in result ? result.next() : result);
  } catch (error) {
    return { error, sent: send.mock.calls.length };
  }
  return { error: undefined, sent: send.mock.calls.length };
}

type First<Method> = Method extends (...all: infer All) => unknown ? NonNullable<All[0]> : never;
type OptionalOf<Input> = Input extends unknown
  ? { [Name in keyof Input]-?: object extends Pick<Input, Name> ? Name : never }[keyof Input]
  : never;

/**
 * What each method does with each option that is present and `undefined`. It is "refused" if the call would do more without the option than
 * with any value of it. A new method or option does not compile without its line.
 */
type Decisions<Client> = {
  [Method in keyof Client]: readonly [
    needed: object,
    decisions: Record<OptionalOf<First<Client[Method]>>, "refused" | "kept">,
  ];
};

const WORKSPACE = { workspace: "acme", environment: null };
const PAGE = { cursor: "kept", pageSize: "kept" } as const;
const SIGNAL = { signal: "kept" } as const;
const REASON = { reason: "kept" } as const;
const FILTERS = { type: "refused", actor: "refused", since: "refused", userGroupId: "refused" } as const;
const EVENTS = [{}, { ...PAGE, ...FILTERS, includeGroups: "kept" }] as const;
const FOLLOW = [{}, { ...EVENTS[1], pollMs: "kept", onFailure: "kept" }] as const;
const FIELDS = Object.fromEntries(GROUP_FIELDS.map((field) => [field, "kept"])) as Record<GroupField, "kept">;
const CONDITION = { ifMatch: "refused" } as const;
const CHANGES = { ...FIELDS, ...CONDITION, newUserGroupId: "kept", suspended: "kept" } as const;
const BY_NUMBER = [{ teamId: 1 }, { ...CONDITION, ...REASON }] as const;
const GROUP_FILTERS = { userGroupId: "refused", prefix: "refused", search: "refused" } as const;
const GROUP_PAGE = [{}, { ...PAGE, ...GROUP_FILTERS, lastViewedBefore: "refused", state: "refused" }] as const;

const FEED = {
  eventPage: EVENTS,
  events: EVENTS,
  latestEventCursor: [{}, SIGNAL],
  follow: FOLLOW,
  followPages: FOLLOW,
} as const;

const ENVIRONMENT = {
  ...FEED,
  listPage: GROUP_PAGE,
  list: GROUP_PAGE,
  history: [{ teamId: 1 }, PAGE],
  historyPage: [{ teamId: 1 }, PAGE],
  get: [{ teamId: 1 }, { state: "kept" }],
  updateByNumber: [{ teamId: 1 }, { ...CHANGES, ...REASON }],
  mergeByNumber: [{ teamId: 1 }, { ...CHANGES, ...REASON }],
  suspendByNumber: BY_NUMBER,
  resumeByNumber: BY_NUMBER,
  rotateTokenByNumber: [{ teamId: 1 }, { ...BY_NUMBER[1], graceSeconds: "kept" }],
  removeByNumber: BY_NUMBER,
  restore: [{ teamId: 1 }, { ...BY_NUMBER[1], newUserGroupId: "kept", rotateToken: "kept" }],
  purge: BY_NUMBER,
  endSessions: [
    { userGroupId: "a" },
    { session: "refused", userGroupId: "refused", teamId: "refused", viewerId: "refused", ...REASON },
  ],
} as const satisfies Decisions<EnvironmentClient>;

const CLIENTS = {
  UserGroupClient: [
    groups,
    {
      ...ENVIRONMENT,
      ensure: [{ userGroupId: "a" }, FIELDS],
      update: [{ userGroupId: "a" }, CHANGES],
      suspend: [{ userGroupId: "a" }, CONDITION],
      resume: [{ userGroupId: "a" }, CONDITION],
      rotateToken: [{ currentToken: "ugt_x" }, { graceSeconds: "kept" }],
      remove: [{ currentToken: "ugt_x" }, { userGroupId: "refused", dataSourceProvidedId: "refused" }],
      mintSession: [
        { userGroupId: "a" },
        {
          ...{ userGroupId: "refused", teamId: "refused" },
          ...{ origins: "refused", viewerId: "refused", viewerProperties: "refused", claims: "refused" },
          ...{ expiresInSeconds: "kept", maxStaleSeconds: "kept", includeVariables: "kept" },
        },
      ],
      asViewer: [{ session: "eyJ.a.b" }, { audience: "refused" }],
      whoami: [{}, SIGNAL],
    } as const satisfies Decisions<UserGroupClient>,
  ],
  "an operator's environment": [environment, ENVIRONMENT],
  OperatorClient: [
    operator,
    {
      ...FEED,
      issueKey: [
        { ...WORKSPACE, name: "k" },
        { access: "refused", scopes: "refused", expiresInSeconds: "refused", location: "kept", ...REASON },
      ],
      keyPage: [WORKSPACE, PAGE],
      listKeys: [WORKSPACE, PAGE],
      revokeKey: [{ ...WORKSPACE, id: 1 }, REASON],
      rollKey: [
        { ...WORKSPACE, id: 1 },
        { graceSeconds: "kept", ...REASON },
      ],
      issueOperator: [
        { name: "anna", role: "viewer" },
        { email: "kept", expiresInSeconds: "refused", ...REASON },
      ],
      issueOperatorWithoutKey: [
        { name: "anna", role: "viewer", email: "anna@example.com" },
        { expiresInSeconds: "refused", ...REASON },
      ],
      operatorPage: [{}, PAGE],
      listOperators: [{}, PAGE],
      revokeOperator: [{ id: 1 }, REASON],
      rollOperator: [{ id: 1 }, { graceSeconds: "kept", ...REASON }],
      environmentPage: [{}, PAGE],
      environments: [{}, PAGE],
      eraseEnvironment: [{ ...WORKSPACE, confirm: "acme/untagged" }, REASON],
      explainCredential: [{ credential: "ugt_x" }, { audience: "kept", origin: "kept" }],
      inEnvironment: [WORKSPACE, {}],
      whoami: [{}, SIGNAL],
    } as const satisfies Decisions<OperatorClient>,
  ],
  ViewerClient: [
    viewer,
    {
      view: [{}, { maxAgeSeconds: "kept" }],
      bindQuery: [{ sql: "" }, { placeholders: "kept", values: "refused" }],
      // It sends nothing by itself.
      session: [{}, { refused: "kept" }],
      reset: [{}, {}],
      whoami: [{}, SIGNAL],
    } as const satisfies Decisions<ViewerClient>,
  ],
} as const;

const OPTIONS = Object.entries(CLIENTS).flatMap(([name, [client, methods]]) =>
  Object.entries(methods).flatMap(([method, [needed, decisions]]) =>
    Object.entries<string>(decisions).map(([option, decision]) => ({
      name: `${option} of ${method} of ${name}`,
      call: () => outcomeOf(client, method, { ...needed, [option]: undefined }),
      option,
      decision,
    })),
  ),
);

describe("an option that is present and undefined", () => {
  it.for(OPTIONS.filter(({ decision }) => decision === "refused"))(
    "is refused before any request: $name",
    async ({ call, option }) => {
      const { error, sent } = await call();
      expect(error).toBeInstanceOf(TypeError);
      expect(error).toMatchObject({
        message: expect.stringMatching(new RegExp(`^Give ${option}\\.$|^${option} is undefined, and without`)),
      });
      expect(sent).toBe(0);
    },
  );

  it.for(OPTIONS.filter(({ decision }) => decision === "kept"))(
    "counts as left out, where that allows no more: $name",
    async ({ call }) => {
      const { error } = await call();
      if (error !== undefined) expect(error).toBeInstanceOf(UserGroupServiceError);
    },
  );

  it.for([
    ["issueKey", operator, { ...WORKSPACE, name: "k", access: undefined, scopes: ["groups:read"] }],
    ["issueKey", operator, { ...WORKSPACE, name: "k", access: "read", scopes: undefined }],
    ["endSessions", groups, { session: "eyJ.a.b", userGroupId: undefined, viewerId: undefined }],
    ["events", groups, { cursor: "c", since: undefined }],
  ] as const)("is no matter if another option decides: %s", async ([method, client, input]) => {
    expect(await outcomeOf(client, method, input)).toMatchObject({ error: { code: "insufficient_access" }, sent: 1 });
  });

  it("is never an environment: that without a tag is null", async () => {
    const names = [
      { workspace: "acme", environment: undefined },
      { workspace: undefined, environment: null },
    ];
    for (const method of [
      "issueKey",
      "keyPage",
      "listKeys",
      "revokeKey",
      "rollKey",
      "eraseEnvironment",
      "inEnvironment",
    ])
      for (const named of names) {
        const input = { name: "k", id: 1, confirm: "acme/untagged", ...named };
        const { error, sent } = await outcomeOf(operator, method, input);
        expect([sent, error], method).toEqual([
          0,
          new TypeError("Give workspace, and environment as Customer, Testing, or null for the one without a tag."),
        ]);
      }
  });

  it("is refused as the user of requireSession, without which each customer passes", () => {
    const options = { client: groups, audience: "acme/Customer", origins: ["https://app.example.com"] };
    expect(() => requireSession({ ...options, user: undefined } as never)).toThrow(/^user is undefined, and without/);
  });
});

describe("a value that JSON cannot hold", () => {
  class Account {
    readonly #plan = "gold";
    get plan() {
      return this.#plan;
    }
  }
  const METHODS: [string, (content: object) => Promise<unknown>][] = [
    ["ensure", (properties) => groups.ensure({ userGroupId: "a", properties: properties as never })],
    ["update", (properties) => groups.update({ userGroupId: "a", properties: properties as never })],
    ["updateByNumber", (properties) => environment.updateByNumber({ teamId: 1, properties: properties as never })],
    ["mergeByNumber", (properties) => groups.mergeByNumber({ teamId: 1, properties: properties as never })],
    ["the mapping of ensure", (mapping) => groups.ensure({ userGroupId: "a", mapping: mapping as never })],
    ["mintSession", (viewerProperties) => groups.mintSession({ userGroupId: "a", viewerProperties })],
  ];
  const LOST: [string, unknown][] = [
    ["a Map", new Map([["a", 1]])],
    ["a Set", new Set([1])],
    ["a WeakMap", new WeakMap()],
    ["a function", () => 1],
    ["a symbol", Symbol("s")],
    ["-0", -0],
    ["NaN", Number.NaN],
    ["a bigint", 1n],
    ["an invalid date", new Date(Number.NaN)],
    ["a regular expression", /a/],
    ["an error", new Error("secret")],
    ["a promise", Promise.resolve(1)],
    ["bytes", new Uint8Array([1])],
    ["search parameters", new URLSearchParams("a=1")],
    ["an object whose content is private", new Account()],
    ["a hole of an array", [1, undefined]],
  ];

  it.for(METHODS.flatMap(([method, call]) => LOST.map(([what, value]) => [method, what, call, value] as const)))(
    "is refused by %s: %s",
    async ([, , call, value]) => {
      for (const content of [
        { field: value },
        { deep: [{ field: value }] },
        ...[value].filter((one) => Object(one) === one),
      ]) {
        send.mockClear();
        const error = await call(content as object).catch((thrown: unknown) => thrown);
        expect(error).toBeInstanceOf(TypeError);
        expect(String(error)).not.toContain("secret");
        expect(send).not.toHaveBeenCalled();
      }
    },
  );

  it("is refused as a value of a query, and as all of them", async () => {
    const outcomes = async (all: unknown[]) => {
      const calls = all.map((values) => viewer.bindQuery({ sql: "1", values: values as never }));
      return (await Promise.allSettled(calls)).map((each) => each.status === "rejected" && String(each.reason));
    };
    const values = [undefined, Number.NaN, new Date(Number.NaN), () => 1].map((from) => ({ from }));
    expect(await outcomes(values)).toEqual(values.map(() => "TypeError: Give from."));
    const contents = [new Map([["a", 1]]), new Set(["a"]), new URLSearchParams("a=1"), new FormData(), () => ({})];
    expect(await outcomes(contents)).toEqual(contents.map(() => "TypeError: Give values."));
  });

  it("is no plain object of any realm, no date, and no object with fields or toJSON", async () => {
    class Shop {
      readonly id = 7;
      readonly closed = undefined;
    }
    const properties = {
      shop: new Shop(),
      bare: Object.assign(Object.create(null), { a: 1 }),
      foreign: runInNewContext("({ a: [{}] })"),
      on: new Date(0),
      at: new URL("https://a.example"),
      left: undefined,
      zero: 0,
    };
    send.mockClear();
    await outcomeOf(groups, "ensure", { userGroupId: "a", properties });
    const sent: unknown = await new Response(send.mock.calls[0]?.[1].body).json();
    expect(Object(sent).properties).toEqual({
      shop: { id: 7 },
      bare: { a: 1 },
      foreign: { a: [{}] },
      on: "1970-01-01T00:00:00.000Z",
      at: "https://a.example/",
      zero: 0,
    });
  });
});
