import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalText } from "../../src/keys/canonical.js";
import { argumentsKey, COMPOSITE_KEY_BYTES_MAX, compositeKey, contentKey } from "../../src/keys/content-key.js";
import { anyJson, refusalOf } from "./values.js";

function sha256(text: string): string {
  return `sha256:${createHash("sha256").update(text, "utf8").digest("hex")}`;
}

describe("P2, P10: the content key of a payload", () => {
  it("is the SHA-256 of its canonical text in UTF-8, for anybody to compute", () => {
    // printf '%s' '{"amount":1999,"note":"é"}' | sha256sum
    expect(contentKey({ note: "é", amount: 1999 })).toBe(
      "sha256:9d598a20da168a26f22512f13cf384f33c3caf0c78416c14355b9c13a9fc0c20",
    );
    fc.assert(
      fc.property(anyJson, (value) => {
        expect(contentKey(value)).toBe(sha256(canonicalText(value)));
      }),
    );
  });

  it("does not depend on the order of keys", () => {
    expect(contentKey({ a: 1, b: { c: 2, d: 3 } })).toBe(contentKey({ b: { d: 3, c: 2 }, a: 1 }));
  });

  it("P3: does not depend on what is excluded", () => {
    const exclude = ["receivedAt", "meta.*.retryCount"];
    const first = contentKey({ id: 1, receivedAt: 1, meta: { queue: { retryCount: 0 } } }, { exclude });
    const second = contentKey({ id: 1, receivedAt: 2, meta: { queue: { retryCount: 1 } } }, { exclude });
    expect(first).toBe(second);
    expect(first).toBe(contentKey({ id: 1, meta: { queue: {} } }));
  });

  it("exists for anything that has a text, undefined included", () => {
    const payloads = [undefined, null, "", 0, false, [], {}];
    expect(new Set(payloads.map((payload) => contentKey(payload))).size).toBe(payloads.length);
  });

  it("P4: is refused for what has none", () => {
    expect(refusalOf(() => contentKey({ total: Number.NaN })).message).toMatch(/^payload\.total is NaN/);
  });
});

describe("P10: the key of a call by its arguments", () => {
  it("is the content key of the argument when there is one", () => {
    expect(argumentsKey([{ b: 1, a: 2 }])).toBe(contentKey({ a: 2, b: 1 }));
    expect(argumentsKey([[1, 2]])).toBe(contentKey([1, 2]));
    expect(argumentsKey([{ at: 1, id: 2 }], { exclude: ["at"] })).toBe(contentKey({ id: 2 }));
  });

  it("is the hash of all their texts otherwise, which is never that of a payload", () => {
    expect(argumentsKey([])).toBe(sha256("()"));
    expect(argumentsKey([{ b: 1, a: 2 }, "x"])).toBe(sha256('({"a":2,"b":1},"x")'));
    expect(argumentsKey([1, 2])).not.toBe(contentKey([1, 2]));
    expect(argumentsKey([1, 2])).not.toBe(contentKey("(1,2)"));
  });

  it("differs by number and order of arguments", () => {
    const calls = [[], [undefined], [undefined, undefined], [1, 2], [2, 1], ["1,2"], ["1", "2"], [[1], 2], [[1, 2]]];
    expect(new Set(calls.map((args) => argumentsKey(args))).size).toBe(calls.length);
  });

  it("P3: is excluded from by paths that start with the argument's index", () => {
    const exclude = ["1.at", "2"];
    expect(argumentsKey(["a", { at: 1, id: 1 }, "trace"], { exclude })).toBe(sha256('("a",{"id":1})'));
    expect(argumentsKey([{ at: 1 }, { at: 1 }], { exclude: ["*.at"] })).toBe(sha256("({},{})"));
  });

  it("P4: is refused with the argument's name in the path", () => {
    expect(refusalOf(() => argumentsKey([1, { f: () => 1 }])).message).toMatch(/^arguments\[1\]\.f is a function/);
    expect(refusalOf(() => argumentsKey([{ f: () => 1 }])).message).toMatch(/^arguments\[0\]\.f is a function/);
  });
});

describe("P10: a composite key", () => {
  it("is readable while it is short", () => {
    expect(compositeKey(["invoice", 17])).toBe('["invoice",17]');
    expect(compositeKey({ order: 17, line: 3 })).toBe('{"line":3,"order":17}');
    expect(compositeKey([true, 1n, new Date(0)])).toBe(
      '[true,{"$hapax":["bigint","1"]},{"$hapax":["date","1970-01-01T00:00:00.000Z"]}]',
    );
  });

  it("becomes a hash when it is longer than its limit in bytes", () => {
    const longest = "é".repeat((COMPOSITE_KEY_BYTES_MAX - 4) / 2);
    expect(compositeKey([longest])).toBe(`["${longest}"]`);
    expect(compositeKey([`${longest}x`])).toBe(contentKey([`${longest}x`]));
  });

  it("tells its parts apart", () => {
    const keys = [["a", "b"], ["ab"], ["a,b"], ['a","b'], ["b", "a"], ["1"], [1], [1n], { a: "b" }, { b: "a" }];
    expect(new Set(keys.map((parts) => compositeKey(parts as string[]))).size).toBe(keys.length);
  });

  it.each<[string, unknown, string]>([
    ["an undefined part", ["order", undefined], "Part [1] of a composite key is undefined"],
    ["a hole", Object.assign(new Array(2), { 0: "order" }), "Part [1] of a composite key is undefined"],
    ["a null part", { order: null }, 'Part "order" of a composite key is null'],
    ["an empty part", ["order", ""], "Part [1] of a composite key is empty"],
    ["NaN", { line: Number.NaN }, 'Part "line" of a composite key is not a finite number'],
    ["an invalid Date", [new Date("soon")], "Part [0] of a composite key is an invalid Date"],
    ["half a surrogate pair", ["\ud800"], "Part [0] of a composite key holds half a surrogate pair"],
    ["a part that is an object", [{ id: 1 }], "Part [0] of a composite key is not a string, number"],
    ["a part that is a function", [() => 1], "Part [0] of a composite key is not a string, number"],
    ["no parts", [], "A composite key needs at least one part"],
    ["no named parts", {}, "A composite key needs at least one part"],
    ["neither array nor plain object", new Map([["a", 1]]), "A composite key must be an array"],
    ["a number", 17, "A composite key must be an array"],
    ["nothing", undefined, "A composite key must be an array"],
  ])("refuses %s", (_, parts, message) => {
    const error = refusalOf(() => compositeKey(parts as string[]));
    expect(error.code).toBe("invalid-key");
    expect(error.message).toContain(message);
  });
});
