import { describe, expect, it } from "vitest";
import { deferred, heldWork, refusal, thrownBy } from "./held-work.js";
import { another, EACH_STORE, type Setup } from "./make-hapax.js";
import { lateReply, withFaults } from "./store-with-faults.js";

const call = { scope: "documents", key: "d-1" };

/** A worker that stalled past its lease, and the one that took over and is running, or has ended. */
async function takenOver(setup: Setup, newer: "running" | "done" | "failed") {
  const stale = another(setup, { owner: "stale" });
  const work = heldWork();
  const out = stale.hapax.run(call, work.fn);
  const ended = thrownBy(out);
  await work.started();
  setup.clock.stall(30_000);

  const current = another(setup, { owner: "newer" });
  const newerWork = heldWork();
  const newerOut = current.hapax.run({ ...call, metadata: { by: "newer" } }, newerWork.fn).catch(() => undefined);
  await newerWork.started();
  if (newer === "done") newerWork.finish("newer");
  if (newer === "failed") newerWork.fail(new Error("newer failed"));
  if (newer !== "running") await newerOut;
  return { stale, work, out, ended, record: await setup.hapax.get(call), newerWork };
}

describe.each(EACH_STORE)("F6 a worker whose lease was taken over, on %s", (_name, make) => {
  it.each(["running", "done", "failed"] as const)("cannot complete; the newer record stays %s", async (newer) => {
    const setup = await make();
    const { work, out, record, stale } = await takenOver(setup, newer);
    work.finish("stale");
    expect(await refusal(out)).toMatchObject({ code: "claim-lost", retryable: true, status: 409 });
    expect(stale.emitted("lost")).toMatchObject([{ ...call, code: "claim-lost" }]);
    expect(await setup.hapax.get(call)).toEqual(record);
  });

  it.each(["running", "done", "failed"] as const)("cannot fail; the newer record stays %s", async (newer) => {
    const setup = await make();
    const { work, ended, record, stale } = await takenOver(setup, newer);
    const error = new Error("stale failure");
    work.fail(error);
    expect(await ended).toBe(error);
    expect(stale.emitted("failed")).toEqual([]);
    expect(stale.emitted("lost")).toMatchObject([{ ...call, code: "claim-lost" }]);
    expect(await setup.hapax.get(call)).toEqual(record);
  });

  it.each(["running", "done", "failed"] as const)("cannot extend; the newer record stays %s", async (newer) => {
    const setup = await make();
    const { work, record } = await takenOver(setup, newer);
    const lease = { ...call, token: work.ctx.token, leaseMs: 30_000 };
    expect(await setup.store.extend([lease])).toEqual([{ kind: "lost" }]);
    expect(await setup.hapax.get(call)).toEqual(record);
  });

  it("cannot record a step, and learns that it is lost", async () => {
    const setup = await make();
    const { work, record, ended } = await takenOver(setup, "running");
    const step = work.ctx.step("charge", () => "charged");
    expect((await refusal(step)).code).toBe("claim-lost");
    expect(() => work.ctx.assertHeld()).toThrow(expect.objectContaining({ code: "claim-lost" }));
    expect(await setup.hapax.get(call)).toEqual(record);
    work.fail(new Error("lost"));
    await ended;
  });

  it("is told at once when the newer claim is of its own process", async () => {
    const { hapax } = await make();
    const work = heldWork();
    const older = refusal(hapax.run(call, work.fn));
    await work.started();
    const { signal } = work.ctx;
    await hapax.forget(call, { force: true });
    // With a fingerprint of its own it does not join, and asks the store.
    const newer = await hapax.run({ ...call, payload: 1 }, () => "newer");
    expect(signal.reason).toMatchObject({ code: "claim-lost" });
    work.finish("older");
    expect((await older).code).toBe("claim-lost");
    expect(await hapax.get(call)).toMatchObject({ result: "newer", token: newer.token });
  });

  it("is told so by its signal, at its next heartbeat", async () => {
    const setup = await make();
    const { work } = await takenOver(setup, "running");
    const { signal } = work.ctx;
    await setup.clock.advance(0);
    expect(signal.aborted).toBe(true);
    expect(signal.reason).toMatchObject({ code: "claim-lost" });
  });
});

describe.each(EACH_STORE)("a heartbeat that crosses with the settlement, on %s", (_name, make) => {
  it("is answered lost after our own settle, and that is ignored", async () => {
    const setup = await make();
    const { store, faults } = withFaults(setup.store);
    const worker = another(setup, { store });
    const work = heldWork();
    const out = worker.hapax.run(call, work.fn);
    await work.started();
    const { signal } = work.ctx;

    const sent = deferred<void>();
    faults.extend = (pass) => sent.promise.then(pass);
    await setup.clock.advance(10_000);
    work.finish("done");
    expect(await out).toMatchObject({ value: "done", stored: true });
    sent.resolve();
    await setup.clock.settle();
    expect(worker.emitted("lost")).toEqual([]);
    expect(signal.aborted).toBe(false);
  });

  it("and fails, is not reported either: there is nothing left to extend", async () => {
    const setup = await make();
    const { store, faults } = withFaults(setup.store);
    const worker = another(setup, { store });
    const work = heldWork();
    const out = worker.hapax.run(call, work.fn);
    await work.started();
    const reply = deferred<void>();
    faults.extend = lateReply(reply.promise);
    await setup.clock.advance(10_000);
    work.finish("done");
    await out;
    reply.reject(new Error("reset"));
    await setup.clock.settle();
    expect(worker.emitted("heartbeat_failed")).toEqual([]);
    expect(worker.logs).toEqual([]);
  });
});
