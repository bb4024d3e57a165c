import { describe, expect, it } from "vitest";
import { memoryStore } from "../../src/stores/memory/index.js";
import { manualClock } from "../../src/testing/manual-clock.js";
import { deferred, heard, heldWork, refusal, thrownBy, watched } from "./held-work.js";
import { another, EACH_STORE, onMemory, onSqlite, type SetupOptions } from "./make-hapax.js";
import { firstTimes, lateReply, refused, withFaults } from "./store-with-faults.js";

const call = { scope: "jobs", key: "j-1" };

function setUp(options: SetupOptions = {}) {
  const clock = manualClock();
  const faulty = withFaults(memoryStore({ clock }));
  return { ...onMemory({ clock, store: faulty.store, ...options }), ...faulty };
}

describe("close", () => {
  it("waits for what is in flight, to its settlement", async () => {
    const { hapax, clock } = setUp();
    const work = heldWork();
    const out = hapax.run(call, work.fn);
    await work.started();
    const closing = watched(hapax.close());
    await clock.advance(10_000);
    expect(closing.ended).toBe(false);
    expect(work.ctx.signal.aborted).toBe(false);

    work.finish("finished");
    expect(await out).toMatchObject({ value: "finished", stored: true });
    await clock.settle();
    expect(closing.ended).toBe(true);
  });

  it("keeps the claims in flight alive while it waits", async () => {
    const { hapax, clock, batches } = setUp({ lease: "3s" });
    const work = heldWork();
    const out = hapax.run(call, work.fn);
    await work.started();
    const closing = hapax.close();
    await clock.advance(20_000);
    expect(batches.extend.length).toBeGreaterThan(15);
    work.finish("finished");
    expect(await out).toMatchObject({ stored: true });
    await closing;
  });

  it.each(EACH_STORE)("refuses new calls with `closed`: %s", async (_name, make) => {
    const { hapax, clock } = await make();
    await hapax.run(call, () => "before");
    await hapax.close();
    const work = heldWork();
    const refusals = [
      hapax.run(call, work.fn),
      hapax.wrap(work.fn as () => Promise<string>, { scope: "s" })(),
      hapax.markDone(call, "no"),
    ].map(refusal);
    await clock.settle();
    for (const error of await Promise.all(refusals)) {
      expect(error).toMatchObject({ code: "closed", retryable: true, status: 503 });
    }
    expect(work.runs).toBe(0);
  });

  it("refuses new transactions too", async () => {
    const { hapax } = await onSqlite();
    await hapax.close();
    expect((await refusal(hapax.transaction(call, () => "no"))).code).toBe("closed");
  });

  it("refuses new calls while it waits", async () => {
    const { hapax } = setUp();
    const work = heldWork();
    const out = hapax.run(call, work.fn);
    await work.started();
    const closing = hapax.close();
    expect((await refusal(hapax.run({ ...call, key: "j-2" }, work.fn))).code).toBe("closed");
    work.finish("finished");
    await Promise.all([out, closing]);
  });

  it("aborts what is left after its timeout, 30 s by default", async () => {
    const { hapax, clock } = setUp();
    const work = heldWork();
    const out = thrownBy(hapax.run(call, work.fn));
    await work.started();
    const { signal } = work.ctx;
    const closing = watched(hapax.close());
    await clock.advance(29_999);
    expect([closing.ended, signal.aborted]).toEqual([false, false]);
    await clock.advance(1);
    expect([closing.ended, signal.aborted]).toEqual([true, true]);
    expect(signal.reason).toMatchObject({ code: "closed" });
    work.fail(signal.reason);
    expect(await out).toBe(signal.reason);
  });

  it("still records what heeds its signal, so that the next process need not wait for the lease", async () => {
    const setup = setUp();
    const work = heldWork();
    const out = thrownBy(setup.hapax.run(call, work.fn));
    await work.started();
    const { signal } = work.ctx;
    const closing = setup.hapax.close({ timeout: "1s" });
    await setup.clock.advance(1_000);
    await closing;
    work.fail(signal.reason);
    await out;
    expect(await another(setup).hapax.run(call, () => "next")).toMatchObject({ value: "next", attempt: 2 });
  });

  it("does not pass for a timeout of the function", async () => {
    const { hapax, clock, emitted } = setUp();
    const work = heldWork();
    const out = thrownBy(hapax.run({ ...call, timeout: "10m" }, work.fn));
    await work.started();
    const { signal } = work.ctx;
    const closing = hapax.close({ timeout: "1s" });
    await clock.advance(1_000);
    await closing;
    expect(emitted("timeout")).toEqual([]);
    expect(signal.reason).toMatchObject({ code: "closed" });
    work.fail(signal.reason);
    expect(await out).toMatchObject({ code: "closed" });
  });

  it("takes a timeout of the caller's own, and refuses a bad one", async () => {
    const { hapax, clock } = setUp();
    const work = heldWork();
    void hapax.run(call, work.fn);
    await work.started();
    const { signal } = work.ctx;
    void hapax.close({ timeout: "2s" });
    await clock.advance(2_000);
    expect(signal.aborted).toBe(true);
    const bad = (async () => setUp().hapax.close({ timeout: -1 }))();
    expect((await refusal(bad)).message).toMatch(/timeout/);
  });

  it("lets nothing begin after it: a duplicate that waited is ended with `closed`", async () => {
    const setup = setUp();
    const work = heldWork();
    const elsewhere = thrownBy(another(setup).hapax.run(call, work.fn));
    await work.started();
    const waiting = refusal(setup.hapax.run({ ...call, wait: "10m" }, work.fn));
    const ended = watched(waiting);
    await setup.clock.settle();
    const closing = setup.hapax.close({ timeout: "1s" });
    await setup.clock.advance(1_000);
    await closing;

    work.fail(new Error("the holder gave up"));
    await elsewhere;
    await setup.clock.advance(10_000);
    expect(work.runs).toBe(1);
    expect(ended.ended).toBe(true);
    expect((await waiting).code).toBe("closed");
  });

  it("lets nothing begin after it: a claim that is answered later is given back", async () => {
    const { hapax, clock, faults } = setUp({ storeTimeout: "60s" });
    faults.claim = refused;
    const work = heldWork();
    const waiting = refusal(hapax.run(call, work.fn));
    await clock.settle();
    const closing = hapax.close({ timeout: "1s" });
    await clock.advance(1_000);
    await closing;
    delete faults.claim;
    await clock.advance(60_000);
    expect(work.runs).toBe(0);
    expect((await waiting).code).toBe("closed");
  });

  it("lets nothing begin after it: a claim that is under way is given back when it is granted", async () => {
    const { hapax, clock, faults, emitted } = setUp();
    const reply = deferred<void>();
    faults.claim = firstTimes(1, lateReply(reply.promise));
    const work = heldWork();
    const waiting = refusal(hapax.run(call, work.fn));
    await clock.settle();
    const closing = hapax.close({ timeout: "1s" });
    await clock.advance(1_000);
    await closing;
    expect((await waiting).code).toBe("closed");
    reply.resolve();
    await clock.settle();
    expect(work.runs).toBe(0);
    expect(emitted("released")).toHaveLength(1);
  });

  it("ends who joined what it aborts", async () => {
    const { hapax, clock } = setUp();
    const work = heldWork();
    void hapax.run(call, work.fn);
    await work.started();
    const joined = refusal(hapax.run({ ...call, wait: "10m" }, work.fn));
    const ended = watched(joined);
    void hapax.close({ timeout: "1s" });
    await clock.advance(1_000);
    expect(ended.ended).toBe(true);
    expect((await joined).code).toBe("closed");
  });

  it("stops every timer: the heartbeat's, the upkeep's, those that watch the store", async () => {
    const { hapax, clock } = setUp({ upkeep: "1m" });
    const work = heldWork();
    const out = hapax.run(call, work.fn);
    await work.started();
    await clock.advance(10_000);
    work.finish("finished");
    await out;
    await hapax.close();
    expect(clock.timers).toBe(0);
  });

  it("stops every timer also when it leaves work behind", async () => {
    const { hapax, clock } = setUp({ upkeep: "1m" });
    const work = heldWork();
    void hapax.run(call, work.fn);
    await work.started();
    void hapax.close({ timeout: "1s" });
    await clock.advance(1_000);
    await clock.settle();
    expect(clock.timers).toBe(0);
  });

  it("may be called twice, at once or later: both end with the work", async () => {
    const { hapax, clock } = setUp();
    const work = heldWork();
    const out = hapax.run(call, work.fn);
    await work.started();
    const first = watched(hapax.close());
    const second = watched(hapax.close());
    work.finish("finished");
    await out;
    await clock.settle();
    expect([first.ended, second.ended]).toEqual([true, true]);
    await hapax.close();
  });

  it("is at once when nothing runs, and is what `await using` calls", async () => {
    const { hapax, clock } = setUp({ upkeep: "1m" });
    await hapax[Symbol.asyncDispose]();
    expect(clock.timers).toBe(0);
    expect((await refusal(hapax.run(call, () => "no"))).code).toBe("closed");
  });

  it("leaves records readable: looking is not a call", async () => {
    const { hapax, faults, clock } = setUp();
    await hapax.run(call, () => "kept");
    const reply = deferred<void>();
    faults.read = firstTimes(1, lateReply(reply.promise));
    const during = heard(hapax.get(call));
    await hapax.close();
    reply.resolve();
    await clock.settle();
    expect((await during)?.result).toBe("kept");
    expect((await hapax.get(call))?.result).toBe("kept");
  });
});
