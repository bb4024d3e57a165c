import { describe, expect, it } from "vitest";
import { memoryStore } from "../../src/stores/memory/index.js";
import { manualClock } from "../../src/testing/manual-clock.js";
import { deferred, heldWork, refusal, until } from "./held-work.js";
import { another, onMemory, type SetupOptions } from "./make-hapax.js";
import { firstTimes, lateReply, lostReply, refused, withFaults } from "./store-with-faults.js";

const call = { scope: "payments", key: "p-1" };

function setUp(options: SetupOptions = {}) {
  const clock = manualClock();
  const inner = memoryStore({ clock });
  const faulty = withFaults(inner);
  return { ...onMemory({ clock, store: faulty.store, ...options }), ...faulty, inner };
}

describe("a claim whose reply is lost", () => {
  it("is sent again with the same claimId, gets the same grant, and runs once", async () => {
    const { hapax, clock, faults, batches } = setUp();
    faults.claim = firstTimes(2, lostReply);
    const work = heldWork();
    const out = hapax.run(call, work.fn);
    await clock.advance(200);
    work.finish("once");

    expect(await out).toMatchObject({ value: "once", attempt: 1, stored: true });
    expect(work.runs).toBe(1);
    const claimIds = batches.claim.map(([request]) => request?.claimId);
    expect(claimIds).toHaveLength(3);
    expect(new Set(claimIds).size).toBe(1);
    expect(await hapax.get(call)).toMatchObject({ runs: 1, seen: 1 });
  });

  it("for good leaves a claim that its lease ends, and the next delivery runs", async () => {
    const { hapax, clock, faults } = setUp({ lease: "10s" });
    faults.claim = lostReply;
    const out = refusal(hapax.run(call, () => "never"));
    await clock.advance(5_000);
    expect((await out).code).toBe("store-unavailable");
    delete faults.claim;
    const next = hapax.run(call, () => "next");
    await clock.advance(10_000);
    expect(await next).toMatchObject({ value: "next" });
  });

  it("is not sent again after its own trust window", async () => {
    const { hapax, clock, faults, batches } = setUp({ lease: "1s", storeTimeout: "60s" });
    const sentMs: number[] = [];
    faults.claim = (pass) => {
      sentMs.push(clock.monotonicMs());
      return refused(pass);
    };
    const out = refusal(hapax.run(call, () => "never"));
    await clock.advance(60_000);
    expect((await out).code).toBe("store-unavailable");
    expect(Math.max(...sentMs)).toBeLessThan(750);
    expect(batches.claim.length).toBeGreaterThan(2);
  });
});

describe("a grant that is heard too late", () => {
  it("after the call was given up, is released with its token", async () => {
    const { hapax, clock, faults, emitted } = setUp();
    const reply = deferred<void>();
    faults.claim = firstTimes(1, lateReply(reply.promise));
    const work = heldWork();
    const out = refusal(hapax.run(call, work.fn));
    await clock.advance(5_000);
    expect((await out).code).toBe("store-unavailable");

    reply.resolve();
    await until(() => emitted("released").length === 1);
    expect(work.runs).toBe(0);
    expect(await hapax.run(call, () => "next")).toMatchObject({ value: "next", attempt: 1 });
  });

  it("when another has taken over meanwhile, is not reported as released: there was nothing to give back", async () => {
    const setup = setUp({ lease: "1s", storeTimeout: "60s", wait: "1s" });
    const reply = deferred<void>();
    setup.faults.claim = firstTimes(1, lateReply(reply.promise));
    const late = refusal(setup.hapax.run(call, () => "late"));
    await setup.clock.advance(1_000);
    const work = heldWork();
    void another(setup, { store: setup.inner }).hapax.run(call, work.fn);
    await work.started();
    reply.resolve();
    await setup.clock.advance(1_000);
    expect((await late).code).toBe("in-progress");
    expect(setup.emitted("released")).toEqual([]);
    expect((await setup.hapax.get(call))?.status).toBe("running");
  });

  it("after it ran unprotected, is released too", async () => {
    const { hapax, clock, faults, emitted } = setUp({ onStoreDown: "open" });
    const reply = deferred<void>();
    faults.claim = firstTimes(1, lateReply(reply.promise));
    const out = hapax.run(call, () => "unprotected");
    await clock.advance(5_000);
    expect(await out).toMatchObject({ stored: false });
    reply.resolve();
    await until(() => emitted("released").length === 1);
    expect((await hapax.get(call))?.status).toBe("failed");
  });

  it("after its own trust window, is released, and the call asks again with a new claimId", async () => {
    const { hapax, clock, faults, batches, emitted } = setUp({ lease: "1s", storeTimeout: "60s" });
    const reply = deferred<void>();
    faults.claim = firstTimes(1, lateReply(reply.promise));
    const out = hapax.run(call, () => "at last");
    await clock.advance(900);
    reply.resolve();
    await clock.advance(1_000);
    expect(await out).toMatchObject({ value: "at last", attempt: 1 });
    expect(new Set(batches.claim.map(([request]) => request?.claimId)).size).toBe(2);
    expect(emitted("released")).toHaveLength(1);
    expect(await hapax.get(call)).toMatchObject({ runs: 1, seen: 1 });
  });

  it("always, ends the call after its patience, with a way out", async () => {
    const { hapax, clock, faults } = setUp({ lease: "1s", storeTimeout: "60s", wait: "3s" });
    faults.claim = async (pass) => {
      const answer = await pass();
      await new Promise<void>((resolve) => clock.after(800, resolve));
      return answer;
    };
    const work = heldWork();
    const out = refusal(hapax.run(call, work.fn));
    await clock.advance(10_000);
    expect(await out).toMatchObject({ code: "store-unavailable", message: expect.stringContaining("longer lease") });
    expect(work.runs).toBe(0);
  });
});
