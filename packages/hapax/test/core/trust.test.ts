import { describe, expect, it } from "vitest";
import { trustTime } from "../../src/core/clock.js";
import type { ExtendResult } from "../../src/index.js";
import { memoryStore } from "../../src/stores/memory/index.js";
import { manualClock } from "../../src/testing/manual-clock.js";
import { deferred, heldWork, refusal, thrownBy } from "./held-work.js";
import { another, onMemory, type SetupOptions } from "./make-hapax.js";
import { firstTimes, lateReply, lostReply, refused, withFaults } from "./store-with-faults.js";

const call = { scope: "documents", key: "d-1" };

function setUp(options: SetupOptions = {}) {
  const clock = manualClock();
  const inner = memoryStore({ clock });
  const faulty = withFaults(inner);
  return { ...onMemory({ clock, store: faulty.store, ...options }), ...faulty, inner };
}

async function running(options: SetupOptions = {}) {
  const setup = setUp(options);
  const work = heldWork();
  const out = setup.hapax.run(call, work.fn);
  await work.started();
  // Asked for now, so that its abort can be seen.
  const { signal } = work.ctx;
  return { ...setup, work, out, signal };
}

describe("F5 a failed heartbeat", () => {
  it("is logged and counted, and the work goes on", async () => {
    const { clock, faults, work, out, signal, emitted, logs } = await running();
    faults.extend = firstTimes(2, refused);
    await clock.advance(20_000);

    expect(emitted("heartbeat_failed")).toHaveLength(2);
    expect(emitted("heartbeat_failed")[0]).toMatchObject({ ...call, error: { code: "store-unavailable" } });
    expect(logs).toHaveLength(2);
    expect(logs[0]).toMatchObject({
      level: "warn",
      message: expect.stringContaining("heartbeat_failed"),
      fields: { ...call, error: { code: "store-unavailable" } },
    });
    expect(emitted("heartbeat").length).toBeGreaterThan(0);
    expect(signal.aborted).toBe(false);
    await clock.advance(60_000);
    work.finish("survived");
    expect(await out).toMatchObject({ value: "survived", stored: true });
  });

  it("whose reply was lost has still extended the lease at the store", async () => {
    const { clock, faults, signal, emitted } = await running();
    faults.extend = firstTimes(1, lostReply);
    await clock.advance(35_000);
    expect(emitted("heartbeat_failed")).toHaveLength(1);
    expect(signal.aborted).toBe(false);
  });

  it("is tried again sooner than the next interval, and more often as the end comes near", async () => {
    const { clock, faults } = await running();
    const atMs: number[] = [];
    faults.extend = (pass) => {
      atMs.push(clock.monotonicMs());
      return refused(pass);
    };
    await clock.advance(27_000);
    const waits = atMs.slice(1).map((ms, index) => ms - (atMs[index] ?? 0));
    expect(atMs[0]).toBe(10_000);
    expect(waits.length).toBeGreaterThan(4);
    expect(waits[0]).toBeLessThan(10_000);
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(50);
  });

  it("that only could not look at the row never counts as lost", async () => {
    const { clock, store, signal, emitted, faults } = await running();
    faults.extend = async <T>() => [{ kind: "unknown" }] satisfies ExtendResult[] as T;
    await clock.advance(15_000);
    expect(emitted("heartbeat_failed").length).toBeGreaterThan(0);
    expect(emitted("lost")).toEqual([]);
    expect(signal.aborted).toBe(false);
    delete faults.extend;
    await clock.advance(60_000);
    expect(signal.aborted).toBe(false);
    expect((await store.read(call))?.status).toBe("running");
  });
});

describe("F5 the signal", () => {
  it.each([
    ["30s", 27_000],
    ["10m", 540_000],
    ["2s", 1_750],
    ["400ms", 200],
  ] as const)("of a lease of %s fires %i ms after the claim, before the store lets another in", async (lease, atMs) => {
    const { clock, signal, work, store, emitted } = await running({ lease, heartbeat: false });
    await clock.advance(atMs - 1);
    expect(signal.aborted).toBe(false);
    work.ctx.assertHeld();
    await clock.advance(1);
    expect(signal.aborted).toBe(true);
    expect(signal.reason).toMatchObject({ code: "claim-lost" });
    expect(() => work.ctx.assertHeld()).toThrow(expect.objectContaining({ code: "claim-lost" }));
    expect(emitted("lost")).toMatchObject([{ ...call, code: "claim-lost" }]);
    expect((await store.read(call))?.leaseUntilMs).toBeGreaterThan(clock.wallMs());
  });

  it("fires when no heartbeat was answered in time, counted from the send that was answered last", async () => {
    const { clock, faults, signal } = await running();
    await clock.advance(20_000);
    faults.extend = refused;
    await clock.advance(26_999);
    expect(signal.aborted).toBe(false);
    await clock.advance(1);
    expect(signal.aborted).toBe(true);
  });

  it("counts trust from the send of a heartbeat, not from its answer", async () => {
    const { clock, faults, signal } = await running({ storeTimeout: "20s" });
    const reply = deferred<void>();
    faults.extend = firstTimes(1, lateReply(reply.promise));
    await clock.advance(18_000);
    reply.resolve();
    await clock.settle();
    faults.extend = refused;
    // Sent at 10 s and answered at 18 s.
    await clock.advance(18_999);
    expect(signal.aborted).toBe(false);
    await clock.advance(1);
    expect(signal.aborted).toBe(true);
  });

  it("counts trust from the first send of the claim, not from its answer", async () => {
    const { hapax, clock, faults } = setUp({ heartbeat: false, lease: "10s" });
    const reply = deferred<void>();
    faults.claim = lateReply(reply.promise);
    const work = heldWork();
    void hapax.run(call, work.fn);
    await clock.advance(2_000);
    reply.resolve();
    await work.started();
    const { signal } = work.ctx;
    await clock.advance(6_999);
    expect(signal.aborted).toBe(false);
    await clock.advance(1);
    expect(signal.aborted).toBe(true);
  });

  it("stays aborted: an extension that succeeds later does not bring trust back", async () => {
    const { clock, faults, signal, work } = await running({ storeTimeout: "60s" });
    const reply = deferred<void>();
    faults.extend = lateReply(reply.promise);
    await clock.advance(27_000);
    expect(signal.aborted).toBe(true);
    reply.resolve();
    await clock.settle();
    delete faults.extend;
    await clock.advance(60_000);
    expect(signal.aborted).toBe(true);
    expect(() => work.ctx.assertHeld()).toThrow();
  });

  it("fires at once when a heartbeat learns that another has the claim", async () => {
    const { clock, signal, inner, emitted } = await running();
    await inner.forget({ scope: call.scope, key: call.key, force: true });
    await clock.advance(10_000);
    expect(signal.reason).toMatchObject({ code: "claim-lost" });
    expect(emitted("lost")).toHaveLength(1);
  });

  it("asked for only after the claim was lost, is aborted already", async () => {
    const { clock, work } = await running({ heartbeat: false });
    await clock.advance(30_000);
    expect(work.ctx.signal.aborted).toBe(true);
  });
});

describe("F5 a process that was stalled", () => {
  it("finds out at assertHeld, although no timer could run", async () => {
    const { clock, work } = await running();
    clock.stall(27_000);
    expect(() => work.ctx.assertHeld()).toThrow(expect.objectContaining({ code: "claim-lost" }));
  });

  it("finds out at settle when another took over meanwhile", async () => {
    const setup = await running();
    setup.clock.stall(30_000);
    const newer = await another(setup, { store: setup.inner }).hapax.run(call, () => "newer");
    setup.work.finish("stale");
    expect((await refusal(setup.out)).code).toBe("claim-lost");
    expect(await setup.hapax.get(call)).toMatchObject({ result: "newer", token: newer.token });
  });

  it("settles when nobody took over: the token decides", async () => {
    const { clock, work, out } = await running();
    clock.stall(3_600_000);
    work.finish("late");
    expect(await out).toMatchObject({ value: "late", stored: true });
  });

  it("is joined by nobody any more", async () => {
    const setup = await running();
    setup.clock.stall(30_000);
    const next = setup.hapax.run(call, () => "next");
    expect(await next).toMatchObject({ value: "next", replayed: false, attempt: 2 });
    setup.work.fail(new Error("stale"));
    await thrownBy(setup.out);
  });
});

describe("F5 trust time", () => {
  it("ends when the wall clock is set forward: the store may have let another in", async () => {
    const { clock, work } = await running();
    clock.setWall(60_000);
    expect(() => work.ctx.assertHeld()).toThrow(expect.objectContaining({ code: "claim-lost" }));
  });

  it("does not stretch when the wall clock is set back", async () => {
    const { clock, work, signal } = await running({ heartbeat: false });
    clock.setWall(-3_600_000);
    await clock.advance(26_999);
    work.ctx.assertHeld();
    await clock.advance(1);
    expect(signal.aborted).toBe(true);
  });

  it("passes while the machine is suspended", async () => {
    const { clock, work, signal } = await running();
    clock.suspend(8 * 3_600_000);
    expect(() => work.ctx.assertHeld()).toThrow(expect.objectContaining({ code: "claim-lost" }));
    await clock.advance(10_000);
    expect(signal.aborted).toBe(true);
  });

  it("notices a suspension after the wall clock was set back", async () => {
    const { clock, work } = await running();
    clock.setWall(-3_600_000);
    work.ctx.assertHeld();
    clock.suspend(60_000);
    expect(() => work.ctx.assertHeld()).toThrow(expect.objectContaining({ code: "claim-lost" }));
  });

  it("goes on after a suspension, although the wall clock stands still", () => {
    const clock = manualClock();
    const now = trustTime(clock);
    clock.suspend(3_600_000);
    const startMs = now();
    for (let second = 0; second < 30; second += 1) {
      clock.stall(1_000);
      clock.setWall(-1_000);
      now();
    }
    expect(now() - startMs).toBeGreaterThanOrEqual(30_000 - 10);
  });

  it("does not run faster the more often it is read: the wall clock tells whole milliseconds only", () => {
    let realMs = 0;
    const now = trustTime({
      wallMs: () => Math.floor(1_000_000 + realMs),
      monotonicMs: () => realMs,
      after: () => () => {},
    });
    for (let read = 0; read < 100_000; read += 1) {
      realMs += 0.1;
      now();
    }
    expect(now()).toBeGreaterThanOrEqual(10_000 - 1);
    expect(now()).toBeLessThan(10_100);
  });
});
