import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fold } from "../../src/domain/search/folding.ts";

/** A search, a name, and whether the search finds it. */
const FOUND: [language: string, search: string, name: string, isFound: boolean][] = [
  ["English", "ACME", "Acme Inc.", true],
  ["English", "acme  inc", "Acme Inc.", false],
  ["Turkish", "istanbul", "İSTANBUL Turizm", true],
  ["Turkish", "İstanbul", "istanbul turizm", true],
  ["Turkish", "ışık", "Işık Ltd.", true],
  ["Turkish", "isik", "IŞIK Ltd.", true],
  ["Turkish", "cagri", "Çağrı", true],
  ["Turkish", "çağrı", "ÇAĞRı", true],
  ["German", "mueller", "Müller", false],
  ["German", "muller", "MÜLLER GmbH", true],
  ["German", "strasse", "Hauptstraße 1", true],
  ["German", "STRASSE", "Hauptstraße 1", true],
  ["German", "straße", "HAUPTSTRASSE 1", true],
  ["German", "straẞe", "Hauptstrasse 1", true],
  ["Greek", "οδυσσεας", "ΟΔΥΣΣΈΑΣ", true],
  ["Greek", "ΟΔΟΣ", "οδοσφαίρα", true],
  ["Greek", "λογος", "Λόγος Α.Ε.", true],
  ["Greek", "λόγοσ", "ΛΟΓΟΣ", true],
  ["Vietnamese", "cong ty", "Công ty Phở", true],
  ["Vietnamese", "phở", "PHO 24", true],
  ["Vietnamese", "đa nang", "Đà Nẵng", true],
  ["Vietnamese", "da nang", "Đà Nẵng", true],
  ["French", "elysee", "Élysée", true],
  ["French", "oeuvre", "Œuvre", true],
  ["Russian", "елка", "Ёлка", true],
  ["Chinese", "东", "上海东方公司", true],
  ["Chinese", "东方", "上海东方公司", true],
  ["Chinese", "东海", "上海东方公司", false],
  ["Japanese", "株", "株式会社トヨタ", true],
  ["Japanese", "ﾄﾖﾀ", "株式会社トヨタ", true],
  ["Japanese", "㈱", "(株)トヨタ", true],
  ["Korean", "한국", "한국전력", true],
  ["full width", "ａｂｃ", "ABC商事", true],
  ["Arabic", "شركة", "شركة النور", true],
  ["Arabic", "ﻮﺭ", "شركة النور", true],
  ["Arabic", "محمد", "مُحَمَّد", false],
  ["Hebrew", "שלום", "חברת שלום", true],
  ["Hebrew", "שלם", "חברת שלום", false],
  ["emoji", "🚀", "Rocket 🚀 Co", true],
  ["emoji", "👩", "👩‍💻 Studio", true],
  ["emoji", "🚁", "Rocket 🚀 Co", false],
  ["combining marks", "cafe\u0301", "Café", true],
  ["combining marks", "café", "Cafe\u0301", true],
  ["combining marks", "cafe", "Cafe\u0301", true],
  ["combining marks", "CAFÉ", "cafe", true],
  ["combining marks", "a\u0301\u0323", "\u1ea1\u0301", true],
  ["symbols", "№ 5", "No 5", true],
  ["symbols", "ﬁnance", "FINANCE", true],
  ["symbols", "100%", "100% Acme", true],
  ["symbols", "_", "a_b", true],
  ["symbols", "_", "ab", false],
];

describe("folding", () => {
  it.for(FOUND)("in %s: %s in %s is %s", ([, search, name, isFound]) => {
    expect(fold(name).includes(fold(search))).toBe(isFound);
  });

  it("leaves of accents alone nothing, and something of all else", () => {
    expect(fold("\u0301\u0327\u036f")).toBe("");
    for (const text of [" ", "\u0483", "\u05b0", "\u064b", "\u200d", "´"]) expect(fold(text), text).not.toBe("");
  });

  it("changes folded text no more, for every character", () => {
    const changed: string[] = [];
    for (let point = 0; point <= 0x10_ffff; point += 1) {
      if (point >= 0xd800 && point <= 0xdfff) continue;
      const folded = fold(String.fromCodePoint(point));
      if (fold(folded) !== folded) changed.push(point.toString(16));
    }
    expect(changed).toEqual([]);
  });

  it("is the same for all spellings of a text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (text) =>
        ["NFC", "NFD", "NFKC", "NFKD"].every((form) => fold(text.normalize(form)) === fold(text)),
      ),
    );
  });

  // Marks and ignorable characters weigh nothing there, and the order of languages treats some letters as others.
  const LETTERS = [
    ..."abcdeiklnosuyzABCDEIKLNOSUYZ àáâãäåçèéêëìíîïñòóôõöùúûüýÿÀÁÂÃÄÅÇÈÉÊËÌÍÎÏÑÒÓÔÕÖÙÚÛÜÝŸ",
    ..."āăąćčďěęğģīįķĺľļńňņōőŕřśšşťţūůűųźžżĀĂĄĆČĎĚĘĞĢĪĮĶĹĽĻŃŇŅŌŐŔŘŚŠŞŤŢŪŮŰŲŹŽŻ",
    ..."ạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹẠẢẤẦẨẪẬẮẰẲẴẶẸẺẼẾỀỂỄỆỈỊỌỎỐỒỔỖỘỚỜỞỠỢỤỦỨỪỬỮỰỲỴỶỸ",
    ..."αβγδεηικλνοπρσςτυωΑΒΓΔΕΗΙΚΛΝΟΠΡΣΤΥΩάέήίόύώϊΐΆΈΉΊΌΎΏ",
    ..."абвгдежзклмнопрстуАБВГДЕЖЗКЛМНОПРСТУёЁ",
    ..."אבגדהוזחטיכלמנסעפצקרשת ابتثجحخدذرزسشصض 東京上海公司中国",
    "ß",
    "ẞ",
    "ﬁ",
    "ａ",
    "Ａ",
    "①",
    "1",
    "ſ",
    "İ",
    "e\u0301",
    "a\u0323\u0302",
  ];

  it("finds texts equal where the base letters of Unicode's collation are", () => {
    const text = fc.array(fc.constantFrom(...LETTERS), { minLength: 1, maxLength: 6 }).map((units) => units.join(""));
    const respelled = text.chain((one) =>
      fc.tuple(fc.constant(one), fc.constantFrom(one.toUpperCase(), one.toLowerCase(), one.normalize("NFD"))),
    );
    const areEqual = ([one, other]: [string, string]) =>
      (fold(one) === fold(other)) === (one.localeCompare(other, "en", { sensitivity: "base" }) === 0);
    fc.assert(fc.property(fc.oneof(fc.tuple(text, text), respelled), areEqual), { numRuns: 5000 });
  });

  it("finds letters equal where the base letters of Unicode's collation are", () => {
    const differing = LETTERS.flatMap((one) =>
      LETTERS.filter(
        (other) => (fold(one) === fold(other)) !== (one.localeCompare(other, "en", { sensitivity: "base" }) === 0),
      ).map((other) => `${one} ${other}`),
    );
    expect(differing).toEqual([]);
  });
});
