import { afterAll, beforeAll, describe, it } from "vitest";
import { statementsOf } from "../../scripts/ug/prove/customer-sql.ts";
import { withDatabase } from "../../scripts/ug/prove/database.ts";
import { type Proof, prove } from "../../scripts/ug/prove/prove.ts";
import { KINDS } from "./support/planted-kinds.ts";
import { asCustomer, CORRECT, PLANTED, RESET } from "./support/planted-mistakes.ts";
import { hasPostgres, type Postgres, startPostgres } from "./support/postgres.ts";

const skipped = hasPostgres ? "" : ", skipped: Debian's PostgreSQL is missing";

/** A fix uncovers what it hid, but not for ever. */
const ROUNDS_MAX = 4;

describe("the kinds of mistakes", () => {
  let postgres: Postgres;
  beforeAll(async () => {
    if (hasPostgres) postgres = await startPostgres();
  });
  afterAll(() => postgres?.stop());

  const proofOf = (as: (number: number) => string, allow: readonly string[]) => {
    const setup = (number: number) => ({ option: `customer ${number}`, statements: statementsOf(as(number), "--as") });
    return prove((use) => withDatabase(postgres.url("backend"), use), { setups: [setup(1), setup(2)], allow, accept: [] });
  };
  const plant = async (sql: string) => {
    for (const each of [RESET, CORRECT, sql]) await postgres.run(each);
  };
  const named = ({ mistakes, notJudged }: Proof) => [
    ...mistakes.map(({ code, object }) => ({ code, object })),
    ...notJudged.map(({ object }) => ({ code: undefined, object })),
  ];
  const fixed = async (proof: Proof, as: (number: number) => string, allow: readonly string[]) => {
    let last = proof;
    for (let round = 0; round < ROUNDS_MAX && last.outcome !== "proven"; round += 1) {
      for (const { fix } of [...last.mistakes, ...last.notJudged]) await postgres.run(fix);
      last = await proofOf(as, allow);
    }
    return last;
  };

  it.skipIf(!hasPostgres).for(KINDS)(`finds $name, and its fix works${skipped}`, async (planted, { expect }) => {
    const { sql, found, as = asCustomer } = planted;
    await plant(sql);
    const allow = ["public.countries"];
    const proof = await proofOf(as, allow);

    expect(proof.outcome, JSON.stringify(named(proof))).not.toBe("proven");
    const objects = [found.object, found.object.replace(/^(\w+) on (.*)$/, "$2.$1")];
    const isNamed = named(proof).some(
      ({ code, object }) =>
        (found.code === undefined || code === found.code) &&
        (objects.includes(object) || objects.includes(object.replace(/^(\w+) on (.*)$/, "$2.$1"))),
    );
    expect(isNamed, JSON.stringify(named(proof))).toBe(true);
    const last = await fixed(proof, as, allow);
    expect([last.mistakes, last.notJudged]).toEqual([[], []]);
  });
});
