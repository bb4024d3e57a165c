import { describe, expect, it } from "vitest";
import { contentKey, isNewer } from "../../src/index.js";
import { memoryStore } from "../../src/stores/memory/index.js";
import { manualClock } from "../../src/testing/manual-clock.js";
import { heldWork, refusal, thrownBy, watched } from "./held-work.js";
import { EACH_STORE, onMemory } from "./make-hapax.js";
import { withFaults } from "./store-with-faults.js";

const call = { scope: "submissions", key: "s-1" };

describe("the identity of a call", () => {
  it("P1 P10 without a key it is the hash of the payload", async () => {
    const { hapax } = onMemory();
    const first = await hapax.run({ scope: "submissions", payload: { id: 1, total: 5 } }, () => "priced");
    const again = await hapax.run({ scope: "submissions", payload: { total: 5, id: 1 } }, () => "priced twice");
    const other = await hapax.run({ scope: "submissions", payload: { id: 2, total: 5 } }, () => "priced too");

    expect(first.key).toBe(contentKey({ id: 1, total: 5 }));
    expect(again).toMatchObject({ value: "priced", replayed: true, key: first.key });
    expect(other).toMatchObject({ value: "priced too", replayed: false });
  });

  it("P1 excluded fields do not count", async () => {
    const { hapax } = onMemory();
    const deliver = (receivedAt: number) =>
      hapax.run({ scope: "submissions", payload: { id: 1, receivedAt }, exclude: ["receivedAt"] }, () => receivedAt);
    await deliver(1);
    expect(await deliver(2)).toMatchObject({ value: 1, replayed: true });
  });

  it("P10 it may be a key of the caller, or the parts of a composite key", async () => {
    const { hapax } = onMemory();
    expect((await hapax.run({ scope: "s", key: "mine" }, () => 1)).key).toBe("mine");
    await hapax.run({ scope: "s", key: ["invoice", 17] }, () => "by list");
    await hapax.run({ scope: "s", key: { order: 17, line: 3 } }, () => "by names");
    expect(await hapax.run({ scope: "s", key: ["invoice", 17] }, () => 2)).toMatchObject({ value: "by list" });
    expect(await hapax.run({ scope: "s", key: { line: 3, order: 17 } }, () => 2)).toMatchObject({ value: "by names" });
  });

  it("P10 the same key in another scope is another operation", async () => {
    const { hapax } = onMemory();
    await hapax.run({ scope: "a", key: "k" }, () => 1);
    expect(await hapax.run({ scope: "b", key: "k" }, () => 2)).toMatchObject({ value: 2, replayed: false });
  });

  it("beside a key the payload is the fingerprint, and a record keeps the first one it was granted with", async () => {
    const { hapax } = onMemory();
    await expect(hapax.run({ ...call, payload: 1 }, () => Promise.reject(new Error("x")))).rejects.toThrow("x");
    await hapax.run(call, () => "a claim without a fingerprint erases none");
    expect((await hapax.get(call))?.fingerprint).toBe(contentKey(1));
    expect((await refusal(hapax.run({ ...call, payload: 2 }, () => 0))).code).toBe("key-reused");
    expect(await hapax.run({ ...call, fingerprint: contentKey(1) }, () => 0)).toMatchObject({ replayed: true });
  });
});

describe.each(EACH_STORE)("the outcome on %s", (_name, make) => {
  it("P6 says whether it was a replay, how many attempts it took, and the value", async () => {
    const { hapax } = await make();
    await expect(hapax.run(call, () => Promise.reject(new Error("first attempt")))).rejects.toThrow();
    const first = await hapax.run(call, () => ({ price: 42 }));
    const replay = await hapax.run(call, () => ({ price: 0 }));

    expect(first).toEqual({
      value: { price: 42 },
      replayed: false,
      attempt: 2,
      key: "s-1",
      token: first.token,
      stored: true,
    });
    expect(replay).toEqual({ ...first, replayed: true });
  });

  it("P6 every grant has a newer token, and the function sees token and attempt", async () => {
    const { hapax } = await make();
    const work = heldWork();
    const first = thrownBy(hapax.run(call, work.fn));
    await work.started();
    work.fail(new Error("no"));
    await first;
    const second = hapax.run(call, work.fn);
    await work.started(2);
    work.finish("yes");
    const { token, attempt } = await second;

    expect(work.contexts.map((ctx) => ctx.attempt)).toEqual([1, 2]);
    expect({ token, attempt }).toEqual({ token: work.ctx.token, attempt: 2 });
    expect(isNewer(work.ctx.token, work.contexts[0]?.token ?? work.ctx.token)).toBe(true);
  });

  it("P7 an exception propagates unchanged, nothing is cached, and the next call runs again", async () => {
    const { hapax } = await make();
    const error = Object.assign(new TypeError("boom"), { details: { card: "4242" } });
    expect(await thrownBy(hapax.run(call, () => Promise.reject(error)))).toBe(error);
    expect(await hapax.get(call)).toMatchObject({ status: "failed", final: false, result: undefined });
    expect(await hapax.run(call, () => "fine")).toMatchObject({ value: "fine", replayed: false });
  });

  it.each([undefined, null, "text", 0])("P7 what is thrown need not be an error: %s", async (thrown) => {
    const { hapax } = await make();
    expect(await thrownBy(hapax.run(call, () => Promise.reject(thrown)))).toBe(thrown);
    expect(await hapax.run(call, () => "fine")).toMatchObject({ value: "fine", attempt: 2 });
  });

  it("P7 a function that throws before it returns a promise is no different", async () => {
    const { hapax } = await make();
    const error = new Error("at once");
    const throwing = (): Promise<string> => {
      throw error;
    };
    expect(await thrownBy(hapax.run(call, throwing))).toBe(error);
    expect(await hapax.run(call, () => "fine")).toMatchObject({ value: "fine" });
  });

  it("P9 the store is swapped without touching the call", async () => {
    const { hapax } = await make();
    const price = async (total: number) => total * 2;
    const priceOnce = hapax.wrap(price, { scope: "prices" });
    expect([await priceOnce(21), await priceOnce(21)]).toEqual([42, 42]);
  });
});

describe("P5 concurrent duplicates of one process", () => {
  it("share one execution, and the store is asked once", async () => {
    const clock = manualClock();
    const { store, batches } = withFaults(memoryStore({ clock }));
    const { hapax, emitted } = onMemory({ clock, store });
    const work = heldWork<object>();
    const first = hapax.run(call, work.fn);
    await work.started();
    const joined = [hapax.run(call, work.fn), hapax.run(call, work.fn)];
    work.finish({ price: 1 });

    const leader = await first;
    expect(await Promise.all(joined)).toEqual(Array(2).fill({ ...leader, replayed: true }));
    expect(work.runs).toBe(1);
    expect(batches.claim).toHaveLength(1);
    expect(emitted("replayed").map(({ joined }) => joined)).toEqual([true, true]);
  });

  it.each(EACH_STORE)(
    "share it also when they arrive in one turn, without waiting for a poll: %s",
    async (_name, make) => {
      const { hapax, clock } = await make();
      const work = heldWork();
      const deliveries = [1, 2, 3].map(() => hapax.run(call, work.fn));
      const all = watched(Promise.all(deliveries));
      await work.started();
      work.finish("shared");
      await deliveries[0];
      await clock.settle();
      expect(all.ended).toBe(true);
    },
  );

  it("each get a value of their own, as a replay does", async () => {
    const { hapax } = onMemory();
    const work = heldWork<{ lines: number[] }>();
    const first = hapax.run(call, work.fn);
    await work.started();
    const joined = hapax.run(call, work.fn);
    work.finish({ lines: [1] });

    (await first).value.lines.push(2);
    expect((await joined).value).toEqual({ lines: [1] });
  });

  it("P7 get the very error of the execution that they share", async () => {
    const { hapax } = onMemory();
    const work = heldWork();
    const error = new Error("shared");
    const calls = [thrownBy(hapax.run(call, work.fn))];
    await work.started();
    calls.push(thrownBy(hapax.run(call, work.fn)));
    work.fail(error);

    const thrown = await Promise.all(calls);
    expect(thrown.every((each) => each === error)).toBe(true);
    expect(await hapax.get(call)).toMatchObject({ status: "failed", runs: 1, seen: 2 });
  });

  it("with another payload are refused here and now", async () => {
    const { hapax, emitted } = onMemory();
    const work = heldWork();
    const first = hapax.run({ ...call, payload: 1 }, work.fn);
    await work.started();
    expect((await refusal(hapax.run({ ...call, payload: 2 }, work.fn))).code).toBe("key-reused");
    work.finish("mine");
    await first;
    expect(emitted("mismatch")).toHaveLength(1);
    expect((await hapax.get(call))?.seen).toBe(1);
  });

  it("of different keys never wait for each other", async () => {
    const { hapax } = onMemory();
    const slow = heldWork();
    const first = hapax.run({ scope: "s", key: "slow" }, slow.fn);
    await slow.started();
    expect(await hapax.run({ scope: "s", key: "fast" }, () => "at once")).toMatchObject({ value: "at once" });
    slow.finish("at last");
    await first;
  });

  it("that arrive while the result is being stored get it from the store", async () => {
    const { hapax } = onMemory();
    const work = heldWork();
    const first = hapax.run(call, work.fn);
    await work.started();
    work.finish("stored");
    await Promise.resolve();
    await Promise.resolve();
    expect(await hapax.run(call, work.fn)).toMatchObject({ value: "stored", replayed: true });
    await first;
    expect((await hapax.get(call))?.seen).toBe(2);
  });

  it("a function that runs its own key again is told so, and does not wait for itself for ever", async () => {
    const { hapax, clock } = onMemory();
    const outer = refusal(hapax.run(call, () => hapax.run(call, () => "inner")));
    await clock.advance(30_000);
    expect((await outer).code).toBe("in-progress");
  });
});
