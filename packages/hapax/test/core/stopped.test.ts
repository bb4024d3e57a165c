import { describe, expect, it } from "vitest";
import { heldWork, refusal, thrownBy } from "./held-work.js";
import { another, EACH_STORE, onMemory } from "./make-hapax.js";

const call = { scope: "transfers", key: "t-1", onAbandoned: "hold", lease: "10s", heartbeat: false } as const;
const named = { scope: call.scope, key: call.key };

/**
 * The effect has happened at the bank, and then the function is stopped from outside: its error says that it was
 * stopped, not that the effect did not happen.
 */
describe.each(EACH_STORE)(
  "under `hold`, a function that is stopped from outside is for a person to decide: %s",
  (_name, make) => {
    it("by the end of its trust", async () => {
      const setup = await make();
      const work = heldWork();
      const first = thrownBy(setup.hapax.run(call, work.fn));
      await work.started();
      const { signal } = work.ctx;
      await setup.clock.advance(9_500);
      expect(signal.aborted).toBe(true);
      work.fail(signal.reason as Error);
      expect(await first).toBe(signal.reason);
      await setup.clock.advance(1_000);
      expect((await refusal(another(setup).hapax.run(call, work.fn))).code).toBe("outcome-unknown");
      expect(work.runs).toBe(1);
    });

    it("by its timeout", async () => {
      const setup = await make();
      const work = heldWork();
      const first = refusal(setup.hapax.run({ ...call, timeout: "2s" }, work.fn));
      await work.started();
      const { signal } = work.ctx;
      await setup.clock.advance(2_000);
      expect((await first).code).toBe("timeout");
      work.fail(signal.reason as Error);
      await setup.clock.advance(10_000);
      expect((await setup.hapax.get(named))?.status).toBe("uncertain");
    });

    it("by its caller", async () => {
      const setup = await make();
      const work = heldWork();
      const caller = new AbortController();
      const first = thrownBy(setup.hapax.run({ ...call, signal: caller.signal }, work.fn));
      await work.started();
      const { signal } = work.ctx;
      caller.abort(new Error("the client left"));
      work.fail(signal.reason as Error);
      expect(await first).toMatchObject({ message: "the client left" });
      await setup.clock.advance(10_000);
      expect((await setup.hapax.get(named))?.status).toBe("uncertain");
    });

    it("by closing", async () => {
      const setup = await make();
      const work = heldWork();
      const first = thrownBy(setup.hapax.run(call, work.fn));
      await work.started();
      const { signal } = work.ctx;
      const closing = setup.hapax.close({ timeout: "1s" });
      await setup.clock.advance(1_000);
      await closing;
      work.fail(signal.reason as Error);
      expect(await first).toMatchObject({ code: "closed" });
      await setup.clock.advance(10_000);
      expect((await another(setup).hapax.get(named))?.status).toBe("uncertain");
    });

    it("and under `rerun` it failed, as before: the next delivery runs", async () => {
      const setup = await make();
      const work = heldWork();
      const caller = new AbortController();
      const first = thrownBy(setup.hapax.run({ ...call, onAbandoned: "rerun", signal: caller.signal }, work.fn));
      await work.started();
      caller.abort(new Error("the client left"));
      work.fail(caller.signal.reason as Error);
      await first;
      expect(await setup.hapax.run({ ...call, onAbandoned: "rerun" }, () => "again")).toMatchObject({ attempt: 2 });
    });
  },
);

describe("a grant that its process heard in time", () => {
  it("starts nothing once the loop was blocked past its trust: it is given back and asked for anew", async () => {
    const { hapax, clock, emitted } = onMemory();
    const started: [key: string, held: boolean][] = [];
    const work = (key: string) => async (ctx: { assertHeld(): void }) => {
      ctx.assertHeld();
      started.push([key, true]);
      // The first function of the batch computes for longer than the lease, and no timer can run.
      if (key === "a") clock.stall(60_000);
    };
    const keys = ["a", "b"];
    await Promise.all(keys.map((key) => hapax.run({ scope: "s", key, lease: "30s" }, work(key)).catch(() => {})));
    expect(started).toEqual([
      ["a", true],
      ["b", true],
    ]);
    expect(emitted("released")).toMatchObject([{ key: "b" }]);
  });
});
