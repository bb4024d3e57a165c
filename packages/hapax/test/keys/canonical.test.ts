import { readdirSync, readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalText } from "../../src/keys/canonical.js";
import { fromDataForm } from "../../src/keys/data-form.js";
import { anyJson, anyValue, fewValues, recordOf } from "./values.js";

const vectors = new URL("./fixtures/jcs/", import.meta.url);

describe("P2: the canonical text of plain JSON is that of RFC 8785", () => {
  for (const file of readdirSync(new URL("input/", vectors))) {
    it(`gives the bytes of the RFC author's ${file}`, () => {
      const input: unknown = JSON.parse(readFileSync(new URL(`input/${file}`, vectors), "utf8"));
      const output = readFileSync(new URL(`output/${file}`, vectors));
      expect(Buffer.from(canonicalText(input)).equals(output)).toBe(true);
    });
  }

  it.each([
    [-0, "0"],
    [1e21, "1e+21"],
    [1e20, "100000000000000000000"],
    [1e-7, "1e-7"],
    [5e-324, "5e-324"],
    [1.7976931348623157e308, "1.7976931348623157e+308"],
    [0.1 + 0.2, "0.30000000000000004"],
    ["\u2028\u007f\u0000\b", '"\u2028\u007f\\u0000\\b"'],
    [{ a: 1, A: 2 }, '{"A":2,"a":1}'],
    [{ 9: "", 10: "" }, '{"10":"","9":""}'],
    [{ "\ufb33": 1, "\u{1f602}": 2 }, '{"\u{1f602}":2,"\ufb33":1}'],
  ])("writes %j as %s", (value, text) => {
    expect(canonicalText(value)).toBe(text);
  });

  it("writes any JSON so that parsing gives it back", () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        // Keys that look like a tag are the one thing that RFC 8785 would write otherwise.
        fc.pre(!JSON.stringify(value).includes('hapax":'));
        expect(isDeepStrictEqual(JSON.parse(canonicalText(value)), value)).toBe(true);
      }),
    );
  });
});

describe("P2: the order in which something was built never matters", () => {
  it("holds for the keys of objects, at every depth", () => {
    fc.assert(
      fc.property(anyValue, (value) => {
        expect(canonicalText(reversed(value))).toBe(canonicalText(value));
      }),
    );
  });

  it("holds for Maps with object keys and Sets of objects", () => {
    const left = new Map<unknown, unknown>([
      [{ x: 1, y: 2 }, "a"],
      [{ x: 0 }, new Set([{ q: 1 }, [2], "3", 3])],
    ]);
    const right = new Map<unknown, unknown>([
      [{ x: 0 }, new Set([3, "3", [2], { q: 1 }])],
      [{ y: 2, x: 1 }, "a"],
    ]);
    expect(canonicalText(left)).toBe(canonicalText(right));
  });

  it("keeps both of two equal objects in a Set", () => {
    expect(canonicalText(new Set([{ a: 1 }, { a: 1 }]))).not.toBe(canonicalText(new Set([{ a: 1 }])));
  });

  it("matters for arrays", () => {
    expect(canonicalText([1, 2])).not.toBe(canonicalText([2, 1]));
  });
});

describe("P4: different values have different texts", () => {
  it("because every text can be read back", () => {
    fc.assert(
      fc.property(anyValue, (value) => {
        expect(isDeepStrictEqual(fromDataForm(JSON.parse(canonicalText(value))), value)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  it("also for values that are nearly alike", () => {
    fc.assert(
      fc.property(fewValues, fewValues, (left, right) => {
        expect(canonicalText(left) === canonicalText(right)).toBe(isDeepStrictEqual(left, right));
      }),
      { numRuns: 5_000 },
    );
  });

  it("told one by one", () => {
    const values: readonly unknown[] = [
      {},
      [],
      null,
      undefined,
      0,
      "",
      false,
      0n,
      [undefined],
      [null],
      [[]],
      [{}],
      { a: undefined },
      { a: null },
      "null",
      "undefined",
      "0",
      "{}",
      "[]",
      new Map(),
      new Set(),
      new Map([[1, 2]]),
      new Map([["1", 2]]),
      new Set([1, 2]),
      new Set(["1", 2]),
      [[1, 2]],
      [1, 2],
      { 1: 2 },
      new Date(0),
      "1970-01-01T00:00:00.000Z",
      Buffer.alloc(0),
      new ArrayBuffer(0),
      new Int8Array(0),
      new DataView(new ArrayBuffer(0)),
      new Float64Array(0),
      new Uint8ClampedArray(0),
      new URL("https://a.example/"),
      "https://a.example/",
      17,
      17n,
      "17",
      { toString: "17" },
      { toString: () => "17" },
      { toJSON: () => "17" },
      { toJSON: () => 17 },
      { toJSON: () => undefined },
      { toJSON: () => ({ toJSON: () => 17 }) },
      { $hapax: ["bigint", "17"] },
      { $$hapax: ["bigint", "17"] },
      { $hapax: ["undefined"] },
      ["undefined"],
      { $hapax: { $hapax: ["undefined"] } },
      recordOf([["__proto__", null]]),
      recordOf([["__proto__", {}]]),
    ];
    expect(new Set(values.map((value) => canonicalText(value))).size).toBe(values.length);
  });
});

/** The same value with every object, Map and Set filled in the opposite order. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (value instanceof Map) return new Map([...value].reverse().map(([key, item]) => [reversed(key), reversed(item)]));
  if (value instanceof Set) return new Set([...value].reverse().map(reversed));
  if (typeof value !== "object" || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
  return recordOf(
    Object.entries(value)
      .reverse()
      .map(([key, item]) => [key, reversed(item)]),
  );
}
