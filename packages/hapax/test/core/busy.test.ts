import { describe, expect, it } from "vitest";
import { JOINERS_MAX } from "../../src/core/limits.js";
import { memoryStore } from "../../src/stores/memory/index.js";
import { manualClock } from "../../src/testing/manual-clock.js";
import { deferred, heldWork, refusal, thrownBy, until, watched } from "./held-work.js";
import { another, EACH_STORE, onMemory, onSqlite } from "./make-hapax.js";
import { lateReply, withFaults } from "./store-with-faults.js";

const call = { scope: "webhooks", key: "evt-1" };

describe.each(EACH_STORE)("a duplicate that is rejected while another runs, on %s", (_name, make) => {
  it("G3 is told in-progress, and when asking again is worth it: the rest of the lease", async () => {
    const setup = await make({ heartbeat: false, lease: "30s" });
    const work = heldWork();
    void setup.hapax.run(call, work.fn);
    await work.started();
    await setup.clock.advance(10_000);

    const elsewhere = await refusal(another(setup).hapax.run({ ...call, onBusy: "reject" }, work.fn));
    expect(elsewhere).toMatchObject({ code: "in-progress", retryable: true, status: 409, retryAfterMs: 20_000 });
    const here = await refusal(setup.hapax.run({ ...call, onBusy: "reject" }, work.fn));
    expect(here).toMatchObject({ code: "in-progress", scope: "webhooks", key: "evt-1" });
    expect(here.retryAfterMs).toBeGreaterThan(0);
    expect(here.retryAfterMs).toBeLessThanOrEqual(20_000);
    expect(work.runs).toBe(1);
  });
});

describe("a duplicate that waits for another process", () => {
  it("is woken by a push on memory, the moment the record is settled", async () => {
    const setup = onMemory();
    const work = heldWork();
    const first = setup.hapax.run(call, work.fn);
    await work.started();
    const waiter = another(setup).hapax.run(call, work.fn);
    await setup.clock.settle();

    work.finish("pushed");
    expect(await waiter).toMatchObject({ value: "pushed", replayed: true });
    await first;
  });

  it("asks again with backoff on SQLite: a few times, and never more than a second apart", async () => {
    const setup = await onSqlite();
    const { store, batches } = withFaults(setup.store);
    const work = heldWork();
    const first = setup.hapax.run(call, work.fn);
    await work.started();
    const waiter = another(setup, { store }).hapax.run(call, work.fn);

    await setup.clock.advance(10_000);
    expect(batches.claim.length).toBeGreaterThan(10);
    expect(batches.claim.length).toBeLessThan(30);
    expect(batches.claim.slice(1).every(([request]) => request?.arrivals === 0)).toBe(true);

    work.finish("polled");
    await first;
    await setup.clock.advance(1_000);
    expect(await waiter).toMatchObject({ value: "polled", replayed: true });
    expect((await setup.hapax.get(call))?.seen).toBe(2);
  });

  it("misses no settlement that comes between the answer and the watch", async () => {
    const setup = onMemory();
    const work = heldWork();
    const first = setup.hapax.run(call, work.fn);
    await work.started();
    const { watch } = setup.store;
    const store = {
      ...setup.store,
      watch(id: { scope: string; key: string }, wake: () => void) {
        work.finish("just before");
        return watch?.(id, wake) ?? (() => {});
      },
    };
    const waiter = another(setup, { store }).hapax.run(call, work.fn);
    await first;
    expect(await waiter).toMatchObject({ value: "just before", replayed: true });
  });

  it("misses no settlement that comes while it asks again, before it sleeps", async () => {
    const setup = onMemory();
    const { store, faults, batches } = withFaults(setup.store);
    const work = heldWork();
    const first = setup.hapax.run(call, work.fn);
    await work.started();
    const reply = deferred<void>();
    faults.claim = (pass) => (batches.claim.length === 2 ? lateReply(reply.promise)(pass) : pass());
    const waiter = another(setup, { store }).hapax.run(call, work.fn);
    await until(() => batches.claim.length === 2);
    work.finish("meanwhile");
    await first;
    reply.resolve();
    expect(await waiter).toMatchObject({ value: "meanwhile", replayed: true });
  });

  it("stops watching when it is answered", async () => {
    const setup = onMemory();
    let watchers = 0;
    const { watch } = setup.store;
    const store = {
      ...setup.store,
      watch(id: { scope: string; key: string }, wake: () => void) {
        watchers += 1;
        const unwatch = watch?.(id, wake);
        return () => {
          watchers -= 1;
          unwatch?.();
        };
      },
    };
    const work = heldWork();
    const first = setup.hapax.run(call, work.fn);
    await work.started();
    const waiter = another(setup, { store }).hapax.run(call, work.fn);
    await setup.clock.settle();
    expect(watchers).toBe(1);
    work.finish("x");
    await Promise.all([first, waiter]);
    expect(watchers).toBe(0);
  });

  it("G6 claims anew when the run failed", async () => {
    const setup = onMemory();
    const work = heldWork();
    const first = thrownBy(setup.hapax.run(call, work.fn));
    await work.started();
    const waiter = another(setup).hapax.run(call, work.fn);
    await setup.clock.settle();
    work.fail(new Error("not mine"));
    await first;
    await work.started(2);
    work.finish("second attempt");
    expect(await waiter).toMatchObject({ value: "second attempt", replayed: false, attempt: 2 });
  });

  it("F4 takes over when the lease ends", async () => {
    const setup = onMemory({ heartbeat: false, lease: "10s" });
    const work = heldWork();
    void setup.hapax.run(call, work.fn);
    await work.started();
    void another(setup).hapax.run(call, work.fn);
    await setup.clock.advance(9_999);
    expect(work.runs).toBe(1);
    await setup.clock.advance(1);
    await work.started(2);
    expect(work.ctx.attempt).toBe(2);
  });
});

describe("the patience of a duplicate", () => {
  it.each(EACH_STORE)("ends after 30 s with in-progress, here and in another process: %s", async (_name, make) => {
    const setup = await make({ lease: "10m" });
    const work = heldWork();
    void setup.hapax.run(call, work.fn);
    await work.started();
    const here = refusal(setup.hapax.run(call, work.fn));
    const elsewhere = refusal(another(setup).hapax.run(call, work.fn));
    const ended = watched(Promise.race([here, elsewhere]));

    await setup.clock.advance(29_000);
    expect(ended.ended).toBe(false);
    await setup.clock.advance(1_000);
    expect((await here).code).toBe("in-progress");
    expect((await elsewhere).code).toBe("in-progress");
    expect((await here).retryAfterMs).toBeGreaterThan(0);
    expect(work.runs).toBe(1);
  });

  it("is set by `wait`, for each call", async () => {
    const setup = onMemory();
    const work = heldWork();
    const first = setup.hapax.run(call, work.fn);
    await work.started();
    const short = refusal(setup.hapax.run({ ...call, wait: "1s" }, work.fn));
    const long = setup.hapax.run({ ...call, wait: "2s" }, work.fn);
    await setup.clock.advance(1_000);
    expect((await short).code).toBe("in-progress");
    work.finish("in time");
    expect(await long).toMatchObject({ value: "in time" });
    await first;
  });

  it("leaves no timer behind", async () => {
    const setup = onMemory({ heartbeat: false });
    const work = heldWork();
    const first = setup.hapax.run(call, work.fn);
    await work.started();
    await setup.clock.settle();
    const before = setup.clock.timers;
    const joined = setup.hapax.run(call, work.fn);
    work.finish("x");
    await Promise.all([first, joined]);
    expect(setup.clock.timers).toBeLessThanOrEqual(before + 1);
  });
});

describe("the duplicates that wait for one execution", () => {
  it("are ten thousand at most; one more is told `overloaded`, and the others are served", async () => {
    const { hapax } = onMemory();
    const work = heldWork();
    const first = hapax.run(call, work.fn);
    await work.started();
    const joined = Array.from({ length: JOINERS_MAX }, () => hapax.run(call, work.fn));
    const error = await refusal(hapax.run(call, work.fn));
    expect(error).toMatchObject({ code: "overloaded", retryable: true, status: 503 });
    work.finish("served");
    expect((await Promise.all([first, ...joined])).every(({ value }) => value === "served")).toBe(true);
  });
});

describe("the busy event", () => {
  it("is emitted once for a duplicate, however often it asks again", async () => {
    const clock = manualClock();
    const { watch: _without, ...store } = memoryStore({ clock });
    const setup = onMemory({ clock, store });
    const work = heldWork();
    const first = setup.hapax.run(call, work.fn);
    await work.started();
    const elsewhere = another(setup);
    const waiter = elsewhere.hapax.run(call, work.fn);
    await clock.advance(10_000);
    work.finish("x");
    await first;
    await clock.advance(1_000);
    await waiter;
    expect(elsewhere.emitted("busy")).toEqual([{ scope: "webhooks", key: "evt-1", waits: true }]);
  });
});
