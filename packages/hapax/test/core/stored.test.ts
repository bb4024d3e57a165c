import { describe, expect, it } from "vitest";
import type { Settlement } from "../../src/index.js";
import { memoryStore } from "../../src/stores/memory/index.js";
import { manualClock } from "../../src/testing/manual-clock.js";
import { deferred, heldWork, refusal, thrownBy, watched } from "./held-work.js";
import { another, onMemory, type SetupOptions } from "./make-hapax.js";
import { firstTimes, lateReply, lostReply, refused, silent, withFaults } from "./store-with-faults.js";

const call = { scope: "charges", key: "c-1" };

function setUp(options: SetupOptions = {}) {
  const clock = manualClock();
  const faulty = withFaults(memoryStore({ clock }));
  return { ...onMemory({ clock, store: faulty.store, ...options }), ...faulty };
}

const settlementsOf = (batches: readonly (readonly Settlement[])[]) => batches.flat();

describe("P8 when the result cannot be stored at once", () => {
  it("the write is retried with backoff until it succeeds, and the caller waits for it", async () => {
    const { hapax, faults, clock, batches } = setUp();
    faults.settle = firstTimes(4, refused);
    const out = hapax.run(call, () => "charged");
    const ended = watched(out);
    await clock.settle();
    expect(batches.settle).toHaveLength(1);
    expect(ended.ended).toBe(false);

    await clock.advance(1_000);
    expect(await out).toMatchObject({ value: "charged", stored: true });
    expect(batches.settle).toHaveLength(5);
    expect(await hapax.run(call, () => "twice")).toMatchObject({ value: "charged", replayed: true });
  });

  it("the waits between the tries grow, and stay at a second at most", async () => {
    const { hapax, faults, clock } = setUp({ lease: "60s" });
    const sentMs: number[] = [];
    faults.settle = (pass) => {
      sentMs.push(clock.monotonicMs());
      return refused(pass);
    };
    void hapax.run(call, () => "charged");
    await clock.advance(50_000);
    const waits = sentMs.slice(1).map((ms, index) => ms - (sentMs[index] ?? 0));
    expect(waits[0]).toBeLessThanOrEqual(20);
    expect(Math.max(...waits)).toBeLessThanOrEqual(1_000);
    expect(Math.min(...waits.slice(8))).toBeGreaterThanOrEqual(500);
  });

  it("it goes on for as long as the claim is valid; then the caller gets the value with stored: false", async () => {
    const { hapax, faults, clock, emitted, logs } = setUp({ lease: "30s" });
    faults.settle = refused;
    const out = hapax.run(call, () => "charged");
    const ended = watched(out);
    await clock.advance(26_900);
    expect(ended.ended).toBe(false);
    await clock.advance(1_200);

    expect(await out).toMatchObject({ value: "charged", replayed: false, attempt: 1, stored: false });
    expect(emitted("not-stored")).toHaveLength(1);
    expect(emitted("not-stored")[0]).toMatchObject({ ...call, attempt: 1, error: { code: "store-unavailable" } });
    expect(logs).toHaveLength(1);
    expect(logs[0]).toMatchObject({ level: "error", message: expect.stringContaining("not-stored"), fields: call });
  });

  it("a store that hangs is given up as one that refuses", async () => {
    const { hapax, faults, clock, emitted } = setUp({ lease: "30s" });
    faults.settle = silent;
    const out = hapax.run(call, () => "charged");
    await clock.advance(40_000);
    expect(await out).toMatchObject({ value: "charged", stored: false });
    expect(emitted("not-stored")).toHaveLength(1);
  });

  it("a failure that cannot be stored is thrown unchanged all the same, and reported", async () => {
    const { hapax, faults, clock, emitted } = setUp({ lease: "30s" });
    faults.settle = refused;
    const error = new Error("declined");
    const thrown = thrownBy(hapax.run(call, () => Promise.reject(error)));
    await clock.advance(30_000);
    expect(await thrown).toBe(error);
    expect(emitted("not-stored")).toHaveLength(1);
    expect(emitted("failed")).toEqual([]);
  });

  it("duplicates of this process are not served what the store did not take: they claim anew", async () => {
    const { hapax, faults, clock } = setUp({ lease: "30s" });
    const work = heldWork();
    const first = hapax.run({ ...call, heartbeat: false }, work.fn);
    await work.started();
    const joined = hapax.run({ ...call, wait: "10m" }, work.fn);
    faults.settle = refused;
    work.finish("not stored");
    await clock.advance(28_000);
    expect(await first).toMatchObject({ stored: false });

    delete faults.settle;
    await clock.advance(3_000);
    await work.started(2);
    work.finish("stored");
    expect(await joined).toMatchObject({ value: "stored", replayed: false, attempt: 2 });
  });
});

describe("a settlement whose reply is lost", () => {
  it("is sent again with the same bytes, and counts once", async () => {
    const { hapax, faults, clock, batches } = setUp();
    faults.settle = firstTimes(2, lostReply);
    const work = heldWork();
    const out = hapax.run(call, work.fn);
    await work.started();
    const joined = hapax.run(call, work.fn);
    work.finish("charged");
    await clock.advance(1_000);

    expect(await out).toMatchObject({ value: "charged", stored: true });
    expect(await joined).toMatchObject({ value: "charged", replayed: true });
    const sent = settlementsOf(batches.settle);
    expect(sent).toHaveLength(3);
    expect(sent.every((settlement) => settlement === sent[0])).toBe(true);
    expect(await hapax.get(call)).toMatchObject({ status: "done", runs: 1, seen: 2 });
  });

  it("of a failure is no different", async () => {
    const { hapax, faults, clock, emitted } = setUp();
    faults.settle = firstTimes(1, lostReply);
    const thrown = thrownBy(hapax.run(call, () => Promise.reject(new Error("declined"))));
    await clock.advance(1_000);
    await thrown;
    expect(emitted("failed")).toHaveLength(1);
    expect(await hapax.get(call)).toMatchObject({ status: "failed", runs: 1, seen: 1 });
  });

  it("ends with outcome-unknown when the record has changed before it is sent again", async () => {
    const { hapax, faults, clock, store, emitted } = setUp();
    faults.settle = firstTimes(1, lostReply);
    const out = refusal(hapax.run(call, () => "charged"));
    await clock.settle();
    await store.forget({ scope: call.scope, key: call.key, force: true });
    await clock.advance(1_000);
    expect(await out).toMatchObject({ code: "outcome-unknown", retryable: false });
    expect(emitted("lost")).toMatchObject([{ ...call, code: "outcome-unknown" }]);
  });

  it("of a failure reports outcome-unknown likewise, and throws the function's error", async () => {
    const { hapax, faults, clock, store, emitted } = setUp();
    faults.settle = firstTimes(1, lostReply);
    const error = new Error("declined");
    const thrown = thrownBy(hapax.run(call, () => Promise.reject(error)));
    await clock.settle();
    await store.forget({ scope: call.scope, key: call.key, force: true });
    await clock.advance(1_000);
    expect(await thrown).toBe(error);
    expect(emitted("lost")).toMatchObject([{ ...call, code: "outcome-unknown" }]);
  });

  it("a settlement that was never unanswered ends with claim-lost", async () => {
    const { hapax, store } = setUp();
    const out = refusal(
      hapax.run(call, async () => {
        await store.forget({ scope: call.scope, key: call.key, force: true });
        return "charged";
      }),
    );
    expect((await out).code).toBe("claim-lost");
  });
});

describe("while the result is being stored", () => {
  it("a duplicate that is rejected is told in-progress by the store", async () => {
    const { hapax, faults, clock } = setUp();
    const reply = deferred<void>();
    faults.settle = (pass) => reply.promise.then(pass);
    const out = hapax.run(call, () => "charged");
    await clock.settle();
    expect((await refusal(hapax.run({ ...call, onBusy: "reject" }, () => "twice"))).code).toBe("in-progress");
    reply.resolve();
    await out;
    expect((await hapax.get(call))?.seen).toBe(2);
  });

  it("the settlement goes out although the trust window is over: the token decides", async () => {
    const setup = setUp({ heartbeat: false, lease: "10s" });
    const work = heldWork();
    const out = setup.hapax.run(call, work.fn);
    await work.started();
    await setup.clock.advance(60_000);
    work.finish("late, and nobody took over");
    expect(await out).toMatchObject({ value: "late, and nobody took over", stored: true });
    expect(await another(setup).hapax.run(call, work.fn)).toMatchObject({ replayed: true });
  });

  it("a reply that comes late is not waited for by strangers for ever", async () => {
    const { hapax, faults, clock } = setUp({ storeTimeout: "4s" });
    const reply = deferred<void>();
    faults.settle = firstTimes(1, lateReply(reply.promise));
    const slow = hapax.run(call, () => "slow");
    await clock.settle();
    const stranger = hapax.run({ scope: "charges", key: "c-2" }, () => "stranger");
    await clock.advance(4_500);
    expect(await stranger).toMatchObject({ stored: true });
    expect(await slow).toMatchObject({ stored: true });
    reply.resolve();
  });
});
