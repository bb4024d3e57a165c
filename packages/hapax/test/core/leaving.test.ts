import { describe, expect, it } from "vitest";
import { memoryStore } from "../../src/stores/memory/index.js";
import { manualClock } from "../../src/testing/manual-clock.js";
import { deferred, heldWork, thrownBy, until } from "./held-work.js";
import { another, EACH_STORE, onMemory } from "./make-hapax.js";
import { lateReply, withFaults } from "./store-with-faults.js";

const call = { scope: "orders", key: "o-1" };

/** A caller who can leave, with a reason of his own. */
function leaver(): { readonly signal: AbortSignal; readonly reason: Error; leave(): void } {
  const controller = new AbortController();
  const reason = new Error("the client hung up");
  return { signal: controller.signal, reason, leave: () => controller.abort(reason) };
}

function onSlowStore() {
  const clock = manualClock();
  const faulty = withFaults(memoryStore({ clock }));
  return { ...onMemory({ clock, store: faulty.store }), ...faulty };
}

describe("a caller whose signal aborts", () => {
  it("before the call: nothing is asked and nothing runs", async () => {
    const { hapax, batches } = onSlowStore();
    const { signal, reason, leave } = leaver();
    leave();
    const work = heldWork();
    expect(await thrownBy(hapax.run({ ...call, signal }, work.fn))).toBe(reason);
    expect(work.runs).toBe(0);
    expect(batches.claim).toEqual([]);
  });

  it("while its claim is under way: it leaves at once, and the grant is given back", async () => {
    const { hapax, faults, clock, emitted } = onSlowStore();
    const { signal, reason, leave } = leaver();
    const reply = deferred<void>();
    faults.claim = lateReply(reply.promise);
    const work = heldWork();
    const left = thrownBy(hapax.run({ ...call, signal }, work.fn));
    await clock.settle();
    leave();
    expect(await left).toBe(reason);

    delete faults.claim;
    reply.resolve();
    await until(() => emitted("released").length === 1);
    expect(work.runs).toBe(0);
    expect(await hapax.get(call)).toMatchObject({ status: "failed", final: false, runs: 0 });
    expect(await hapax.run(call, () => "next")).toMatchObject({ value: "next", attempt: 1 });
  });

  it("while it is queued behind a batch: it leaves at once, and does not run", async () => {
    const { hapax, faults, clock } = onSlowStore();
    const { signal, reason, leave } = leaver();
    const reply = deferred<void>();
    faults.claim = lateReply(reply.promise);
    const ahead = hapax.run({ scope: "orders", key: "ahead" }, () => "ahead");
    await clock.settle();
    const work = heldWork();
    const left = thrownBy(hapax.run({ ...call, signal }, work.fn));
    leave();
    expect(await left).toBe(reason);
    delete faults.claim;
    reply.resolve();
    await ahead;
    await clock.settle();
    expect(work.runs).toBe(0);
    expect(await hapax.run(call, () => "next")).toMatchObject({ value: "next", attempt: 1 });
  });

  it("leaves alone: the duplicate that was folded with it gets the grant", async () => {
    const { hapax, faults, clock } = onSlowStore();
    const { signal, reason, leave } = leaver();
    const reply = deferred<void>();
    faults.claim = lateReply(reply.promise);
    const ahead = hapax.run({ scope: "orders", key: "ahead" }, () => "ahead");
    await clock.settle();
    const left = thrownBy(hapax.run({ ...call, signal }, () => "left"));
    const stays = hapax.run(call, () => "stays");
    leave();
    reply.resolve();
    expect(await left).toBe(reason);
    expect(await stays).toMatchObject({ value: "stays", replayed: false, attempt: 1 });
    await ahead;
    expect((await hapax.get(call))?.seen).toBe(2);
  });

  it.each(EACH_STORE)("while it waits for another process: it leaves at once (%s)", async (_name, make) => {
    const setup = await make();
    const { signal, reason, leave } = leaver();
    const work = heldWork();
    const first = setup.hapax.run(call, work.fn);
    await work.started();
    const left = thrownBy(another(setup).hapax.run({ ...call, signal }, work.fn));
    await setup.clock.advance(100);
    leave();
    expect(await left).toBe(reason);
    work.finish("unharmed");
    expect(await first).toMatchObject({ value: "unharmed", stored: true });
  });

  it("while it has joined an execution: it leaves at once, and the execution goes on", async () => {
    const { hapax } = onMemory();
    const { signal, reason, leave } = leaver();
    const work = heldWork();
    const first = hapax.run(call, work.fn);
    await work.started();
    const left = thrownBy(hapax.run({ ...call, signal }, work.fn));
    leave();
    expect(await left).toBe(reason);
    expect(work.ctx.signal.aborted).toBe(false);
    work.finish("unharmed");
    expect(await first).toMatchObject({ value: "unharmed" });
    expect((await hapax.get(call))?.seen).toBe(2);
  });

  it("while its function runs: the function sees it, and its end is what the call ends with", async () => {
    const { hapax } = onMemory();
    const { signal, reason, leave } = leaver();
    const work = heldWork();
    const running = thrownBy(hapax.run({ ...call, signal }, work.fn));
    await work.started();
    leave();
    expect(work.ctx.signal.aborted).toBe(true);
    expect(work.ctx.signal.reason).toBe(reason);
    work.fail(reason);
    expect(await running).toBe(reason);
    expect(await hapax.run(call, () => "next")).toMatchObject({ value: "next", attempt: 2 });
  });

  it("while its function runs to its end all the same: the result is stored", async () => {
    const { hapax } = onMemory();
    const { signal, leave } = leaver();
    const work = heldWork();
    const running = hapax.run({ ...call, signal }, work.fn);
    await work.started();
    leave();
    work.finish("charged");
    expect(await running).toMatchObject({ value: "charged", stored: true });
    expect(await hapax.run(call, () => "twice")).toMatchObject({ value: "charged", replayed: true });
  });

  it("takes only its own call along: who joined it claims anew, and one of them runs", async () => {
    const { hapax } = onMemory();
    const { signal, reason, leave } = leaver();
    const work = heldWork();
    const leader = thrownBy(hapax.run({ ...call, signal }, work.fn));
    await work.started();
    const joined = [hapax.run(call, work.fn), hapax.run(call, work.fn)];
    leave();
    work.fail(reason);
    expect(await leader).toBe(reason);

    await work.started(2);
    work.finish("by a joiner");
    const outcomes = await Promise.all(joined);
    expect(outcomes.map(({ value }) => value)).toEqual(["by a joiner", "by a joiner"]);
    expect(outcomes.filter(({ replayed }) => !replayed)).toHaveLength(1);
    expect(await hapax.get(call)).toMatchObject({ runs: 2, seen: 3 });
  });

  it("a joiner who leaves while the leader's own abort is being recorded still counts as seen", async () => {
    const { hapax, faults, clock } = onSlowStore();
    const leading = leaver();
    const joining = leaver();
    const work = heldWork();
    const leader = thrownBy(hapax.run({ ...call, signal: leading.signal }, work.fn));
    await work.started();
    const joiner = thrownBy(hapax.run({ ...call, signal: joining.signal }, work.fn));
    await clock.settle();
    const reply = deferred<void>();
    faults.settle = lateReply(reply.promise);
    leading.leave();
    work.fail(leading.reason);
    await clock.settle();
    joining.leave();
    reply.resolve();
    await Promise.all([leader, joiner]);
    expect((await hapax.get(call))?.seen).toBe(2);
  });

  it("leaves no listener on its signal behind", async () => {
    const { hapax } = onMemory();
    const { signal, leave } = leaver();
    const contexts: AbortSignal[] = [];
    await hapax.run({ ...call, signal }, (ctx) => contexts.push(ctx.signal));
    leave();
    expect(contexts[0]?.aborted).toBe(false);
  });
});
