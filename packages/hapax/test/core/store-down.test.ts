import { describe, expect, it } from "vitest";
import { HapaxError } from "../../src/index.js";
import { memoryStore } from "../../src/stores/memory/index.js";
import { manualClock } from "../../src/testing/manual-clock.js";
import { heldWork, refusal, thrownBy, watched } from "./held-work.js";
import { another, onMemory, type SetupOptions } from "./make-hapax.js";
import { type Fault, refused, silent, withFaults } from "./store-with-faults.js";

const call = { scope: "payments", key: "p-1" };

function setUp(options: SetupOptions = {}) {
  const clock = manualClock();
  const inner = memoryStore({ clock });
  const faulty = withFaults(inner);
  return { ...onMemory({ clock, store: faulty.store, ...options }), ...faulty, inner };
}

/** A driver that throws errors of its own. */
const broken: Fault = async () => {
  throw new TypeError("cannot read properties of undefined");
};

describe.each<[string, Fault]>([
  ["refuses connections", refused],
  ["throws on every call", broken],
  ["never answers", silent],
])("F7 a store that %s", (_name, fault) => {
  it("fails closed by default: a clear error within storeTimeout, and nothing runs", async () => {
    const { hapax, clock, all } = setUp({ storeTimeout: "5s" });
    all(fault);
    const work = heldWork();
    const out = refusal(hapax.run(call, work.fn));
    await clock.advance(5_000);

    const error = await out;
    expect(error).toMatchObject({ code: "store-unavailable", retryable: true, status: 503, ...call });
    expect(error.message).toContain("nothing was run");
    expect(error.cause).toBeInstanceOf(Error);
    expect(work.runs).toBe(0);
  });

  it("fails open if the call chose so: it runs unprotected, says so, and asks for a person", async () => {
    const { hapax, clock, all, emitted, logs } = setUp();
    all(fault);
    const work = heldWork();
    const out = hapax.run({ ...call, onStoreDown: "open" }, work.fn);
    await clock.advance(5_000);
    await work.started();
    work.finish("unprotected");

    expect(await out).toEqual({
      value: "unprotected",
      replayed: false,
      attempt: 1,
      key: "p-1",
      token: "0",
      stored: false,
    });
    expect(emitted("unprotected")).toMatchObject([{ ...call, error: { code: "store-unavailable" } }]);
    expect(logs).toMatchObject([
      { level: "error", message: expect.stringMatching(/unprotected.*check/), fields: call },
    ]);
  });

  it("recovers: the next call is served as if nothing had been", async () => {
    const { hapax, clock, all } = setUp();
    all(fault);
    const out = refusal(hapax.run(call, () => "no"));
    await clock.advance(5_000);
    await out;
    all(undefined);
    // A claim that never left its queue must not hold up the next.
    const next = hapax.run({ ...call, key: "p-2" }, () => "yes");
    await clock.advance(5_000);
    expect(await next).toMatchObject({ value: "yes", stored: true });
  });
});

describe("F7 a function that runs unprotected", () => {
  async function unprotected(options: SetupOptions = {}) {
    const setup = setUp({ onStoreDown: "open", ...options });
    setup.all(refused);
    const work = heldWork();
    const out = setup.hapax.run(call, work.fn);
    await setup.clock.advance(5_000);
    await work.started();
    return { ...setup, work, out };
  }

  it("has a context: token 0, attempt 1, stable keys, and steps that run", async () => {
    const { work, out } = await unprotected();
    const { ctx } = work;
    expect([ctx.token, ctx.attempt, ctx.signal.aborted]).toEqual(["0", 1, false]);
    expect(await ctx.step("charge", async () => "charged")).toBe("charged");
    ctx.setMetadata({ any: 1 });
    expect(() => ctx.assertHeld()).toThrow(expect.objectContaining({ code: "store-unavailable" }));
    const key = ctx.keyFor("charge");
    work.finish("x");
    await out;

    const protectedKeys: string[] = [];
    await onMemory().hapax.run(call, (held) => protectedKeys.push(held.keyFor("charge")));
    expect(protectedKeys).toEqual([key]);
  });

  it("throws its own error unchanged", async () => {
    const { work, out } = await unprotected();
    const thrown = thrownBy(out);
    const error = new Error("mine");
    work.fail(error);
    expect(await thrown).toBe(error);
  });

  it("still has its timeout: the call ends, and the signal aborts", async () => {
    const { out, clock, work } = await unprotected({ timeout: "10s" });
    const { signal } = work.ctx;
    const error = refusal(out);
    const ended = watched(error);
    await clock.advance(10_000);
    expect(ended.ended).toBe(true);
    expect((await error).code).toBe("timeout");
    expect(signal.aborted).toBe(true);
  });

  it("is told by its signal when hapax is closed", async () => {
    const { clock, work, hapax, out } = await unprotected();
    const { signal } = work.ctx;
    const ended = thrownBy(out);
    const closing = hapax.close({ timeout: "1s" });
    await clock.advance(1_000);
    await closing;
    expect(signal.aborted).toBe(true);
    expect(signal.reason).toMatchObject({ code: "closed" });
    work.fail(signal.reason);
    await ended;
  });

  it("P7 is not made unprotected by an error of its own that looks like the store's", async () => {
    const { hapax, emitted } = setUp({ onStoreDown: "open" });
    const error = new HapaxError("store-unavailable", "an inner call's");
    expect(await thrownBy(hapax.run(call, () => Promise.reject(error)))).toBe(error);
    expect(emitted("unprotected")).toEqual([]);
  });
});

describe("F7 never open once told that another runs it", () => {
  it("a duplicate that waits for another process", async () => {
    const setup = setUp();
    const work = heldWork();
    const first = another(setup, { store: setup.inner }).hapax.run(call, work.fn);
    await work.started();
    const duplicate = refusal(setup.hapax.run({ ...call, onStoreDown: "open" }, work.fn));
    await setup.clock.settle();
    setup.all(refused);
    await setup.clock.advance(20_000);
    expect((await duplicate).code).toBe("store-unavailable");
    expect(work.runs).toBe(1);
    work.finish("once");
    await first;
  });

  it("a duplicate that joined an execution of this process, whose claim is then lost with the store", async () => {
    const { hapax, clock, all, emitted } = setUp({ onStoreDown: "open" });
    const work = heldWork();
    const first = hapax.run(call, work.fn);
    await work.started();
    const joined = hapax.run({ ...call, wait: "10m" }, work.fn).catch(() => undefined);
    all(refused);
    await clock.advance(40_000);
    expect(emitted("unprotected")).toEqual([]);
    expect(work.runs).toBe(1);
    work.finish("once");
    await clock.advance(40_000);
    await first;
    await joined;
  });
});

describe("a reconciler's decision that the store does not answer", () => {
  it.each<[string, Fault]>([
    ["refused", refused],
    ["broken", broken],
    ["silent", silent],
  ])("ends the call with store-unavailable, and runs nothing (%s)", async (_name, fault) => {
    const setup = setUp({ onAbandoned: "hold" });
    const dead = heldWork();
    void another(setup, { heartbeat: false, onAbandoned: "hold" }).hapax.run(call, dead.fn);
    await dead.started();
    await setup.clock.advance(30_000);
    setup.faults.resolve = fault;
    const work = heldWork();
    const out = thrownBy(setup.hapax.run({ ...call, reconcile: () => ({ status: "failed" }) }, work.fn));
    const ended = watched(out);
    await setup.clock.advance(30_000);
    expect(ended.ended).toBe(true);
    expect(await out).toMatchObject({ code: "store-unavailable" });
    expect(work.runs).toBe(0);
  });
});
