import { describe, expect, it } from "vitest";
import { type Call, createHapax, HapaxError, type HapaxOptions } from "../../src/index.js";
import { memoryStore } from "../../src/stores/memory/index.js";
import { refusal } from "./held-work.js";
import { onMemory } from "./make-hapax.js";

const good = { scope: "payments", key: "p-1" };

/** What a JavaScript caller may pass that TypeScript would refuse. */
const asCall = (call: unknown) => call as Call;
const asOptions = (options: unknown) => options as HapaxOptions;

function refusalOfCreating(options: unknown): HapaxError {
  try {
    createHapax(asOptions(options));
  } catch (error) {
    if (error instanceof HapaxError) return error;
    throw error;
  }
  throw new Error("it was accepted");
}

describe("a call that names no operation", () => {
  it.each<[string, unknown, string, RegExp]>([
    ["no scope", { key: "k" }, "missing-scope", /scope.*scope: "payments"/],
    ["an empty scope", { scope: "", key: "k" }, "invalid-scope", /scope.*empty/],
    ["a scope of another type", { scope: 7, key: "k" }, "invalid-scope", /scope.*string.*number/],
    ["a scope with NUL", { scope: "a\0", key: "k" }, "invalid-scope", /scope.*NUL/],
    ["a scope with half a surrogate pair", { scope: "\udc00", key: "k" }, "invalid-scope", /scope.*hex or base64/],
    ["a scope of 513 bytes", { scope: "s".repeat(513), key: "k" }, "invalid-scope", /scope.*513.*512/],
    ["neither key nor payload", { scope: "s" }, "missing-key", /key.*payload/],
    ["a key that is undefined", { scope: "s", key: undefined }, "missing-key", /key/],
    ["a payload that is undefined", { scope: "s", payload: undefined }, "missing-key", /payload/],
    ["an empty key", { scope: "s", key: "" }, "invalid-key", /key.*empty/],
    ["a key of another type", { scope: "s", key: 7 }, "invalid-key", /key/],
    ["a key with NUL", { scope: "s", key: "a\0b" }, "invalid-key", /key.*NUL/],
    ["a key with half a surrogate pair", { scope: "s", key: "a\ud800" }, "invalid-key", /key.*hex or base64/],
    ["a key of 513 bytes", { scope: "s", key: "k".repeat(513) }, "invalid-key", /key.*513.*512.*contentKey/],
    ["a key of 257 letters of two bytes", { scope: "s", key: "é".repeat(257) }, "invalid-key", /514.*512/],
    ["a composite key without parts", { scope: "s", key: [] }, "invalid-key", /at least one part/],
    ["a composite key with a missing part", { scope: "s", key: ["a", undefined] }, "invalid-key", /\[1\].*undefined/],
    ["a payload without a text form", { scope: "s", payload: { at: Number.NaN } }, "unserializable", /payload\.at/],
    ["an empty fingerprint", { ...good, fingerprint: "" }, "invalid-option", /fingerprint.*empty/],
    ["a payload and a fingerprint", { ...good, payload: 1, fingerprint: "f" }, "invalid-option", /not both/],
    ["exclude without a payload", { ...good, exclude: ["a"] }, "invalid-option", /exclude.*payload/],
    ["no object at all", "payments", "invalid-option", /object.*scope, key/],
    ["nothing", undefined, "invalid-option", /object/],
  ])("%s is refused before anything is sent", async (_what, call, code, message) => {
    const { hapax, store } = onMemory();
    const error = await refusal(hapax.run(asCall(call), () => "ran"));
    expect(error).toMatchObject({ code, retryable: false });
    expect(error.message).toMatch(message);
    expect((await store.list({ scope: undefined, status: undefined, limit: 1, cursor: undefined })).records).toEqual(
      [],
    );
  });

  it("512 bytes of key and scope are taken, counted in bytes", async () => {
    const { hapax } = onMemory();
    for (const text of ["k".repeat(512), "é".repeat(256), "😀".repeat(128)]) {
      expect(await hapax.run({ scope: text, key: text }, () => "fine")).toMatchObject({ key: text, replayed: false });
    }
  });

  it("no function is refused", async () => {
    const { hapax } = onMemory();
    const error = await refusal(hapax.run(good, undefined as unknown as () => void));
    expect(error).toMatchObject({ code: "invalid-option", message: expect.stringContaining("function") });
    expect(() => hapax.wrap("price" as unknown as () => Promise<void>, { scope: "s" })).toThrow(/function/);
  });
});

const BAD_BEHAVIOUR: readonly (readonly [string, object, RegExp])[] = [
  ["a negative lease", { lease: -1 }, /lease.*longer than zero.*-1/],
  ["a lease of zero", { lease: "0s" }, /lease.*longer than zero/],
  ["a lease without a unit", { lease: "30" }, /lease.*"30s".*"30"/],
  ["a lease in words", { lease: "half a minute" }, /lease.*"500ms"/],
  ["a lease that is not a number", { lease: Number.NaN }, /lease.*NaN/],
  ["an endless lease", { lease: Number.POSITIVE_INFINITY }, /lease.*ten years/],
  ["a lease of eleven years", { lease: "4015d" }, /lease.*ten years/],
  ["a lease of another type", { lease: {} }, /lease.*milliseconds/],
  ["a lease of null", { lease: null }, /lease.*null/],
  ["a heartbeat as long as the lease", { lease: "30s", heartbeat: "30s" }, /heartbeat.*shorter.*third/],
  ["a heartbeat in the margin of the lease", { lease: "30s", heartbeat: "28s" }, /heartbeat.*27000/],
  ["a heartbeat longer than the lease of before", { heartbeat: "1m" }, /heartbeat.*shorter/],
  ["heartbeat: true", { heartbeat: true }, /heartbeat.*milliseconds/],
  ["a bad retention", { retention: "1w" }, /retention.*"7d".*"1w"/],
  ["a bad wait", { wait: -5 }, /wait.*longer than zero/],
  ["a bad timeout", { timeout: "soon" }, /timeout/],
  ["an unknown onBusy", { onBusy: "queue" }, /onBusy.*"wait" or "reject".*"queue"/],
  ["an onBusy of another type", { onBusy: 1n }, /onBusy.*"wait" or "reject"/],
  ["an unknown onAbandoned", { onAbandoned: "retry" }, /onAbandoned.*"rerun" or "hold"/],
  ["an unknown onStoreDown", { onStoreDown: true }, /onStoreDown.*"closed" or "open"/],
  ["maxAttempts of zero", { maxAttempts: 0 }, /maxAttempts.*at least 1.*0/],
  ["a fraction of an attempt", { maxAttempts: 1.5 }, /maxAttempts.*whole/],
  ["storeResult as text", { storeResult: "no" }, /storeResult.*boolean.*string/],
  ["a reconcile that is no function", { reconcile: {} }, /reconcile.*function.*object/],
];

describe("a behaviour that cannot work", () => {
  it.each(BAD_BEHAVIOUR)("%s is refused at the call", async (_what, behaviour, message) => {
    const { hapax } = onMemory();
    const error = await refusal(hapax.run(asCall({ ...good, ...behaviour }), () => "ran"));
    expect(error.code).toBe("invalid-option");
    expect(error.message).toMatch(message);
  });

  it.each(BAD_BEHAVIOUR)("%s is refused by createHapax", (_what, behaviour, message) => {
    const error = refusalOfCreating({ store: memoryStore(), upkeep: false, ...behaviour });
    expect(error.code).toBe("invalid-option");
    expect(error.message).toMatch(message);
  });

  it.each(BAD_BEHAVIOUR)(
    "%s is refused by wrap, at the latest when it is called",
    async (_what, behaviour, message) => {
      const { hapax } = onMemory();
      const attempt = async () => hapax.wrap(async () => 1, { scope: "s", ...behaviour })();
      expect((await refusal(attempt())).message).toMatch(message);
    },
  );

  it("a signal that is none is refused", async () => {
    const { hapax } = onMemory();
    for (const signal of [{ aborted: false }, new AbortController(), "signal"]) {
      const error = await refusal(hapax.run(asCall({ ...good, signal }), () => "no"));
      expect(error).toMatchObject({ code: "invalid-option", message: expect.stringMatching(/signal.*AbortSignal/) });
    }
  });

  it("metadata that is too large, or has no form, is refused before anything is sent", async () => {
    const { hapax } = onMemory();
    const large = await refusal(hapax.run({ ...good, metadata: "x".repeat(70_000) }, () => "no"));
    expect(large).toMatchObject({
      code: "payload-too-large",
      message: expect.stringMatching(/metadata.*65536.*names/),
    });
    const formless = await refusal(hapax.run({ ...good, metadata: () => 1 }, () => "no"));
    expect(formless.code).toBe("unserializable");
    expect(await hapax.get(good)).toBeUndefined();
  });
});

describe("an option that nobody would read", () => {
  const { hapax } = onMemory();

  it.each<[string, () => unknown, RegExp]>([
    [
      "createHapax",
      () => createHapax(asOptions({ store: memoryStore(), leese: "30s" })),
      /createHapax.*"leese".*lease/,
    ],
    ["run", () => hapax.run(asCall({ ...good, onbusy: "wait" }), () => 1), /"onbusy".*onBusy/],
    [
      "wrap",
      () => hapax.wrap(async () => 1, { scope: "s", keys: 1 } as unknown as { scope: string }),
      /wrap.*"keys".*key/,
    ],
    ["get", () => hapax.get({ ...good, lease: "1s" } as typeof good), /"lease"/],
    ["list", () => hapax.list({ state: "done" } as object), /list.*"state".*status/],
    ["forget", () => hapax.forget(good, { forced: true } as object), /forget.*"forced".*force/],
    ["markDone", () => hapax.markDone({ ...good, ttl: 1 } as typeof good, 1), /"ttl"/],
    ["resolve", () => hapax.resolve({ ...good, token: "1", force: 1 } as never, { status: "failed" }), /"force"/],
    ["close", () => onMemory().hapax.close({ timeuot: 1 } as object), /close.*"timeuot".*timeout/],
  ])("of %s is refused, with the ones there are", async (_what, attempt, message) => {
    const error = await refusal((async () => attempt())());
    expect(error.code).toBe("invalid-option");
    expect(error.message).toMatch(message);
  });

  it.each([{ keey: "p-1" }, { id: "p-1" }, { fingerprint: "f" }])(
    "forget with a misspelt key %j does not erase the whole scope",
    async (target) => {
      const setup = onMemory();
      await setup.hapax.run(good, () => "kept");
      const error = refusal(setup.hapax.forget({ scope: "payments", ...target }));
      await error.catch(() => {});
      expect((await setup.hapax.get(good))?.result).toBe("kept");
      expect((await error).code).toBe("invalid-option");
    },
  );
});

describe("what only records take", () => {
  const { hapax } = onMemory();

  it.each<[string, () => Promise<unknown>, string, RegExp]>([
    ["a list without end", () => hapax.list({ limit: 0 }), "invalid-option", /limit.*1 to 1000/],
    ["a list of too many", () => hapax.list({ limit: 1_001 }), "invalid-option", /limit.*1 to 1000.*1001/],
    ["an unknown status", () => hapax.list({ status: "pending" as "done" }), "invalid-option", /status.*"running"/],
    ["a cursor of another type", () => hapax.list({ cursor: 7 as unknown as string }), "invalid-option", /cursor/],
    ["an empty scope", () => hapax.list({ scope: "" }), "invalid-scope", /scope/],
    ["forget without a scope", () => hapax.forget({} as { scope: string }), "missing-scope", /scope/],
    [
      "forget with a key of undefined",
      () => hapax.forget({ scope: "s", key: undefined as never }),
      "missing-key",
      /key/,
    ],
    ["force as text", () => hapax.forget(good, { force: "yes" as unknown as boolean }), "invalid-option", /force/],
    [
      "a token that is none",
      () => hapax.resolve({ ...good, token: "abc" }, { status: "failed" }),
      "invalid-option",
      /token/,
    ],
    ["the token 0", () => hapax.resolve({ ...good, token: "0" }, { status: "failed" }), "invalid-option", /token/],
    [
      "an unknown decision",
      () => hapax.resolve({ ...good, token: "1" }, { status: "maybe" } as never),
      "invalid-option",
      /decision\.status.*"done" or "failed"/,
    ],
    ["no decision", () => hapax.resolve({ ...good, token: "1" }, undefined as never), "invalid-option", /decision/],
    ["no target", () => hapax.resolve(undefined as never, { status: "failed" }), "invalid-option", /object|scope/],
    ["get of nothing", () => hapax.get(undefined as never), "invalid-option", /object/],
    ["forget of nothing", () => hapax.forget(undefined as never), "invalid-option", /object|scope/],
  ])("%s is refused", async (_what, attempt, code, message) => {
    const error = await refusal((async () => attempt())());
    expect(error.code).toBe(code);
    expect(error.message).toMatch(message);
  });
});

describe("createHapax", () => {
  it.each<[string, unknown, RegExp]>([
    ["nothing", undefined, /createHapax.*store.*memoryStore/],
    ["no store", {}, /store.*memoryStore\(\)/],
    ["a store that is none", { store: {} }, /store/],
    ["a store that is null", { store: null }, /store/],
    ["a bad storeTimeout", { store: memoryStore(), storeTimeout: 0 }, /storeTimeout.*longer than zero/],
    ["a bad upkeep", { store: memoryStore(), upkeep: "never" }, /upkeep/],
    ["a bad resultBytesMax", { store: memoryStore(), resultBytesMax: 0.5 }, /resultBytesMax.*whole/],
    ["an empty owner", { store: memoryStore(), owner: "" }, /owner.*empty/],
    ["a codec that is none", { store: memoryStore(), codec: { encode: 1 } }, /codec/],
    ["a logger that is none", { store: memoryStore(), logger: {} }, /logger/],
    ["a clock that is none", { store: memoryStore(), clock: {} }, /clock/],
  ])("refuses %s", (_what, options, message) => {
    const error = refusalOfCreating(options);
    expect(error.code).toBe("invalid-option");
    expect(error.message).toMatch(message);
  });
});
