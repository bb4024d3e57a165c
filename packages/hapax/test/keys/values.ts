import fc from "fast-check";
import { expect } from "vitest";
import { HapaxError } from "../../src/errors.js";

/** Runs what must be refused, and gives the error. */
export function refusalOf(work: () => unknown): HapaxError {
  try {
    work();
  } catch (error) {
    expect(error).toBeInstanceOf(HapaxError);
    return error as HapaxError;
  }
  throw new Error("nothing was refused");
}

/** An object with exactly these own properties, `__proto__` included. */
export function recordOf(entries: Iterable<readonly [string, unknown]>): Record<string, unknown> {
  const record: Record<string, unknown> = {};
  for (const [key, value] of entries) {
    Object.defineProperty(record, key, { value, enumerable: true, configurable: true, writable: true });
  }
  return record;
}

const text = fc.string({ unit: "binary", maxLength: 8 });

/** Names that mean something to JavaScript or to the data form, among any others. */
const name = fc.oneof(
  text,
  fc.constantFrom("a", "b", "A", "0", "10", "", "__proto__", "constructor", "toJSON", "toString", "length"),
  fc.constantFrom("$hapax", "$$hapax", "$$$hapax", "hapax", "$hapax "),
);

/** RFC 8785 writes -0 as 0, so the two are one value here. */
const number = fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => (value === 0 ? 0 : value));

const bytes = fc.uint8Array({ maxLength: 9 });

/** Any JSON, with the names that could go wrong. */
export const anyJson: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  value: fc.oneof({ depthSize: "small", withCrossShrink: true }, tie("leaf"), tie("list"), tie("record")),
  leaf: fc.oneof(fc.constant(null), fc.boolean(), number, text),
  list: fc.array(tie("value"), { maxLength: 4 }),
  record: fc.array(fc.tuple(name, tie("value")), { maxLength: 4 }).map(recordOf),
})).value;

/** Everything that comes back as it went in. */
export const anyValue: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    tie("leaf"),
    tie("binary"),
    tie("list"),
    tie("record"),
    tie("map"),
    tie("set"),
  ),
  leaf: fc.oneof(
    fc.constantFrom(null, undefined, 0, 1, "", "0", "null", "undefined", true, false),
    number,
    text,
    fc.bigInt(),
    fc.date({ noInvalidDate: true }),
  ),
  binary: fc.oneof(
    bytes.map((array) => Buffer.from(array)),
    bytes.map((array) => new Uint8Array(array).buffer),
    bytes.map((array) => new Int8Array(array)),
    bytes.map((array) => new DataView(new Uint8Array(array).buffer)),
    fc.float64Array({ maxLength: 3 }),
    fc.bigInt64Array({ maxLength: 3 }),
  ),
  list: fc.array(tie("value"), { maxLength: 4 }),
  record: fc.array(fc.tuple(name, tie("value")), { maxLength: 4 }).map(recordOf),
  map: fc.array(fc.tuple(tie("value"), tie("value")), { maxLength: 3 }).map((entries) => new Map(entries)),
  set: fc.array(tie("value"), { maxLength: 3 }).map((items) => new Set(items)),
})).value;

/** Small enough that two of them are often alike, and then differ in one detail. */
export const fewValues: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  value: fc.oneof({ maxDepth: 2 }, tie("leaf"), tie("list"), tie("record"), tie("map"), tie("set")),
  leaf: fc.constantFrom<unknown>(null, undefined, 1, "1", 1n, true, new Date(1), Buffer.from([1]), new Int8Array([1])),
  list: fc.array(tie("value"), { maxLength: 2 }),
  record: fc.array(fc.tuple(fc.constantFrom("1", "$hapax", "$$hapax"), tie("value")), { maxLength: 2 }).map(recordOf),
  map: fc.array(fc.tuple(tie("value"), tie("value")), { maxLength: 2 }).map((entries) => new Map(entries)),
  set: fc.array(tie("value"), { maxLength: 2 }).map((items) => new Set(items)),
})).value;
