import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { memoryStore } from "../../src/stores/memory/index.js";
import { manualClock } from "../../src/testing/manual-clock.js";
import { heldWork, thrownBy, watched } from "./held-work.js";
import { onMemory } from "./make-hapax.js";
import { type Fault, silent, withFaults } from "./store-with-faults.js";

const call = { scope: "strange", key: "s-1" };

/** What a store of a stranger, or of another version, may answer to one item. */
const NONSENSE: readonly (readonly [string, unknown])[] = [
  ["nothing", undefined],
  ["null", null],
  ["text", "granted"],
  ["no answer to the item", []],
  ["two answers to one item", [{ kind: "lost" }, { kind: "lost" }]],
  ["an empty answer", [undefined]],
  ["an answer without a kind", [{}]],
  ["an answer of a kind that nobody knows", [{ kind: "postponed" }]],
];

function setUp() {
  const clock = manualClock();
  const faulty = withFaults(memoryStore({ clock }));
  return { ...onMemory({ clock, store: faulty.store }), ...faulty };
}

/** Takes a turn of the event loop, so that whoever asks for ever does not stop the test. */
const answering = (answer: unknown): Fault => {
  return async <T>() => {
    await new Promise(setImmediate);
    return answer as T;
  };
};

describe("a store that answers nonsense", () => {
  const unheard: unknown[] = [];
  const listen = (error: unknown) => unheard.push(error);
  let others: NodeJS.UnhandledRejectionListener[] = [];

  beforeEach(() => {
    unheard.length = 0;
    others = process.listeners("unhandledRejection");
    process.removeAllListeners("unhandledRejection");
    process.on("unhandledRejection", listen);
  });
  afterEach(() => {
    process.off("unhandledRejection", listen);
    for (const other of others) process.on("unhandledRejection", other);
    expect(unheard).toEqual([]);
  });

  it.each(NONSENSE)("to a claim ends the call with store-unavailable, and nothing runs: %s", async (_what, answer) => {
    const { hapax, clock, faults, batches } = setUp();
    faults.claim = answering(answer);
    const work = heldWork();
    const out = thrownBy(hapax.run(call, work.fn));
    const state = watched(out);
    for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
    const sentAtOnce = batches.claim.length;
    await clock.advance(10_000);
    faults.claim = silent;
    expect(sentAtOnce).toBe(1);
    expect(state.ended).toBe(true);
    expect(await out).toMatchObject({ code: "store-unavailable" });
    expect(work.runs).toBe(0);
  });

  it.each(NONSENSE)("to a settlement counts as no answer: P8 stored: false: %s", async (_what, answer) => {
    const { hapax, clock, faults } = setUp();
    faults.settle = answering(answer);
    const out = hapax.run(call, () => "done");
    const state = watched(out);
    await clock.advance(60_000);
    expect(state.ended).toBe(true);
    expect(await out).toMatchObject({ value: "done", stored: false });
  });

  it.each(NONSENSE)("to a heartbeat counts as a failed one: F5 the work goes on: %s", async (_what, answer) => {
    const { hapax, clock, faults, emitted } = setUp();
    faults.extend = answering(answer);
    const work = heldWork();
    const out = hapax.run(call, work.fn);
    await work.started();
    const { signal } = work.ctx;
    await clock.advance(15_000);
    expect(emitted("heartbeat_failed").length).toBeGreaterThan(0);
    expect(signal.aborted).toBe(false);
    delete faults.extend;
    await clock.advance(60_000);
    expect(signal.aborted).toBe(false);
    work.finish("survived");
    expect(await out).toMatchObject({ value: "survived", attempt: 1 });
  });
});
