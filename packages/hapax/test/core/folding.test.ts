import { describe, expect, it } from "vitest";
import { BATCH_BYTES_MAX } from "../../src/core/limits.js";
import type { Call, Settlement } from "../../src/index.js";
import { memoryStore } from "../../src/stores/memory/index.js";
import { manualClock } from "../../src/testing/manual-clock.js";
import { deferred, heldWork, refusal } from "./held-work.js";
import { onMemory } from "./make-hapax.js";
import { firstTimes, lateReply, withFaults } from "./store-with-faults.js";

const call = { scope: "hooks", key: "h-1" };

function setUp() {
  const clock = manualClock();
  const faulty = withFaults(memoryStore({ clock }));
  return { ...onMemory({ clock, store: faulty.store }), ...faulty };
}

/** Keeps the store busy with a stranger, so that what comes now gathers. */
async function gathering() {
  const setup = setUp();
  const reply = deferred<void>();
  setup.faults.claim = firstTimes(1, lateReply(reply.promise));
  const stranger = setup.hapax.run({ scope: "hooks", key: "stranger" }, () => "stranger");
  await setup.clock.settle();
  return {
    ...setup,
    async letGo() {
      reply.resolve();
      await stranger;
    },
  };
}

describe("claims that gather", () => {
  it("fold into one item if they are equal, and count as many as they are", async () => {
    const { hapax, batches, letGo } = await gathering();
    const all = Array.from({ length: 5 }, () => hapax.run(call, () => "once"));
    await letGo();
    expect((await Promise.all(all)).filter(({ replayed }) => !replayed)).toHaveLength(1);
    expect(batches.claim[1]).toMatchObject([{ ...call, arrivals: 5 }]);
    expect((await hapax.get(call))?.seen).toBe(5);
  });

  it.each<[string, Partial<Call>]>([
    ["another fingerprint", { payload: 2 }],
    ["another lease", { lease: "1m" }],
    ["another retention", { retention: "1h" }],
    ["another policy", { onAbandoned: "hold" }],
    ["another number of attempts", { maxAttempts: 9 }],
    ["metadata", { metadata: { of: "another" } }],
  ])("stay apart with %s", async (_what, other) => {
    const { hapax, batches, letGo } = await gathering();
    const base = { ...call, payload: 1 };
    const all = Promise.allSettled([hapax.run(base, () => "a"), hapax.run({ ...base, ...other }, () => "b")]);
    await letGo();
    await all;
    expect(batches.claim[1]?.map(({ arrivals }) => arrivals)).toEqual([1, 1]);
  });

  it("fold although they wait, time out or listen differently: the store decides nothing by that", async () => {
    const { hapax, batches, letGo } = await gathering();
    const work = heldWork();
    const all = [
      hapax.run({ ...call, timeout: "1m" }, work.fn),
      hapax.run({ ...call, wait: "1m", signal: new AbortController().signal }, work.fn),
    ];
    const rejected = refusal(hapax.run({ ...call, onBusy: "reject" }, work.fn));
    await letGo();
    await work.started();
    work.finish("once");
    await Promise.all(all);
    expect((await rejected).code).toBe("in-progress");
    expect(batches.claim[1]).toMatchObject([{ arrivals: 3 }]);
    expect(await hapax.get(call)).toMatchObject({ runs: 1, seen: 3 });
  });

  it("do not fold into an item that was sent already", async () => {
    const { hapax, batches, faults, clock } = setUp();
    const reply = deferred<void>();
    faults.claim = firstTimes(1, lateReply(reply.promise));
    const first = hapax.run(call, () => "once");
    await clock.settle();
    const second = hapax.run(call, () => "twice");
    reply.resolve();
    expect(await first).toMatchObject({ replayed: false });
    expect(await second).toMatchObject({ value: "once", replayed: true });
    expect(
      batches.claim
        .flat()
        .map(({ arrivals }) => arrivals)
        .slice(0, 2),
    ).toEqual([1, 1]);
    expect((await hapax.get(call))?.seen).toBe(2);
  });

  it("each have a claimId of their own, and none is used twice", async () => {
    const { hapax, batches } = setUp();
    for (let index = 0; index < 3; index += 1) await hapax.run({ ...call, key: `h-${index}` }, () => index);
    const other = setUp();
    await other.hapax.run(call, () => "x");
    const claimIds = [...batches.claim.flat(), ...other.batches.claim.flat()].map(({ claimId }) => claimId);
    expect(new Set(claimIds).size).toBe(4);
  });
});

describe("settlements that gather", () => {
  const bytesOf = (settlement: Settlement) =>
    "metadata" in settlement
      ? (settlement.metadata?.byteLength ?? 0) +
        (settlement.kind === "complete" ? (settlement.result?.byteLength ?? 0) : 0)
      : 0;

  it.each<[string, (size: string) => [result: unknown, metadata: unknown]]>([
    ["results", (size) => [size, undefined]],
    ["metadata", (size) => [undefined, size]],
  ])("leave in batches of 4 MiB at most: %s", async (_what, make) => {
    const { hapax, batches } = setUp();
    const [result, metadata] = make("x".repeat(60_000));
    const gate = deferred<void>();
    const runs = Array.from({ length: 200 }, (_, index) =>
      hapax.run({ ...call, key: `h-${index}` }, async (ctx) => {
        if (metadata !== undefined) ctx.setMetadata(metadata);
        await gate.promise;
        return result;
      }),
    );
    await new Promise(setImmediate);
    gate.resolve();
    await Promise.all(runs);
    const sizes = batches.settle.map((batch) => batch.reduce((sum, item) => sum + bytesOf(item), 0));
    expect(Math.max(...sizes)).toBeLessThanOrEqual(BATCH_BYTES_MAX);
  });
});
