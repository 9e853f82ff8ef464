import { afterAll, beforeAll, describe, it } from "vitest";
import { withDatabase } from "../../prove/src/database.ts";
import { type Proof, prove } from "../../prove/src/prove.ts";
import { statementsOf } from "../../prove/src/sql/customer-sql.ts";
import { CORRECT_SCHEMAS, PRODUCT_SCHEMA } from "../support/node/correct-schemas.ts";
import { asOneOfTwo, KINDS, PEOPLE_CORRECT } from "../support/node/planted-kinds.ts";
import { asCustomer, CORRECT, PLANTED, RESET } from "../support/node/planted-mistakes.ts";
import { hasPostgres, type Postgres, startPostgres } from "../support/node/postgres.ts";

const skipped = hasPostgres ? "" : ", skipped: Debian's PostgreSQL is missing";

/** A fix uncovers what it hid, but not for ever. */
const ROUNDS_MAX = 4;

/** Mistakes in the SQL of the backend, or of a login: their fixes are not for the database. */
const ELSEWHERE = ["setting_survives", "role_survives"];

type As = (number: number) => string;
type Checked = { allow?: readonly string[]; accept?: readonly string[]; login?: string };

const named = ({ mistakes, notJudged }: Proof) => [
  ...mistakes.map(({ code, object }) => ({ code, object })),
  ...notJudged.map(({ object }) => ({ code: "", object })),
];

/** A policy is `own on public.orders` in a mistake, and `public.orders.own` for --accept. */
const asAccepted = (object: string) => object.replace(/^(\w+) on (.*)$/, "$2.$1");

describe("the kinds of mistakes", () => {
  let postgres: Postgres;
  beforeAll(async () => {
    if (hasPostgres) postgres = await startPostgres();
  });
  afterAll(() => postgres?.stop());

  const plant = async (...sql: string[]) => {
    for (const each of [RESET, ...sql]) await postgres.run(each);
  };
  const proofOf = (as: As, { allow = ["public.countries"], accept = [], login = "backend" }: Checked = {}) => {
    const setup = (number: number) => ({ option: `customer ${number}`, statements: statementsOf(as(number), "--as") });
    return prove((use) => withDatabase(postgres.url(login), use), { setups: [setup(1), setup(2)], allow, accept });
  };
  /** Pastes all fixes until there are none. */
  const fixed = async (proof: Proof, as: As) => {
    let last = proof;
    for (let round = 0; round < ROUNDS_MAX && last.outcome !== "proven"; round += 1) {
      for (const { fix } of [...last.mistakes, ...last.notJudged]) await postgres.run(fix);
      last = await proofOf(as);
    }
    return last;
  };

  it.skipIf(!hasPostgres).for(KINDS)(
    `finds $name, and its fix works${skipped}`,
    async ({ sql, found, as = asCustomer }, { expect }) => {
      await plant(CORRECT, sql);
      const proof = await proofOf(as);
      expect(proof.outcome).not.toBe("proven");
      const missed = [found]
        .flat()
        .filter(
          ({ code, object }) =>
            !named(proof).some(
              (each) => asAccepted(each.object) === asAccepted(object) && (code ?? each.code) === each.code,
            ),
        );
      expect(missed, JSON.stringify(named(proof))).toEqual([]);

      const { mistakes, notJudged } = await fixed(proof, as);
      expect([mistakes, notJudged]).toEqual([[], []]);
    },
  );

  it.skipIf(!hasPostgres).for(PLANTED.filter(({ code }) => !ELSEWHERE.includes(code)))(
    `proves after the fix of $name${skipped}`,
    async ({ sql, as = asCustomer }, { expect }) => {
      await plant(CORRECT, sql);
      const { mistakes, notJudged } = await fixed(await proofOf(as), as);
      expect([mistakes, notJudged]).toEqual([[], []]);
    },
  );

  it.skipIf(!hasPostgres).for(CORRECT_SCHEMAS)(
    `proves $name${skipped}`,
    async ({ sql, as, allow = [] }, { expect }) => {
      await plant(sql);
      const { outcome, mistakes, notJudged, arePeople } = await proofOf(as, { allow });
      expect([mistakes, notJudged]).toEqual([[], []]);
      expect([outcome, arePeople]).toEqual(["proven", false]);
    },
  );

  it.skipIf(!hasPostgres)(`proves two people of one customer${skipped}`, async ({ expect }) => {
    await plant(CORRECT, PEOPLE_CORRECT);
    const { outcome, mistakes, notJudged, arePeople } = await proofOf(asOneOfTwo);
    expect([mistakes, notJudged]).toEqual([[], []]);
    expect([outcome, arePeople]).toEqual(["proven", true]);
  });

  it.skipIf(!hasPostgres)(`leaves a claim that shows all stores to a person${skipped}`, async ({ expect }) => {
    await plant(PRODUCT_SCHEMA.sql);
    const { outcome, notJudged } = await proofOf(PRODUCT_SCHEMA.as, { allow: [] });
    expect([outcome, notJudged.map(({ object }) => object)]).toEqual(["not_judged", ["public.sales.own_store"]]);
    const accepted = await proofOf(PRODUCT_SCHEMA.as, { allow: [], accept: ["public.sales.own_store"] });
    expect(accepted.outcome).toBe("proven");
  });
});
