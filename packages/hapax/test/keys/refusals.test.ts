import { describe, expect, it } from "vitest";
import { HapaxError } from "../../src/errors.js";
import { canonicalText } from "../../src/keys/canonical.js";
import { fromDataForm, toDataForm } from "../../src/keys/data-form.js";
import { DEPTH_MAX } from "../../src/keys/tag.js";
import { refusalOf } from "./values.js";

class OnlyPrivate {
  readonly #secret = "hunter2";
  get secret(): string {
    return this.#secret;
  }
}

const boom = new Error("boom");
const throwing = () => {
  throw boom;
};

function cycle(): object {
  const order = { id: 1, lines: [] as unknown[] };
  order.lines.push({ order });
  return order;
}

function cycleThrough(container: Map<unknown, unknown> | Set<unknown>): unknown {
  const holder = { container };
  if (container instanceof Map) container.set("self", holder);
  else container.add(holder);
  return holder;
}

function transferred(): ArrayBuffer {
  const buffer = new ArrayBuffer(8);
  structuredClone(buffer, { transfer: [buffer] });
  return buffer;
}

function nested(levels: number): unknown {
  let value: unknown = [];
  for (let level = 1; level < levels; level++) value = [value];
  return value;
}

describe("P4: what has no form is an error that names the place, what was found and the way out", () => {
  it.each<[string, unknown, string]>([
    ["a function", { items: [0, 1, 2, { total: () => 1 }] }, "payload.items[3].total is a function"],
    ["a class", { type: OnlyPrivate }, "payload.type is a function"],
    ["a symbol", { id: Symbol("x") }, "payload.id is a symbol"],
    ["a boxed symbol", { id: Object(Symbol("x")) }, "payload.id is a symbol"],
    ["a symbol as a key", { a: { [Symbol("x")]: 1 } }, "payload.a has a symbol as a key"],
    ["a cycle", { order: cycle() }, "payload.order.lines[0].order leads back"],
    ["a cycle through a Map", cycleThrough(new Map()), "payload.container.self leads back"],
    ["a cycle through a Set", cycleThrough(new Set()), "payload.container<entry 0> leads back"],
    ["NaN", { total: Number.NaN }, "payload.total is NaN"],
    ["an infinite number", [1, Number.NEGATIVE_INFINITY], "payload[1] is infinite"],
    ["a boxed NaN", new Number(Number.NaN), "payload is NaN"],
    ["an invalid Date", { at: new Date("soon") }, "payload.at is an invalid Date"],
    ["half a surrogate pair", { name: "\ud800" }, "payload.name holds half a surrogate pair"],
    ["half a surrogate pair in a name", { "\udc00": 1 }, 'payload["\\udc00"] has half a surrogate pair in its name'],
    ["a forgotten await", { user: Promise.resolve(1) }, "payload.user is a Promise"],
    ["a Promise with fields", Object.assign(Promise.resolve(1), { id: 1 }), "payload is a Promise"],
    ["a WeakMap", new WeakMap(), "payload is an instance of a class without enumerable fields"],
    ["an iterator", [1].values(), "payload is an instance of a class without enumerable fields"],
    ["a class with private fields and getters only", new OnlyPrivate(), "payload is an instance of a class"],
    ["a SharedArrayBuffer", new SharedArrayBuffer(1), "payload is an instance of a class"],
    ["memory that was transferred", { file: transferred() }, "payload.file is memory that was transferred away"],
    [
      "a toJSON that returns the object",
      {
        a: {
          toJSON() {
            return this;
          },
        },
      },
      "payload.a has a toJSON that returns",
    ],
    ["an async toJSON", { toJSON: async () => 1 }, "payload is a Promise"],
    ["a toString of half a pair", { toString: () => "\ud800" }, "payload holds half a surrogate pair"],
    ["a key of a Map", new Map([[new Map([[NaN, 1]]), 1]]), "payload<entry 0><entry 0> is NaN"],
    ["a name that is no identifier", { "a b": { "x.y": NaN } }, 'payload["a b"]["x.y"] is NaN'],
  ])("%s", (_, value, message) => {
    const error = refusalOf(() => toDataForm(value));
    expect(error.code).toBe("unserializable");
    expect(error.message.startsWith(message)).toBe(true);
    expect(error.message).toMatch(/\. [A-Z][^.]+.*\.$/);
  });

  it.each<[string, unknown, string]>([
    ["a toJSON", { a: { toJSON: throwing } }, "payload.a has a toJSON that throws"],
    ["a toString", { a: { toString: throwing } }, "payload.a has a toString that throws"],
    [
      "a getter",
      {
        a: {
          get b() {
            return throwing();
          },
        },
      },
      "payload.a.b could not be read",
    ],
    ["a Proxy", { a: new Proxy({}, { ownKeys: throwing }) }, "payload.a could not be read"],
  ])("%s that throws keeps its error as the cause", (_, value, message) => {
    const error = refusalOf(() => toDataForm(value));
    expect(error.code).toBe("unserializable");
    expect(error.message.startsWith(message)).toBe(true);
    expect(error.cause).toBe(boom);
  });

  it("an error of hapax thrown by a getter counts as the getter's", () => {
    const inner = new HapaxError("timeout", "inner");
    const error = refusalOf(() =>
      toDataForm({
        get a() {
          throw inner;
        },
      }),
    );
    expect(error).toMatchObject({ code: "unserializable", cause: inner });
  });

  it("a revoked Proxy is one that throws", () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    expect(refusalOf(() => toDataForm([proxy])).message).toMatch(/^payload\[0\] could not be read/);
  });

  it("the root has the name that the caller gave it", () => {
    expect(refusalOf(() => toDataForm({ at: NaN }, { root: "result" })).message).toMatch(/^result\.at is NaN/);
  });

  it("never shows the value, and cuts long names and long paths", () => {
    const error = refusalOf(() => toDataForm({ card: "4242\ud800", ["n".repeat(10_000)]: 1 }));
    expect(error.message).not.toContain("4242");
    const long = refusalOf(() => toDataForm({ ["n".repeat(10_000)]: nested(DEPTH_MAX) }));
    expect(long.message.length).toBeLessThan(300);
    expect(long.message).toMatch(/^payload\["n+…"\](\[0\]){7} … (\[0\]){8} is nested deeper/);
  });
});

describe("P4: nesting has a limit", () => {
  it("of DEPTH_MAX levels, and says so", () => {
    expect(fromDataForm(toDataForm(nested(DEPTH_MAX)) as never)).toStrictEqual(nested(DEPTH_MAX));
    expect(refusalOf(() => toDataForm(nested(DEPTH_MAX + 1))).message).toContain(`deeper than ${DEPTH_MAX} levels`);
  });

  it("within which everything has a canonical text", () => {
    let maps: unknown = null;
    for (let level = 0; level < DEPTH_MAX / 4; level++) maps = new Map([[maps, 1n]]);
    expect(canonicalText(nested(DEPTH_MAX))).toBe("[".repeat(DEPTH_MAX) + "]".repeat(DEPTH_MAX));
    expect(canonicalText(maps)).toContain("bigint");
  });

  it("that a tag in the deepest level does not break on the way back", () => {
    let value: unknown = 1n;
    for (let level = 0; level < DEPTH_MAX; level++) value = { value };
    expect(fromDataForm(JSON.parse(JSON.stringify(toDataForm(value))))).toStrictEqual(value);
  });

  it.each<[string, (inner: unknown) => unknown]>([
    ["arrays", (inner) => [inner]],
    ["objects", (inner) => ({ inner })],
    ["Maps", (inner) => new Map([["inner", inner]])],
    ["keys of Maps", (inner) => new Map([[inner, 1]])],
    ["Sets", (inner) => new Set([inner])],
    ["toJSON", (inner) => ({ toJSON: () => inner })],
  ])("that 100,000 %s inside each other meet without overflowing the stack", (_, wrap) => {
    let value: unknown = null;
    for (let level = 0; level < 100_000; level++) value = wrap(value);
    const error = refusalOf(() => toDataForm(value));
    expect(error.message).toContain(`deeper than ${DEPTH_MAX} levels`);
    expect(error.cause).toBeUndefined();
  });

  it("that ends a toJSON which gives a new object with a toJSON forever", () => {
    const forever = (): object => ({ toJSON: forever });
    expect(refusalOf(() => toDataForm(forever())).message).toContain("deeper than");
  });

  it("that ends a Proxy which has everything", () => {
    const everything: object = new Proxy(() => everything, { get: () => everything });
    const mock = new Proxy({}, { get: () => () => new Proxy({}, { get: () => () => everything }) });
    expect(refusalOf(() => toDataForm(mock)).code).toBe("unserializable");
  });
});
