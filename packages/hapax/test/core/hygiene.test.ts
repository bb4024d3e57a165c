import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { HapaxError, permanent } from "../../src/index.js";
import { memoryStore } from "../../src/stores/memory/index.js";
import { manualClock } from "../../src/testing/manual-clock.js";
import { heldWork, thrownBy } from "./held-work.js";
import { another, onMemory, type SetupOptions } from "./make-hapax.js";
import { refused, withFaults } from "./store-with-faults.js";

const KEY = "customer-4711-very-long-and-telling-key";
const SHOWN = KEY.slice(0, 16);
const SECRET = "4242-4242-4242-4242";
const call = { scope: "payments", key: KEY, payload: { card: SECRET } };

function setUp(options: SetupOptions = {}) {
  const clock = manualClock();
  const faulty = withFaults(memoryStore({ clock }));
  return { ...onMemory({ clock, store: faulty.store, ...options }), ...faulty };
}

/** An error as a log would print it: with its stack, its fields and its causes. */
function expectClean(told: unknown): void {
  const text = inspect(told, { depth: 20 });
  expect(text).not.toContain(KEY);
  expect(text).not.toContain(KEY.slice(0, 17));
  expect(text).not.toContain(SECRET);
}

describe("neither errors nor log lines show a payload, or more than 16 characters of a key", () => {
  const ways: Record<string, () => Promise<unknown>> = {
    "in-progress": async () => {
      const { hapax } = setUp();
      const work = heldWork();
      void hapax.run(call, work.fn);
      await work.started();
      return thrownBy(hapax.run({ ...call, onBusy: "reject" }, work.fn));
    },
    "key-reused": async () => {
      const { hapax } = setUp();
      await hapax.run(call, () => SECRET);
      return thrownBy(hapax.run({ ...call, payload: { card: `${SECRET}-other` } }, () => "no"));
    },
    "claim-lost": async () => {
      const { hapax } = setUp();
      return thrownBy(
        hapax.run(call, async () => {
          await hapax.forget({ scope: "payments", key: KEY }, { force: true });
          return SECRET;
        }),
      );
    },
    "outcome-unknown": async () => {
      const setup = setUp({ heartbeat: false, onAbandoned: "hold" });
      const work = heldWork();
      void setup.hapax.run(call, work.fn);
      await work.started();
      setup.clock.stall(60_000);
      return thrownBy(another(setup).hapax.run(call, work.fn));
    },
    failed: async () => {
      const { hapax } = setUp();
      await thrownBy(
        hapax.run(call, () => Promise.reject(permanent(Object.assign(new Error("declined"), { SECRET })))),
      );
      return thrownBy(hapax.run(call, () => "no"));
    },
    "result-omitted": async () => {
      const { hapax } = setUp({ resultBytesMax: 5 });
      await thrownBy(hapax.run(call, () => SECRET));
      return thrownBy(hapax.run(call, () => "no"));
    },
    "payload-too-large": () => thrownBy(setUp({ resultBytesMax: 5 }).hapax.run(call, () => SECRET)),
    unserializable: () => thrownBy(setUp().hapax.run(call, () => ({ [SHOWN]: [SECRET, () => SECRET] }))),
    timeout: async () => {
      const { hapax, clock } = setUp();
      const error = thrownBy(hapax.run({ ...call, timeout: "1s" }, heldWork().fn));
      await clock.advance(1_000);
      return error;
    },
    "store-unavailable": async () => {
      const { hapax, clock, all } = setUp();
      all(refused);
      const error = thrownBy(hapax.run(call, () => "no"));
      await clock.advance(5_000);
      return error;
    },
    "invalid-key": () => thrownBy(setUp().hapax.run({ ...call, key: KEY.repeat(20) }, () => "no")),
    // A wrong value is shown, but no more of it than a typing error needs.
    "invalid-option": () =>
      thrownBy(setUp().hapax.run({ ...call, onBusy: `${"{".repeat(50)}${SECRET}` as "wait" }, () => "no")),
  };

  it.each(Object.entries(ways))("%s", async (code, way) => {
    const error = await way();
    expect(error).toMatchObject({ code });
    expectClean(error);
    if (error instanceof HapaxError && error.key !== undefined) expect(error.key).toBe(SHOWN);
  });

  it("a closed hapax names what it left", async () => {
    const { hapax, clock } = setUp();
    const work = heldWork();
    void hapax.run(call, work.fn).catch(() => {});
    await work.started();
    const { signal } = work.ctx;
    const closed = hapax.close({ timeout: "1s" });
    await clock.advance(1_000);
    await closed;
    expect(signal.reason).toMatchObject({ code: "closed", message: expect.stringContaining(SHOWN) });
    expectClean(signal.reason);
  });

  it("log lines: a failed heartbeat, an unprotected run, a result that was not stored", async () => {
    const { hapax, clock, all, logs } = setUp({ onStoreDown: "open" });
    const work = heldWork();
    void hapax.run(call, work.fn);
    await work.started();
    all(refused);
    await clock.advance(10_000);
    work.finish(SECRET);
    await clock.advance(30_000);
    void hapax.run({ ...call, key: `${KEY}-2` }, () => SECRET);
    await clock.advance(5_000);

    const words = ["heartbeat_failed", "not-stored", "unprotected"];
    for (const word of words) expect(logs.some(({ message }) => message.startsWith(word))).toBe(true);
    expect(logs.every(({ fields }) => (fields as { key: string }).key === SHOWN)).toBe(true);
    expectClean(logs);
  });

  it("events carry the whole key, for metrics and lookups, and no payload or result", async () => {
    const { hapax, events } = setUp();
    await hapax.run(call, () => SECRET);
    await hapax.run(call, () => SECRET);
    expect(events.map(({ name }) => name)).toEqual(["claimed", "completed", "replayed"]);
    for (const { event } of events) expect(event).toMatchObject({ key: KEY });
    expect(inspect(events, { depth: 20 })).not.toContain(SECRET);
  });
});
