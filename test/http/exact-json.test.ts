import fc from "fast-check";
import { describe, it } from "vitest";
import { findInexact } from "../../src/http/exact-json.ts";

/** The decimal value of a JSON number as a fraction of integers, by the plainest means. */
function fractionOf(number: string): [bigint, bigint] {
  const [mantissa = "", exponent = "0"] = number.toLowerCase().split("e");
  const [whole = "", decimals = ""] = mantissa.split(".");
  const power = Number(exponent) - decimals.length;
  const digits = BigInt(whole + decimals);
  return power >= 0 ? [digits * 10n ** BigInt(power), 1n] : [digits, 10n ** BigInt(-power)];
}

function isSameDecimal(one: string, other: string): boolean {
  const [a, b] = fractionOf(one);
  const [c, d] = fractionOf(other);
  return a * d === c * b;
}

describe("findInexact", () => {
  it("finds nothing in what JSON.stringify prints", ({ expect }) => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
        fc.pre(JSON.stringify(value).isWellFormed());
        expect(findInexact(JSON.stringify(value))).toEqual([]);
        expect(findInexact(JSON.stringify(value, null, 2))).toEqual([]);
      }),
    );
  });

  it("finds a number exactly when printing it again gives another decimal value", ({ expect }) => {
    const digits = fc.stringMatching(/^(0|[1-9]\d{0,24})$/);
    const decimals = fc.option(fc.stringMatching(/^\d{1,24}$/), { nil: undefined });
    const exponents = fc.option(fc.integer({ min: -330, max: 330 }), { nil: undefined });
    fc.assert(
      fc.property(fc.boolean(), digits, decimals, exponents, (negative, whole, fraction, exponent) => {
        const number = `${negative ? "-" : ""}${whole}${fraction === undefined ? "" : `.${fraction}`}${exponent === undefined ? "" : `e${exponent}`}`;
        const printed = String(Number(number));
        const isKept = Number.isFinite(Number(number)) && isSameDecimal(number, printed);
        expect(findInexact(`[${number}]`)).toHaveLength(isKept ? 0 : 1);
      }),
      { numRuns: 2000 },
    );
  });

  it("names the place of what it finds", ({ expect }) => {
    const places = (text: string) => findInexact(text).map(({ path }) => path);
    expect(places('{"a":[true,{"b":"x"},{"c":[1e999]}]}')).toEqual([["a", 2, "c", 0]]);
    expect(places('{"a":{"x":1},"b":{"x":1,"y":{"x":1},"x":2}}')).toEqual([["b", "x"]]);
    expect(places('{"\\"}{":"[,:","e":"\\ud800"}')).toEqual([["e"]]);
    expect(places("[[],{},[[1e999]]]")).toEqual([[2, 0, 0]]);
  });
});
