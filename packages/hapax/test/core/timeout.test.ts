import { describe, expect, it } from "vitest";
import { documents } from "../../src/index.js";
import { memoryStore } from "../../src/stores/memory/index.js";
import { manualClock } from "../../src/testing/manual-clock.js";
import { heard, heldWork, refusal, thrownBy, watched } from "./held-work.js";
import { another, EACH_STORE, onMemory, type SetupOptions } from "./make-hapax.js";
import { refused, withFaults } from "./store-with-faults.js";

const call = { scope: "reports", key: "r-1" };

async function timedOut(options: SetupOptions = {}) {
  const setup = onMemory({ timeout: "5s", ...options });
  const work = heldWork();
  const out = refusal(setup.hapax.run(call, work.fn));
  await work.started();
  const { signal } = work.ctx;
  await setup.clock.advance(5_000);
  return { ...setup, work, signal, error: await out };
}

describe("a function that runs past its timeout", () => {
  it("ends its call with a clear error, no earlier than said", async () => {
    const { hapax, clock, emitted } = onMemory();
    const work = heldWork();
    const out = refusal(hapax.run({ ...call, timeout: "5s" }, work.fn));
    const ended = watched(out);
    await work.started();
    await clock.advance(4_999);
    expect(ended.ended).toBe(false);
    await clock.advance(1);
    const error = await out;
    expect(error).toMatchObject({ code: "timeout", retryable: true, status: 504, ...call });
    expect(error.message).toMatch(/5000 ms.*ctx\.signal.*raise the timeout/);
    expect(emitted("timeout")).toMatchObject([call]);
  });

  it("has its signal aborted, with that error", async () => {
    const { signal, work, error } = await timedOut();
    expect(signal.aborted).toBe(true);
    expect(signal.reason).toBe(error);
    expect(() => work.ctx.assertHeld()).toThrow(expect.objectContaining({ code: "timeout" }));
  });

  it("keeps its claim until the lease ends, and not longer: then another may run", async () => {
    const setup = await timedOut();
    const elsewhere = another(setup, { onBusy: "reject" }).hapax;
    await setup.clock.advance(24_999);
    expect((await refusal(elsewhere.run(call, () => "early"))).code).toBe("in-progress");
    await setup.clock.advance(1);
    expect(await elsewhere.run(call, () => "next")).toMatchObject({ value: "next", attempt: 2 });
  });

  it("whose late result finds nobody in its place is stored all the same", async () => {
    const { hapax, clock, work, emitted } = await timedOut();
    await clock.advance(60_000);
    work.finish("late");
    await clock.settle();
    expect(emitted("completed")).toHaveLength(1);
    expect(await hapax.run(call, () => "again")).toMatchObject({ value: "late", replayed: true });
  });

  it("whose late failure is recorded, and hurts nobody", async () => {
    const { hapax, clock, work, emitted } = await timedOut();
    work.fail(new Error("late failure"));
    await clock.settle();
    expect(emitted("failed")).toHaveLength(1);
    expect(await hapax.run(call, () => "again")).toMatchObject({ value: "again", attempt: 2 });
  });

  it("F6 whose late result finds another in its place is refused", async () => {
    const setup = await timedOut();
    await setup.clock.advance(30_000);
    await another(setup).hapax.run(call, () => "newer");
    setup.work.finish("stale");
    await setup.clock.settle();
    expect((await setup.hapax.get(call))?.result).toBe("newer");
    expect(setup.emitted("lost")).toMatchObject([{ code: "claim-lost" }]);
  });

  it("sends who joined it to the store, where they wait for what becomes of it", async () => {
    const setup = onMemory();
    const work = heldWork();
    const first = refusal(setup.hapax.run({ ...call, timeout: "5s" }, work.fn));
    await work.started();
    const joined = setup.hapax.run(call, work.fn);
    await setup.clock.advance(5_000);
    expect((await first).code).toBe("timeout");
    await setup.clock.advance(5_000);
    work.finish("late");
    await setup.clock.advance(2_000);
    expect(await joined).toMatchObject({ value: "late", replayed: true });
    expect(await setup.hapax.get(call)).toMatchObject({ runs: 1, seen: 2 });
  });

  it.each(EACH_STORE)("has its timeout also beyond its lease, while heartbeats succeed: %s", async (_name, make) => {
    const { hapax, clock } = await make();
    const out = refusal(hapax.run({ ...call, timeout: "5m" }, heldWork().fn));
    await clock.advance(300_000);
    expect((await out).code).toBe("timeout");
  });

  it("has its timeout also after its claim was lost: a call never hangs", async () => {
    const { hapax, clock } = onMemory();
    const out = refusal(hapax.run({ ...call, lease: "10s", heartbeat: false, timeout: "20s" }, heldWork().fn));
    const ended = watched(out);
    await clock.advance(20_000);
    expect(ended.ended).toBe(true);
    expect((await out).code).toBe("timeout");
  });

  it("has its timeout also after a newer claim of this process took its place", async () => {
    const { hapax, clock } = onMemory();
    const work = heldWork();
    const out = refusal(hapax.run({ ...call, lease: "10s", heartbeat: false, timeout: "20s" }, work.fn));
    const ended = watched(out);
    await clock.advance(10_000);
    await hapax.run(call, () => "newer");
    await clock.advance(10_000);
    expect(ended.ended).toBe(true);
  });

  it("is timed by the clock that does not jump: a wall clock set forward does not end it", async () => {
    const { hapax, clock, emitted } = onMemory({ ...documents, timeout: "4m" });
    const work = heldWork();
    const out = heard(hapax.run(call, work.fn));
    await work.started();
    clock.setWall(5 * 60_000);
    await clock.advance(2 * 60_000);
    work.finish("in time");
    expect(await out).toMatchObject({ value: "in time", stored: true });
    expect(emitted("timeout")).toEqual([]);
  });

  it("may end in time, and then nothing of it is left", async () => {
    const { hapax, clock, emitted } = onMemory();
    expect(await hapax.run({ ...call, timeout: "5s" }, () => "quick")).toMatchObject({ value: "quick" });
    await clock.advance(60_000);
    expect(emitted("timeout")).toEqual([]);
    expect(clock.timers).toBe(0);
  });

  it("and ends in time, but whose result the store takes late, is no timeout", async () => {
    const clock = manualClock();
    const { store, faults } = withFaults(memoryStore({ clock }));
    const { hapax, emitted } = onMemory({ clock, store });
    const work = heldWork();
    const out = heard(hapax.run({ ...call, timeout: "5s" }, work.fn));
    await work.started();
    await clock.advance(4_000);
    faults.settle = refused;
    work.finish("in time");
    await clock.advance(4_000);
    delete faults.settle;
    await clock.advance(2_000);
    expect(await out).toMatchObject({ value: "in time", stored: true });
    expect(emitted("timeout")).toEqual([]);
  });

  it("P7 that fails in time throws its own error", async () => {
    const { hapax } = onMemory();
    const error = new Error("quick failure");
    expect(await thrownBy(hapax.run({ ...call, timeout: "5s" }, () => Promise.reject(error)))).toBe(error);
  });
});
