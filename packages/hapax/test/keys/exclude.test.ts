import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalText } from "../../src/keys/canonical.js";
import { compileExclude } from "../../src/keys/exclude.js";
import { recordOf, refusalOf } from "./values.js";

function without(value: unknown, ...exclude: string[]): unknown {
  return JSON.parse(canonicalText(value, { exclude }));
}

describe("P3: excluded fields do not count", () => {
  it.each<[string, unknown, string[], unknown]>([
    ["a top-level name", { id: 1, receivedAt: 2 }, ["receivedAt"], { id: 1 }],
    ["a top-level name only at the top", { a: { at: 1 }, at: 2 }, ["at"], { a: { at: 1 } }],
    ["a dotted path", { meta: { at: 1, id: 2 } }, ["meta.at"], { meta: { id: 2 } }],
    ["one segment by *", { meta: { a: { n: 1, k: 1 }, b: { n: 2 } } }, ["meta.*.n"], { meta: { a: { k: 1 }, b: {} } }],
    ["exactly one segment by *", { n: 1, a: { n: 1, b: { n: 1 } } }, ["*.n"], { n: 1, a: { b: { n: 1 } } }],
    ["everything below by a * at the end", { a: { b: 1, c: [1] }, d: 1 }, ["a.*"], { a: {}, d: 1 }],
    ["everything by *", { a: 1, b: 2 }, ["*"], {}],
    [
      "a field of every array element",
      { lines: [{ id: 1, at: 1 }, { at: 2 }] },
      ["lines.*.at"],
      { lines: [{ id: 1 }, {}] },
    ],
    ["an array element, which disappears", { list: [1, 2, 3] }, ["list.1"], { list: [1, 3] }],
    ["array elements by the index they had", [0, 1, 2, 3], ["1", "2"], [0, 3]],
    [
      "what a toJSON gives",
      { user: { toJSON: () => ({ id: 1, at: 2 }) } },
      ["user.at"],
      { user: { $hapax: ["json", { id: 1 }] } },
    ],
    [
      "a Map's string key",
      {
        m: new Map([
          ["at", 1],
          ["id", 2],
        ]),
      },
      ["m.at"],
      { m: { $hapax: ["map", [["id", 2]]] } },
    ],
    ["inside a Map by *", new Map([["x", { at: 1 }]]), ["*.at"], { $hapax: ["map", [["x", {}]]] }],
    ["not a Map's other keys", new Map([[1, 2]]), ["1", "*"], { $hapax: ["map", [[1, 2]]] }],
    ["not the members of a Set", new Set([{ a: 1 }]), ["0.a", "*.a", "*"], { $hapax: ["set", [{ a: 1 }]] }],
    ["two patterns that share their way", { a: { b: 1, c: 2, d: 3 } }, ["a.b", "*.c"], { a: { d: 3 } }],
    ["a pattern and a longer one", { a: { b: 1 }, c: 1 }, ["a.b", "a"], { c: 1 }],
    ["a dot in a name", { "a.b": 1, a: { b: 2 } }, ["a\\.b"], { a: { b: 2 } }],
    ["a star as a name", { "*": 1, a: 2 }, ["\\*"], { a: 2 }],
    ["a backslash in a name", { "a\\": 1, b: 2 }, ["a\\\\"], { b: 2 }],
    ["a backslash before a dot that splits", { "a\\": { b: 1, c: 2 } }, ["a\\\\.b"], { "a\\": { c: 2 } }],
    ["a key that looks like a tag, as the user wrote it", { $hapax: 1, a: 2 }, ["$hapax"], { a: 2 }],
    [
      "__proto__",
      recordOf([
        ["__proto__", 1],
        ["a", 2],
      ]),
      ["__proto__"],
      { a: 2 },
    ],
    ["nothing that is not there", { a: 1 }, ["constructor", "toString.x", "b.c.d", "a.b"], { a: 1 }],
    [
      "a field of an object whose only field it is",
      new (class {
        at = 1;
      })(),
      ["at"],
      {},
    ],
  ])("%s", (_, value, exclude, left) => {
    expect(without(value, ...exclude)).toStrictEqual(left);
  });

  it("are not even looked at", () => {
    const value = {
      id: 1,
      callback: () => 1,
      get expensive(): never {
        throw new Error("read");
      },
    };
    expect(without(value, "callback", "expensive")).toStrictEqual({ id: 1 });
  });

  it("give what deleting them by hand gives", () => {
    const name = fc.constantFrom("a", "b", "0", "1", "x.y", "*", "\\");
    const value = fc.letrec((tie) => ({
      value: fc.oneof({ maxDepth: 4 }, fc.nat(3), tie("list"), tie("record")),
      list: fc.array(tie("value"), { maxLength: 3 }),
      record: fc.dictionary(name, tie("value"), { maxKeys: 4, noNullPrototype: true }),
    }));
    const pattern = fc.array(fc.oneof(name, fc.constant(ANY)), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(value.value, fc.array(pattern, { maxLength: 4 }), (whole, patterns) => {
        const exclude = patterns.map((segments) => segments.map(written).join("."));
        expect(canonicalText(whole, { exclude })).toBe(canonicalText(deleted(whole, patterns, [])));
      }),
      { numRuns: 2_000 },
    );
  });
});

const ANY = Symbol("any");
type Segments = readonly (string | symbol)[];

function written(segment: string | symbol): string {
  return typeof segment === "symbol" ? "*" : segment.replace(/[.*\\]/g, "\\$&");
}

/** The slow way: every place has its whole path, and every pattern is held against it. */
function deleted(value: unknown, patterns: readonly Segments[], path: readonly string[]): unknown {
  const kept = (key: string) => !patterns.some((pattern) => isMatch(pattern, [...path, key]));
  if (Array.isArray(value)) {
    return value.flatMap((item, index) =>
      kept(String(index)) ? [deleted(item, patterns, [...path, String(index)])] : [],
    );
  }
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, item]) => (kept(key) ? [[key, deleted(item, patterns, [...path, key])]] : [])),
  );
}

function isMatch(pattern: Segments, path: readonly string[]): boolean {
  return (
    pattern.length === path.length && pattern.every((segment, index) => segment === ANY || segment === path[index])
  );
}

describe("P3: a pattern that cannot work is an error that names it", () => {
  it.each<[unknown, string]>([
    ["", "is empty"],
    [".", "empty segment"],
    ["a..b", "empty segment"],
    [".a", "empty segment"],
    ["a.", "empty segment"],
    ["a\\", "ends with a backslash"],
    ["a\\b", "a backslash stands only before"],
    ["item*", "stands for a whole segment"],
    ["**", "stands for a whole segment"],
    [undefined, "must be a string"],
    [1, "must be a string"],
    [["a"], "must be a string"],
  ])("%j", (pattern, reason) => {
    const error = refusalOf(() => compileExclude(["fine", pattern as string]));
    expect(error.code).toBe("invalid-option");
    expect(error.message).toContain(reason);
    if (typeof pattern === "string") expect(error.message).toContain(JSON.stringify(pattern));
  });

  it("and so is a list that is none", () => {
    expect(refusalOf(() => compileExclude("receivedAt" as never)).code).toBe("invalid-option");
  });
});

describe("P3: patterns are read once for each array", () => {
  it("so that the same array gives the same answer at once", () => {
    const exclude = ["a", "b.c"];
    expect(compileExclude(exclude)).toBe(compileExclude(exclude));
  });

  it("unless the array was changed in between", () => {
    const exclude = ["a"];
    expect(without({ a: 1, b: 2 }, ...exclude)).toStrictEqual({ b: 2 });
    expect(canonicalText({ a: 1, b: 2 }, { exclude })).toBe('{"b":2}');
    exclude[0] = "b";
    expect(canonicalText({ a: 1, b: 2 }, { exclude })).toBe('{"a":1}');
  });

  it("and none at all cost nothing", () => {
    expect(compileExclude([])).toBeUndefined();
    expect(compileExclude(undefined)).toBeUndefined();
  });
});
