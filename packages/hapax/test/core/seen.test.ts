import { describe, expect, it } from "vitest";
import { heldWork, refusal } from "./held-work.js";
import { another, EACH_STORE } from "./make-hapax.js";

const call = { scope: "payments", key: "p-1" };

describe.each(EACH_STORE)("how often a key was seen, on %s", (_name, make) => {
  it("counts duplicates that joined, were folded, were rejected and waited, each once", async () => {
    const setup = await make();
    const { hapax, clock } = setup;
    const elsewhere = another(setup).hapax;
    const work = heldWork();

    const folded = [hapax.run(call, work.fn), hapax.run(call, work.fn), hapax.run(call, work.fn)];
    await work.started();
    await clock.advance(100);
    const joined = [hapax.run(call, work.fn), hapax.run(call, work.fn)];
    const waiting = elsewhere.run(call, work.fn);
    await clock.advance(5_000);
    for (const each of [hapax, elsewhere]) {
      expect((await refusal(each.run({ ...call, onBusy: "reject" }, work.fn))).code).toBe("in-progress");
    }
    work.finish("paid");
    await clock.advance(1_000);
    await Promise.all([...folded, ...joined, waiting]);
    await hapax.run(call, work.fn);

    expect(work.runs).toBe(1);
    expect(await hapax.get(call)).toMatchObject({ runs: 1, seen: 3 + 2 + 1 + 2 + 1 });
  });

  it("counts a duplicate that joined and then gave up", async () => {
    const { hapax, clock } = await make();
    const work = heldWork();
    const first = hapax.run(call, work.fn);
    await work.started();
    const impatient = refusal(hapax.run({ ...call, wait: "1s" }, work.fn));
    await clock.advance(1_000);
    expect((await impatient).code).toBe("in-progress");
    work.finish("paid");
    await first;
    expect((await hapax.get(call))?.seen).toBe(2);
  });

  it("counts those who shared a failure, and those of the next attempt", async () => {
    const { hapax, clock } = await make();
    const work = heldWork();
    const calls = [hapax.run(call, work.fn)];
    await work.started();
    calls.push(hapax.run(call, work.fn));
    const ended = Promise.allSettled(calls);
    work.fail(new Error("no"));
    await ended;
    const again = hapax.run(call, work.fn);
    await work.started(2);
    work.finish("yes");
    await again;
    await clock.settle();
    expect(await hapax.get(call)).toMatchObject({ runs: 2, seen: 3 });
  });

  it("does not count a mismatch", async () => {
    const { hapax } = await make();
    await hapax.run({ ...call, payload: 1 }, () => "paid");
    await refusal(hapax.run({ ...call, payload: 2 }, () => "other"));
    expect((await hapax.get(call))?.seen).toBe(1);
  });

  it("is exact for a storm of a hundred", async () => {
    const setup = await make();
    const hapaxes = [setup.hapax, another(setup).hapax, another(setup).hapax, another(setup).hapax];
    let runs = 0;
    const storm = hapaxes.flatMap((hapax) => Array.from({ length: 25 }, () => hapax.run(call, async () => ++runs)));
    const all = Promise.all(storm);
    await setup.clock.advance(5_000);
    expect((await all).every(({ value }) => value === 1)).toBe(true);
    expect(await setup.hapax.get(call)).toMatchObject({ runs: 1, seen: 100 });
  });
});
