import { describe, expect, it } from "vitest";
import { EVENT_NAMES, type EventName } from "../../src/index.js";
import { memoryStore } from "../../src/stores/memory/index.js";
import { manualClock } from "../../src/testing/manual-clock.js";
import { deferred, heldWork, refusal, thrownBy } from "./held-work.js";
import { another, onMemory, type Setup, type SetupOptions } from "./make-hapax.js";
import { firstTimes, lateReply, refused, withFaults } from "./store-with-faults.js";

const call = { scope: "orders", key: "o-1" };
const claim = { ...call, token: expect.stringMatching(/^\d+$/), attempt: expect.any(Number) };

function setUp(options: SetupOptions = {}) {
  const clock = manualClock();
  const faulty = withFaults(memoryStore({ clock }));
  return { ...onMemory({ clock, store: faulty.store, ...options }), ...faulty };
}
type Faulty = ReturnType<typeof setUp>;

async function abandon(setup: Setup, options: SetupOptions = {}): Promise<string> {
  const work = heldWork();
  void another(setup, { heartbeat: false, lease: "10s", ...options }).hapax.run(call, work.fn);
  await work.started();
  await setup.clock.advance(10_000);
  return work.ctx.token;
}

/** A way to each event, and what it then carries. */
const ways: Readonly<Record<EventName, readonly [way: (setup: Faulty) => Promise<unknown>, carries: object]>> = {
  claimed: [({ hapax }) => hapax.run(call, () => 1), claim],
  completed: [({ hapax }) => hapax.run(call, () => 1), claim],
  takeover: [
    async (setup) => {
      await abandon(setup);
      await setup.hapax.run(call, () => 1);
    },
    { ...claim, attempt: 2 },
  ],
  replayed: [
    async ({ hapax }) => {
      await hapax.run(call, () => 1);
      await hapax.run(call, () => 2);
    },
    { ...claim, joined: false },
  ],
  busy: [
    async ({ hapax }) => {
      const work = heldWork();
      const out = hapax.run(call, work.fn);
      await work.started();
      await refusal(hapax.run({ ...call, onBusy: "reject" }, work.fn));
      work.finish("x");
      await out;
    },
    { ...call, waits: false },
  ],
  mismatch: [
    async ({ hapax }) => {
      await hapax.run({ ...call, payload: 1 }, () => 1);
      await refusal(hapax.run({ ...call, payload: 2 }, () => 1));
    },
    call,
  ],
  failed: [
    ({ hapax }) => thrownBy(hapax.run(call, () => Promise.reject(new Error("no")))),
    { ...claim, final: false, error: new Error("no") },
  ],
  released: [
    async ({ hapax, faults, clock }) => {
      const reply = deferred<void>();
      faults.claim = firstTimes(1, lateReply(reply.promise));
      const controller = new AbortController();
      const left = thrownBy(hapax.run({ ...call, signal: controller.signal }, () => 1));
      await clock.settle();
      controller.abort();
      await left;
      reply.resolve();
      await clock.settle();
    },
    { ...call, token: claim.token },
  ],
  lost: [
    async ({ hapax }) => {
      await refusal(hapax.run(call, () => hapax.forget(call, { force: true })));
    },
    { ...claim, code: "claim-lost" },
  ],
  heartbeat: [
    async ({ hapax, clock }) => {
      void hapax.run(call, heldWork().fn);
      await clock.advance(10_000);
    },
    claim,
  ],
  heartbeat_failed: [
    async ({ hapax, clock, faults }) => {
      faults.extend = firstTimes(1, refused);
      void hapax.run(call, heldWork().fn);
      await clock.advance(10_000);
    },
    { ...claim, error: expect.objectContaining({ code: "store-unavailable" }) },
  ],
  "not-stored": [
    async ({ hapax, clock, faults }) => {
      faults.settle = refused;
      void hapax.run(call, () => 1);
      await clock.advance(30_000);
    },
    { ...claim, error: expect.objectContaining({ code: "store-unavailable" }) },
  ],
  unprotected: [
    async ({ hapax, clock, all }) => {
      all(refused);
      void hapax.run({ ...call, onStoreDown: "open" }, () => 1);
      await clock.advance(5_000);
    },
    { ...call, error: expect.objectContaining({ code: "store-unavailable" }) },
  ],
  uncertain: [
    async (setup) => {
      await abandon(setup, { onAbandoned: "hold" });
      await refusal(setup.hapax.run(call, () => 1));
    },
    claim,
  ],
  resolved: [
    async (setup) => {
      const token = await abandon(setup, { onAbandoned: "hold" });
      await setup.hapax.resolve({ ...call, token }, { status: "failed" });
    },
    { ...call, token: claim.token, status: "failed" },
  ],
  timeout: [
    async ({ hapax, clock }) => {
      const out = refusal(hapax.run({ ...call, timeout: "1s" }, heldWork().fn));
      await clock.advance(1_000);
      await out;
    },
    claim,
  ],
};

describe("M1 every event is emitted by a real path", () => {
  it("and there is a way to each", () => {
    expect(Object.keys(ways).sort()).toEqual([...EVENT_NAMES].sort());
  });

  it.each(EVENT_NAMES)("%s, once, with what it carries", async (name) => {
    const setup = setUp();
    const [way, carries] = ways[name];
    await way(setup);
    expect(setup.emitted(name)).toEqual([carries]);
  });
});

describe("a listener", () => {
  it("that throws harms nobody: not the call, not the other listeners; the logger hears of it", async () => {
    const { hapax, logs, emitted } = onMemory();
    const error = new Error("listener");
    for (const name of EVENT_NAMES) {
      hapax.on(name, () => {
        throw error;
      });
    }
    const heard: string[] = [];
    hapax.on("completed", ({ key }) => heard.push(key));
    expect(await hapax.run(call, () => "fine")).toMatchObject({ value: "fine", stored: true });
    expect(heard).toEqual(["o-1"]);
    expect(emitted("claimed")).toHaveLength(1);
    expect(logs).toMatchObject([
      { level: "error", fields: { event: "claimed", error } },
      { level: "error", fields: { event: "completed", error } },
    ]);
  });

  it("that is asynchronous and rejects harms nobody either: an unheard rejection would end the process", async () => {
    const { hapax, logs } = onMemory();
    const error = new Error("metrics are down");
    const rejection = Promise.reject(error);
    rejection.catch(() => {});
    hapax.on("completed", () => rejection as unknown as undefined);
    await hapax.run(call, () => "fine");
    await new Promise(setImmediate);
    expect(logs).toMatchObject([{ level: "error", fields: { event: "completed", error } }]);
  });

  it("hears no more once it is stopped", async () => {
    const { hapax } = onMemory();
    let heard = 0;
    const stop = hapax.on("completed", () => heard++);
    await hapax.run(call, () => 1);
    stop();
    stop();
    await hapax.run({ ...call, key: "o-2" }, () => 1);
    expect(heard).toBe(1);
  });

  it("of an event that does not exist is refused, with those that do", () => {
    const { hapax } = onMemory();
    const attempt = () => hapax.on("complete" as "completed", () => {});
    expect(attempt).toThrow(expect.objectContaining({ code: "invalid-option" }));
    expect(attempt).toThrow(/"complete".*completed/);
  });

  it("that fails in the middle of a heartbeat does not lose the claim", async () => {
    const { hapax, clock } = onMemory();
    hapax.on("heartbeat", () => {
      throw new Error("listener");
    });
    const work = heldWork();
    const out = hapax.run(call, work.fn);
    await work.started();
    await clock.advance(120_000);
    work.finish("held");
    expect(await out).toMatchObject({ value: "held", stored: true, attempt: 1 });
  });
});

describe("a logger that throws", () => {
  it("F5 does not crash the work", async () => {
    const clock = manualClock();
    const { store, faults } = withFaults(memoryStore({ clock }));
    const broken = () => {
      throw new Error("log disk full");
    };
    const { hapax } = onMemory({ clock, store, logger: { warn: broken, error: broken } });
    const unheard: unknown[] = [];
    const onUnheard = (error: unknown) => unheard.push(error);
    const before = process.listeners("unhandledRejection");
    process.removeAllListeners("unhandledRejection");
    process.on("unhandledRejection", onUnheard);
    try {
      faults.extend = firstTimes(1, refused);
      const work = heldWork();
      const out = hapax.run(call, work.fn);
      await work.started();
      await clock.advance(120_000);
      work.finish("survived");
      expect(await out).toMatchObject({ value: "survived", attempt: 1 });
      expect(unheard).toEqual([]);
    } finally {
      process.off("unhandledRejection", onUnheard);
      for (const listener of before) process.on("unhandledRejection", listener);
    }
  });
});
