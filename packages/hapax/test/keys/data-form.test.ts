import { isDeepStrictEqual } from "node:util";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalText } from "../../src/keys/canonical.js";
import { fromDataForm, toDataForm } from "../../src/keys/data-form.js";
import type { Json } from "../../src/keys/tag.js";
import { anyJson, anyValue, recordOf, refusalOf } from "./values.js";

/** There and back through text, as the result codec does it. */
function throughText(value: unknown): unknown {
  return fromDataForm(JSON.parse(JSON.stringify(toDataForm(value))));
}

function tag(...content: readonly Json[]): Json {
  return { $hapax: content };
}

describe("P4: what is not JSON has a form of its own", () => {
  class Uuid {
    readonly #text: string;
    constructor(text: string) {
      this.#text = text;
    }
    toString(): string {
      return this.#text;
    }
  }
  class Decimal {
    readonly digits = [1, 50];
    readonly exponent = 0;
    toString(): string {
      return "1.50";
    }
    toJSON(): string {
      return "1.5";
    }
  }
  /** What `class extends null` makes. */
  const rootless = Object.assign(Object.create(null), { toString: () => "rootless" });
  class Point {
    readonly x = 1;
    readonly #secret = 2;
    get y(): number {
      return this.#secret;
    }
  }

  it.each<[string, unknown, Json]>([
    ["a Date", new Date(0), tag("date", "1970-01-01T00:00:00.000Z")],
    ["a Date far away", new Date(8.64e15), tag("date", "+275760-09-13T00:00:00.000Z")],
    ["a bigint", -(2n ** 70n), tag("bigint", "-1180591620717411303424")],
    ["undefined", undefined, tag("undefined")],
    ["a property that is undefined", { a: undefined }, { a: tag("undefined") }],
    // biome-ignore lint/suspicious/noSparseArray: a hole is what this is about
    ["a hole in an array", [1, , 3], [1, tag("undefined"), 3]],
    [
      "a Map",
      new Map<unknown, unknown>([
        ["b", 1],
        [{ a: 1 }, 2],
      ]),
      tag("map", [
        ["b", 1],
        [{ a: 1 }, 2],
      ]),
    ],
    ["a Set", new Set([2, 1]), tag("set", [2, 1])],
    ["a Buffer", Buffer.from("hi"), tag("bytes", "aGk=")],
    ["a Uint8Array", new Uint8Array([104, 105]), tag("bytes", "aGk=")],
    ["a piece of a Uint8Array", new Uint8Array([0, 104, 105, 0]).subarray(1, 3), tag("bytes", "aGk=")],
    ["an ArrayBuffer", new Uint8Array([104, 105]).buffer, tag("arraybuffer", "aGk=")],
    ["a DataView", new DataView(new Uint8Array([104, 105]).buffer), tag("dataview", "aGk=")],
    ["a Float64Array", new Float64Array([1]), tag("float64array", "AAAAAAAA8D8=")],
    ["a URL", new URL("https://example.com/a b"), tag("url", "https://example.com/a%20b")],
    ["a boxed number", new Number(1), 1],
    ["a boxed string", new String("s"), "s"],
    ["a boxed boolean", new Boolean(false), false],
    ["a boxed bigint", Object(1n), tag("bigint", "1")],
    ["a UUID-like class", new Uuid("0b1f"), tag("text", "0b1f")],
    ["a decimal-like class", new Decimal(), tag("json", "1.5")],
    ["a regular expression", /a+/gi, tag("text", "/a+/gi")],
    ["an object with a toString of its own", { a: 1, toString: () => "me" }, tag("text", "me")],
    ["a toJSON that gives a Date", { toJSON: () => new Date(0) }, tag("json", tag("date", "1970-01-01T00:00:00.000Z"))],
    ["a toJSON that gives undefined", { toJSON: () => undefined }, tag("json", tag("undefined"))],
    ["a toJSON inside a toJSON", { toJSON: () => ({ n: { toJSON: () => 1 } }) }, tag("json", { n: tag("json", 1) })],
    ["an array with a toJSON", Object.assign([1], { toJSON: () => "list" }), tag("json", "list")],
    ["a class with fields", new Point(), { x: 1 }],
    ["an object without prototype", Object.assign(Object.create(null), { a: 1 }), { a: 1 }],
    ["an object without prototype that is empty", Object.create(null), {}],
    ["an empty object of a parser, whose prototype is empty too", Object.create(Object.create(null)), {}],
    ["an object that inherits from arrays", Object.assign(Object.create(Array.prototype), { a: 1 }), { a: 1 }],
    ["a class that inherits from nothing", Object.create(rootless), tag("text", "rootless")],
    ["a key named toJSON that is no function", { toJSON: 1, toString: 2 }, { toJSON: 1, toString: 2 }],
    ["a symbol key that is not enumerable", Object.defineProperty({ a: 1 }, Symbol("s"), { value: 1 }), { a: 1 }],
  ])("%s", (_, value, form) => {
    expect(toDataForm(value)).toStrictEqual(form);
  });

  it("values of another realm have the same forms", () => {
    const source =
      '({ d: new Date(0), m: new Map([[1, new Set([2])]]), b: new Uint8Array([1]), o: {}, n: new Number(1), e: Object.create({ toString: () => "x" }) })';
    const here = {
      d: new Date(0),
      m: new Map([[1, new Set([2])]]),
      b: Buffer.from([1]),
      o: {},
      n: 1,
      e: { toString: () => "x" },
    };
    expect(toDataForm(runInNewContext(source))).toStrictEqual(toDataForm(here));
  });

  it("plain JSON stays exactly itself", () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        fc.pre(!JSON.stringify(value).includes('hapax":'));
        expect(isDeepStrictEqual(toDataForm(value), value)).toBe(true);
      }),
    );
  });

  it("the same object twice is not a cycle", () => {
    const shared = { a: [1] };
    expect(toDataForm([shared, shared, { shared }])).toStrictEqual([shared, shared, { shared }]);
  });

  it("a hundred thousand fields are walked in one go", () => {
    const wide = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`field${index}`, index]));
    expect(toDataForm(wide)).toStrictEqual(wide);
    expect(JSON.parse(canonicalText(wide))).toStrictEqual(wide);
  });
});

describe("P4: a form comes back from its JSON text", () => {
  it("as what it was", () => {
    fc.assert(
      fc.property(anyValue, (value) => {
        expect(isDeepStrictEqual(throughText(value), value)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  it("with Maps and Sets in the order of insertion", () => {
    expect([...(throughText(new Set([3, 1, 2])) as Set<number>)]).toEqual([3, 1, 2]);
    expect([
      ...(
        throughText(
          new Map([
            ["z", 1],
            ["a", 2],
          ]),
        ) as Map<string, number>
      ).keys(),
    ]).toEqual(["z", "a"]);
  });

  it("with every kind of binary data in memory of its own", () => {
    const memory = new Uint8Array([1, 2, 3, 4, 5, 6, 7, 8]).buffer;
    const values = [
      memory,
      new Uint8ClampedArray(memory),
      new Int8Array(memory),
      new Int16Array(memory),
      new Uint16Array(memory),
      new Int32Array(memory),
      new Uint32Array(memory),
      new Float32Array(memory),
      new Float64Array(memory),
      new BigInt64Array(memory),
      new BigUint64Array(memory),
      new DataView(memory),
    ];
    expect(new Set(values.map((value) => canonicalText(value))).size).toBe(values.length);
    for (const value of values) expect(throughText(value)).toStrictEqual(value);
    expect(throughText(Buffer.from("hi"))).toStrictEqual(Buffer.from("hi"));
  });

  it("with URLs as URLs, and texts and toJSON data as such", () => {
    expect(String(throughText(new URL("https://example.com/?q=1")))).toBe("https://example.com/?q=1");
    expect(throughText({ at: /a/, n: { toJSON: () => ({ at: new Date(0) }) } })).toStrictEqual({
      at: "/a/",
      n: { at: new Date(0) },
    });
  });

  it("with a key that looks like a tag as a key", () => {
    const sly = { $hapax: ["date", "x"], $$hapax: 1, $$$hapax: { $hapax: ["bigint", "1"] }, hapax: 2 };
    expect(toDataForm(sly)).not.toHaveProperty("$hapax");
    expect(throughText(sly)).toStrictEqual(sly);
  });

  it("with __proto__ as a key, touching no prototype", () => {
    const sly = recordOf([
      ["__proto__", { admin: true }],
      ["a", 1],
    ]);
    const back = throughText(sly) as { readonly admin?: unknown };
    expect(Object.keys(back)).toEqual(["__proto__", "a"]);
    expect(Object.getPrototypeOf(back)).toBe(Object.prototype);
    expect(back.admin).toBeUndefined();
    expect(canonicalText(sly)).toBe('{"__proto__":{"admin":true},"a":1}');
  });

  it.each<[string, Json]>([
    ["an unknown kind", tag("complex", "1+i")],
    ["a tag that is no list", { $hapax: "date" }],
    ["a tag with company", { $hapax: ["undefined"], a: 1 }],
    ["a kind that is no text", tag(1, "x")],
    ["data that is no text", tag("date", 1)],
    ["entries that are no list", tag("map", "x")],
    ["a date that is none", tag("date", "soon")],
    ["a bigint that is none", tag("bigint", "many")],
    ["a URL that is none", tag("url", "nowhere")],
    ["bytes that fill no element", tag("float64array", "aGk=")],
  ])("but not from %s", (_, form) => {
    const error = refusalOf(() => fromDataForm(form));
    expect(error.code).toBe("unserializable");
    expect(error.message).toMatch(/^The stored data .* cannot be read back/);
  });

  it("and an unknown kind is named, since a newer version may have written it", () => {
    expect(refusalOf(() => fromDataForm(tag("complex", "1+i"))).message).toContain('the unknown kind "complex"');
  });

  it("nor from a text that is nested too deep", () => {
    expect(refusalOf(() => fromDataForm(JSON.parse("[".repeat(5_000) + "]".repeat(5_000)))).code).toBe(
      "unserializable",
    );
  });
});
