import { describe, expect, it } from "vitest";
import { createHapax } from "../../src/index.js";
import { memoryStore } from "../../src/stores/memory/index.js";
import { createTrial } from "../../src/testing/conformance/trial.js";
import { manualClock, storeConformance } from "../../src/testing/index.js";

describe("the memory store is a store", () => {
  const cases = storeConformance(() => {
    const clock = manualClock();
    return { store: memoryStore({ clock }), passTime: clock.advance };
  });
  for (const { group, rule, name, run } of cases) it(`${group}: ${name} (${rule})`, run);
});

function openTrial(recordsMax: number) {
  const clock = manualClock();
  const store = memoryStore({ recordsMax, clock });
  return { clock, store, trial: createTrial({ store, passTime: clock.advance }) };
}

describe("a memory store that is full", () => {
  it("refuses a new key, and still serves those it has", async () => {
    const { trial } = openTrial(2);
    const { token } = await trial.grant({ key: "one" });
    await trial.grant({ key: "two" });
    await expect(trial.claim({ key: "three" })).rejects.toMatchObject({ code: "store-unavailable" });
    expect((await trial.claim({ key: "one" })).kind).toBe("busy");
    expect((await trial.complete(token, { key: "one" })).kind).toBe("settled");
    expect((await trial.claim({ key: "one" })).kind).toBe("done");
    expect(await trial.read("three")).toBeUndefined();
  });

  it("evicts what is past its retention, and nothing else", async () => {
    const { clock, trial } = openTrial(3);
    const brief = await trial.grant({ key: "brief", retentionMs: 1_000 });
    const long = await trial.grant({ key: "long", retentionMs: 60_000 });
    await trial.grant({ key: "running", leaseMs: 1, retentionMs: 1 });
    await trial.complete(brief.token, { key: "brief" });
    await trial.complete(long.token, { key: "long" });
    await clock.advance(999);
    await expect(trial.claim({ key: "new 1" })).rejects.toMatchObject({ code: "store-unavailable" });
    await clock.advance(1);
    await trial.grant({ key: "new 1" });
    await expect(trial.claim({ key: "new 2" })).rejects.toMatchObject({ code: "store-unavailable" });
    expect((await trial.record("long")).status).toBe("done");
    expect((await trial.record("running")).status).toBe("running");
  });

  it("makes room by what was forgotten", async () => {
    const { store, trial } = openTrial(1);
    const { token } = await trial.grant({ key: "one" });
    await store.forget({ scope: trial.scope, key: "one", force: true });
    const next = await trial.grant({ key: "two" });
    expect(Number(next.token)).toBeGreaterThan(Number(token));
  });

  it("keeps its only record when that is claimed anew", async () => {
    const { clock, trial } = openTrial(1);
    const { token } = await trial.grant({ retentionMs: 1_000 });
    await trial.complete(token);
    await clock.advance(1_000);
    expect((await trial.grant()).runs).toBe(1);
  });

  it("serves the neighbours of a claim that it refuses, in one tick", async () => {
    const { store } = openTrial(2);
    const hapax = createHapax({ store, upkeep: false, storeTimeout: "50ms" });
    const run = (key: string) => hapax.run({ scope: "full", key }, () => key);
    await run("known");
    const outcomes = await Promise.allSettled([run("fits"), run("known"), run("one too many"), run("fits")]);
    const [fits, known, refused, again] = outcomes;
    expect(fits).toMatchObject({ status: "fulfilled", value: { value: "fits" } });
    expect(known).toMatchObject({ status: "fulfilled", value: { replayed: true } });
    expect(refused).toMatchObject({ status: "rejected", reason: { code: "store-unavailable" } });
    expect(again).toMatchObject({ status: "fulfilled", value: { value: "fits", replayed: true } });
    await hapax.close();
  });

  it("writes nothing of a batch that does not fit as a whole", async () => {
    const { store, trial } = openTrial(1);
    const batch = ["one", "two"].map((key) => trial.request({ key }));
    await expect(store.claim(batch)).rejects.toThrow(RangeError);
    expect((await trial.pages()).flat()).toEqual([]);
  });

  it.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])(
    "cannot be made with a recordsMax of %s",
    (recordsMax) => {
      expect(() => memoryStore({ recordsMax })).toThrow(expect.objectContaining({ code: "invalid-option" }));
    },
  );
});

describe("what a memory store keeps", () => {
  it("is purged whole, piece by piece", async () => {
    const { clock, trial } = openTrial(100);
    for (let index = 0; index < 10; index += 1) {
      const { token } = await trial.grant({ key: `key ${index}`, retentionMs: 1_000 });
      await trial.complete(token, { key: `key ${index}` });
    }
    await clock.advance(1_000);
    expect(await trial.store.purge(4)).toEqual({ purged: 4, uncertain: 0, more: true });
    expect(await trial.purgeAll(4)).toEqual({ purged: 6, uncertain: 0 });
    expect(await trial.store.purge(4)).toEqual({ purged: 0, uncertain: 0, more: false });
  });

  it("holds no one who has stopped watching", async () => {
    const { store, trial } = openTrial(1);
    const { token } = await trial.grant();
    let wakes = 0;
    const stop = store.watch?.({ scope: trial.scope, key: "key" }, () => {
      wakes += 1;
    });
    stop?.();
    await trial.complete(token);
    expect(wakes).toBe(0);
  });

  it("wakes whoever watches a claim that the upkeep finds abandoned", async () => {
    const { store, trial, clock } = openTrial(1);
    await trial.grant({ leaseMs: 1_000, onAbandoned: "hold" });
    let wakes = 0;
    store.watch?.({ scope: trial.scope, key: "key" }, () => {
      wakes += 1;
    });
    await clock.advance(1_000);
    await trial.purgeAll();
    expect(wakes).toBe(1);
  });
});
