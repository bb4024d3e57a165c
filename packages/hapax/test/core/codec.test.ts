import { describe, expect, it } from "vitest";
import { type Codec, jsonCodec } from "../../src/index.js";
import { heldWork, refusal, thrownBy } from "./held-work.js";
import { EACH_STORE, onMemory } from "./make-hapax.js";

const call = { scope: "results", key: "r-1" };
const MIB = 1024 * 1024;

const VALUES: readonly (readonly [string, unknown])[] = [
  ["undefined", undefined],
  ["null", null],
  ["a bigint beyond 2^64", 2n ** 70n],
  ["a Date", new Date("2030-01-02T03:04:05.678Z")],
  ["a Buffer", Buffer.from([0, 255, 128])],
  [
    "a Map",
    new Map<unknown, unknown>([
      ["a", 1n],
      [{ b: 2 }, new Set([3])],
    ]),
  ],
  ["a Set", new Set(["a", { b: new Date(0) }])],
  ["fields that are undefined", { a: undefined, b: [undefined, null] }],
  ["a field that looks like a tag", { $hapax: ["bigint", "1"], __proto__: { x: 1 } }],
  ["all of it, nested", { deep: [{ at: new Date(1), n: 1n, m: new Map([["k", Buffer.from("v")]]) }] }],
];

describe.each(EACH_STORE)("a result on %s", (_name, make) => {
  it.each(VALUES)("comes back as itself: %s", async (_what, value) => {
    const { hapax } = await make();
    expect((await hapax.run(call, () => value)).value).toBe(value);
    const replay = await hapax.run(call, () => "no");
    expect(replay.replayed).toBe(true);
    expect(replay.value).toStrictEqual(value);
    expect((await hapax.get(call))?.result).toStrictEqual(value);
  });

  it("is a Buffer again, not an object that looks like one", async () => {
    const { hapax } = await make();
    await hapax.run(call, () => Buffer.from("abc"));
    const { value } = await hapax.run(call, () => Buffer.from("no"));
    expect(Buffer.isBuffer(value)).toBe(true);
  });

  it("of exactly 1 MiB is stored; of one byte more is not", async () => {
    const { hapax } = await make();
    const fits = "x".repeat(MIB - 2);
    await hapax.run(call, () => fits);
    expect((await hapax.run(call, () => "no")).value).toBe(fits);
    expect((await refusal(hapax.run({ ...call, key: "r-2" }, () => `${fits}x`))).code).toBe("payload-too-large");
  });
});

describe.each<[string, () => unknown, string]>([
  ["too large", () => ({ secret: "s3cret".repeat(MIB) }), "payload-too-large"],
  ["a function", () => () => "s3cret", "unserializable"],
  ["a cycle", () => cyclic(), "unserializable"],
  ["NaN", () => ({ total: Number.NaN }), "unserializable"],
])("a result that cannot be stored: %s", (_what, make, code) => {
  it("is a clear error for the first caller, who learns that the function ran and will not run again", async () => {
    const { hapax, emitted } = onMemory();
    const error = await refusal(hapax.run(call, make));
    expect(error).toMatchObject({ code, retryable: false });
    expect(error.message).toMatch(/ran and will not run again/);
    expect(error.message).not.toContain("s3cret");
    expect(emitted("completed")).toHaveLength(1);
  });

  it("is done all the same: replays are told result-omitted, and it never runs again", async () => {
    const { hapax } = onMemory();
    await thrownBy(hapax.run(call, make));
    const work = heldWork();
    const replay = await refusal(hapax.run(call, work.fn));
    expect(replay).toMatchObject({ code: "result-omitted", retryable: false, ...call });
    expect(replay.message).toContain(code);
    expect(work.runs).toBe(0);
    expect(await hapax.get(call)).toMatchObject({ status: "done", result: undefined });
  });

  it("is told to who joined as to who comes later", async () => {
    const { hapax } = onMemory();
    const work = heldWork<unknown>();
    const first = thrownBy(hapax.run(call, work.fn));
    await work.started();
    const joined = refusal(hapax.run(call, work.fn));
    work.finish(make());
    await first;
    expect((await joined).code).toBe("result-omitted");
  });
});

it("a result that is too large names the limit and three ways out", async () => {
  const { hapax } = onMemory({ resultBytesMax: 10 });
  const { message } = await refusal(hapax.run(call, () => "x".repeat(20)));
  expect(message).toMatch(/22 bytes.*limit is 10.*Return less.*resultBytesMax.*storeResult: false/);
});

describe("storeResult: false", () => {
  it("keeps that the work was done, and not what it returned", async () => {
    const { hapax } = onMemory({ storeResult: false });
    expect((await hapax.run(call, () => "secret")).value).toBe("secret");
    expect(await hapax.run(call, () => "no")).toMatchObject({ value: undefined, replayed: true });
    expect(await hapax.get(call)).toMatchObject({ status: "done", result: undefined });
  });

  it("takes any result, whatever its size and form", async () => {
    const { hapax } = onMemory();
    const huge = { text: "x".repeat(2 * MIB), fn: () => 1 };
    expect((await hapax.run({ ...call, storeResult: false }, () => huge)).value).toBe(huge);
  });
});

describe("a codec of the user's own", () => {
  const reversing: Codec = {
    encode: (value) => Buffer.from(JSON.stringify(value)).reverse(),
    decode: (bytes) => JSON.parse(Buffer.from(bytes).reverse().toString()),
  };

  it("encodes results, steps and metadata", async () => {
    const { hapax, store } = onMemory({ codec: reversing });
    await thrownBy(
      hapax.run({ ...call, metadata: { m: 1 } }, async (ctx) => {
        await ctx.step("s", () => ({ step: 1 }));
        throw new Error("again");
      }),
    );
    const out = await hapax.run(call, (ctx) => ctx.step("s", () => ({ step: 2 })));
    expect(out.value).toEqual({ step: 1 });
    expect((await hapax.run(call, () => "no")).value).toEqual({ step: 1 });
    expect((await hapax.get(call))?.metadata).toEqual({ m: 1 });
    expect(Buffer.from((await store.read(call))?.result ?? []).toString()).toBe('}1:"pets"{');
  });

  it("that throws on a result: the work is done, and the error is clear", async () => {
    const refusing: Codec = {
      ...jsonCodec,
      encode: () => {
        throw new TypeError("no such type");
      },
    };
    const { hapax } = onMemory({ codec: refusing });
    const error = await refusal(hapax.run(call, () => "x"));
    expect(error).toMatchObject({ code: "unserializable", cause: { message: "no such type" } });
    expect((await refusal(hapax.run(call, () => "x"))).code).toBe("result-omitted");
  });
});

function cyclic(): unknown {
  const node: { self?: unknown } = {};
  node.self = node;
  return node;
}
