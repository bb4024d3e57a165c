import { describe, expect, it } from "vitest";
import { documents } from "../../src/index.js";
import { memoryStore } from "../../src/stores/memory/index.js";
import { manualClock } from "../../src/testing/manual-clock.js";
import { heldWork, refusal } from "./held-work.js";
import { another, EACH_STORE, onMemory, type SetupOptions } from "./make-hapax.js";
import { firstTimes, silent, withFaults } from "./store-with-faults.js";

const call = { scope: "documents", key: "d-1" };
const MINUTE_MS = 60_000;

function setUp(options: SetupOptions = {}) {
  const clock = manualClock();
  const faulty = withFaults(memoryStore({ clock }));
  return { ...onMemory({ clock, store: faulty.store, ...options }), ...faulty };
}

/** What the lease of a running call is, and at which moments it is extended, in milliseconds from its start. */
async function beatsOf(options: SetupOptions, forMs: number) {
  const { hapax, clock, faults, batches } = setUp(options);
  const atMs: number[] = [];
  faults.extend = (pass) => {
    atMs.push(clock.monotonicMs());
    return pass();
  };
  const work = heldWork();
  const out = hapax.run(call, work.fn);
  await work.started();
  const leaseMs = (batches.claim[0]?.[0]?.leaseMs ?? 0) as number;
  await clock.advance(forMs);
  work.finish("done");
  await out;
  return { leaseMs, atMs };
}

describe("F2 a claim is a lease", () => {
  it("of 30 s by default, extended every third of it", async () => {
    expect(await beatsOf({}, 35_000)).toEqual({ leaseMs: 30_000, atMs: [10_000, 20_000, 30_000] });
  });

  it("of 10 min for documents, extended every 2 min", async () => {
    const { leaseMs, atMs } = await beatsOf(documents, 7 * MINUTE_MS);
    expect(leaseMs).toBe(10 * MINUTE_MS);
    expect(atMs).toEqual([2 * MINUTE_MS, 4 * MINUTE_MS, 6 * MINUTE_MS]);
  });

  it("extended every third of any lease, unless the call says otherwise", async () => {
    expect((await beatsOf({ lease: "6s" }, 7_000)).atMs).toEqual([2_000, 4_000, 6_000]);
    expect((await beatsOf({ lease: "6s", heartbeat: "5s" }, 11_000)).atMs).toEqual([5_000, 10_000]);
  });

  it("set for one call, it brings its own third along", async () => {
    const { hapax, clock, batches } = setUp(documents);
    const work = heldWork();
    const out = hapax.run({ ...call, lease: "3s" }, work.fn);
    await work.started();
    await clock.advance(1_000);
    expect(batches.extend[0]?.[0]).toMatchObject({ leaseMs: 3_000 });
    work.finish("done");
    await out;
  });

  it("never extended with heartbeat: false, also when the call has a lease of its own (serverless)", async () => {
    const { hapax, clock, batches } = setUp({ heartbeat: false });
    const work = heldWork();
    const out = hapax.run({ ...call, lease: "90s" }, work.fn);
    await work.started();
    await clock.advance(80_000);
    expect(batches.extend).toEqual([]);
    expect(work.ctx.signal.aborted).toBe(false);
    await clock.advance(1_000);
    expect(work.ctx.signal.aborted).toBe(true);
    work.finish("done");
    await out;
  });

  it("is not extended any more once its work has ended", async () => {
    const { hapax, clock, batches } = setUp();
    await hapax.run(call, () => "done");
    await clock.advance(5 * MINUTE_MS);
    expect(batches.extend).toEqual([]);
  });
});

describe("many claims of one process", () => {
  it("share one timer and one extend batch", async () => {
    const { hapax, clock, batches } = setUp();
    const work = heldWork();
    const runs = Array.from({ length: 300 }, (_, index) => hapax.run({ scope: "s", key: `k-${index}` }, work.fn));
    await work.started(300);
    // Past the watchdogs of the claims: what is left is the heartbeat's.
    await clock.advance(6_000);
    expect(clock.timers).toBe(1);
    await clock.advance(4_000);
    expect(batches.extend.map((batch) => batch.length)).toEqual([300]);
    for (let index = 0; index < 300; index += 1) work.finish("done");
    await Promise.all(runs);
  });

  it("that began at different moments soon beat together", async () => {
    const { hapax, clock, batches } = setUp();
    const work = heldWork();
    const runs = [];
    for (let index = 0; index < 5; index += 1) {
      runs.push(hapax.run({ scope: "s", key: `k-${index}` }, work.fn));
      await clock.advance(400);
    }
    await clock.advance(10_000);
    expect(batches.extend.map((batch) => batch.length)).toEqual([5]);
    for (const _ of runs) work.finish("done");
    await Promise.all(runs);
  });

  it("with different leases are each extended in time", async () => {
    const { hapax, clock, emitted } = setUp();
    const work = heldWork();
    const runs = [
      hapax.run({ scope: "s", key: "long", ...documents }, work.fn),
      hapax.run({ scope: "s", key: "short", lease: "3s" }, work.fn),
    ];
    await work.started(2);
    await clock.advance(5 * MINUTE_MS);
    expect(work.contexts.map((ctx) => ctx.signal.aborted)).toEqual([false, false]);
    // It goes along a little early where a batch leaves anyway.
    expect([2, 3]).toContain(emitted("heartbeat").filter(({ key }) => key === "long").length);
    expect(emitted("heartbeat").filter(({ key }) => key === "short").length).toBeGreaterThanOrEqual(299);
    for (const _ of runs) work.finish("done");
    await Promise.all(runs);
  });

  it("a beat that hangs in the store does not keep the next ones from going out", async () => {
    const { hapax, clock, faults, batches } = setUp({ storeTimeout: "4s" });
    const work = heldWork();
    const out = hapax.run(call, work.fn);
    await work.started();
    faults.extend = firstTimes(1, silent);
    await clock.advance(60_000);
    expect(work.ctx.signal.aborted).toBe(false);
    expect(batches.extend.length).toBeGreaterThan(3);
    work.finish("kept");
    expect(await out).toMatchObject({ stored: true });
  });
});

describe.each(EACH_STORE)("on %s", (_name, make) => {
  it("F3 work that outlives its lease keeps it: a duplicate after the original lease is still skipped", async () => {
    const setup = await make();
    const work = heldWork();
    const out = setup.hapax.run(call, work.fn);
    await work.started();
    const elsewhere = another(setup, { onBusy: "reject" }).hapax;
    for (let minute = 0; minute < 5; minute += 1) {
      await setup.clock.advance(MINUTE_MS);
      expect((await refusal(elsewhere.run(call, work.fn))).code).toBe("in-progress");
    }
    expect(work.ctx.signal.aborted).toBe(false);
    work.ctx.assertHeld();
    work.finish("long");
    expect(await out).toMatchObject({ value: "long", attempt: 1, stored: true });
  });

  it("F4 a worker that dies stops its heartbeat, and after the lease another delivery takes over", async () => {
    const setup = await make();
    const doomed = withFaults(setup.store);
    const work = heldWork();
    void another(setup, { store: doomed.store }).hapax.run(call, work.fn);
    await work.started();
    await setup.clock.advance(25_000);
    // Its last extension was at 20 s; from here on nothing that it sends arrives.
    doomed.all(silent);

    const alive = another(setup);
    const out = alive.hapax.run({ ...call, wait: "5m" }, () => "taken over");
    await setup.clock.advance(24_999);
    expect(alive.emitted("takeover")).toEqual([]);
    await setup.clock.advance(1_001);
    expect(await out).toMatchObject({ value: "taken over", attempt: 2, replayed: false });
    expect(alive.emitted("takeover")).toMatchObject([{ ...call, attempt: 2 }]);
  });
});
