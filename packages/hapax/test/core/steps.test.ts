import { describe, expect, it } from "vitest";
import { deferred, heldWork, refusal, thrownBy } from "./held-work.js";
import { another, EACH_STORE, onMemory, type Setup } from "./make-hapax.js";
import { firstTimes, lostReply, refused, silent, withFaults } from "./store-with-faults.js";

const call = { scope: "orders", key: "o-1" };

describe.each(EACH_STORE)("a step on %s", (_name, make) => {
  it("that finished is not run again after a failure: the next attempt gets its result", async () => {
    const { hapax } = await make();
    const ran: string[] = [];
    const order = (fail: boolean) =>
      hapax.run(call, async (ctx) => {
        const charge = await ctx.step("charge", async () => {
          ran.push("charge");
          return { id: "ch_1", at: new Date(0) };
        });
        const parcel = await ctx.step("ship", () => {
          if (fail) throw new Error("no parcel");
          ran.push("ship");
          return charge.at;
        });
        return [charge, parcel];
      });
    await expect(order(true)).rejects.toThrow("no parcel");
    const out = await order(false);

    expect(ran).toEqual(["charge", "ship"]);
    expect(out).toMatchObject({ value: [{ id: "ch_1", at: new Date(0) }, new Date(0)], attempt: 2 });
  });

  it("that finished is not run again after a crash: who takes over gets its result", async () => {
    const setup = await make();
    const dead = another(setup, { heartbeat: false, lease: "10s" }).hapax;
    const stuck = deferred<never>();
    let charged = 0;
    const order = (hapax: Setup["hapax"], end: Promise<unknown>) =>
      hapax.run(call, async (ctx) => {
        const charge = await ctx.step("charge", () => ++charged);
        await end;
        return charge;
      });
    void order(dead, stuck.promise);
    await setup.clock.advance(10_000);
    expect(await order(setup.hapax, Promise.resolve())).toMatchObject({ value: 1, attempt: 2 });
    expect(charged).toBe(1);
  });

  it("does not outlive its record: after forget everything runs anew", async () => {
    const { hapax } = await make();
    let charged = 0;
    const order = (fail: boolean) =>
      hapax.run(call, async (ctx) => {
        await ctx.step("charge", () => ++charged);
        if (fail) throw new Error("later");
      });
    await expect(order(true)).rejects.toThrow("later");
    await hapax.forget(call);
    await order(false);
    expect(charged).toBe(2);
  });

  it("may return undefined, and keeps it", async () => {
    const { hapax } = await make();
    let ran = 0;
    const order = (fail: boolean) =>
      hapax.run(call, async (ctx) => {
        await ctx.step("mail", () => {
          ran += 1;
        });
        if (fail) throw new Error("later");
      });
    await expect(order(true)).rejects.toThrow("later");
    await order(false);
    expect(ran).toBe(1);
  });

  it("whose name was used already in this execution is refused, and not run", async () => {
    const { hapax } = await make();
    let ran = 0;
    const out = refusal(
      hapax.run(call, async (ctx) => {
        await ctx.step("charge", () => ++ran);
        await ctx.step("charge", () => ++ran);
      }),
    );
    expect(await out).toMatchObject({ code: "invalid-option", message: expect.stringMatching(/"charge".*number/) });
    expect(ran).toBe(1);
  });

  it("changes neither status nor lease", async () => {
    const setup = await make({ heartbeat: false });
    const work = heldWork();
    const out = setup.hapax.run(call, work.fn);
    await work.started();
    const before = await setup.hapax.get(call);
    await setup.clock.advance(20_000);
    await work.ctx.step("charge", () => "charged");
    expect(await setup.hapax.get(call)).toEqual(before);
    work.finish("x");
    await out;
  });
});

describe("a step", () => {
  it("throws its own error unchanged, and is not recorded", async () => {
    const { hapax } = onMemory();
    const error = new Error("declined");
    const failing = (ctx: { step: (name: string, fn: () => never) => Promise<never> }) =>
      ctx.step("charge", () => {
        throw error;
      });
    expect(await thrownBy(hapax.run(call, failing))).toBe(error);
    expect(await hapax.run(call, (ctx) => ctx.step("charge", () => "charged"))).toMatchObject({ value: "charged" });
  });

  it("may run beside another of the same execution", async () => {
    const { hapax } = onMemory();
    const out = await hapax.run(call, ({ step }) => Promise.all([step("a", () => 1), step("b", () => 2)]));
    expect(out.value).toEqual([1, 2]);
  });

  it("whose result is too large is refused with the way out, and its effect is never repeated", async () => {
    const { hapax } = onMemory({ resultBytesMax: 100 });
    let effects = 0;
    const large = () =>
      hapax.run(call, (ctx) =>
        ctx.step("report", () => {
          effects += 1;
          return "x".repeat(200);
        }),
      );
    const out = await refusal(large());
    expect(out).toMatchObject({ code: "payload-too-large", message: expect.stringMatching(/resultBytesMax/) });
    expect((await refusal(large())).code).toBe("result-omitted");
    expect(effects).toBe(1);
  });

  it("that threw may be tried again in the same execution", async () => {
    const { hapax } = onMemory();
    let tries = 0;
    const out = await hapax.run(call, async ({ step }) => {
      const flaky = () =>
        step("charge", () => {
          tries += 1;
          if (tries === 1) throw new Error("connection reset");
          return "charged";
        });
      return flaky().catch(flaky);
    });
    expect(out.value).toBe("charged");
  });

  it("whose result has no form is refused with its path", async () => {
    const { hapax } = onMemory();
    const out = await refusal(hapax.run(call, (ctx) => ctx.step("report", () => ({ render: () => "html" }))));
    expect(out).toMatchObject({ code: "unserializable", message: expect.stringContaining("render") });
  });

  it.each([
    ["an empty one", ""],
    ["one with NUL", "a\0b"],
    ["half a surrogate pair", "\ud800"],
    ["more than 512 bytes", "é".repeat(257)],
  ])("needs a proper name: not %s", async (_what, name) => {
    const { hapax } = onMemory();
    let ran = 0;
    const out = await refusal(hapax.run(call, (ctx) => ctx.step(name, () => ++ran)));
    expect(out.code).toBe("invalid-option");
    expect(out.message).toContain("step's name");
    expect(ran).toBe(0);
  });

  it("is one of a thousand at most", async () => {
    const { hapax } = onMemory();
    let ran = 0;
    const out = refusal(
      hapax.run(call, async (ctx) => {
        for (let index = 0; index < 1_001; index += 1) await ctx.step(`s-${index}`, () => ++ran);
      }),
    );
    expect(await out).toMatchObject({ code: "invalid-option", message: expect.stringMatching(/1000 steps.*Split/) });
    expect(ran).toBe(1_000);
  });

  it("is refused before it runs once the claim is no longer trusted", async () => {
    const { hapax, clock } = onMemory({ heartbeat: false });
    const work = heldWork();
    const out = hapax.run(call, work.fn);
    await work.started();
    await clock.advance(27_000);
    let ran = 0;
    expect((await refusal(work.ctx.step("charge", () => ++ran))).code).toBe("claim-lost");
    expect(ran).toBe(0);
    work.finish("x");
    await out;
  });

  it("F6 whose token was refused ends the claim's trust at once, before any heartbeat", async () => {
    const { hapax } = onMemory();
    const work = heldWork();
    const out = refusal(hapax.run(call, work.fn));
    await work.started();
    const { signal } = work.ctx;
    await hapax.forget(call, { force: true });
    expect((await refusal(work.ctx.step("charge", () => "charged"))).code).toBe("claim-lost");
    expect(signal.reason).toMatchObject({ code: "claim-lost" });
    expect(() => work.ctx.assertHeld()).toThrow(expect.objectContaining({ code: "claim-lost" }));
    work.finish("x");
    await out;
  });

  it("whose recording is not answered is tried again, and recorded once", async () => {
    const setup = onMemory();
    const { store, faults, batches } = withFaults(setup.store);
    const { hapax } = another(setup, { store });
    const work = heldWork();
    const out = hapax.run(call, work.fn);
    await work.started();
    faults.settle = firstTimes(1, lostReply);
    const step = work.ctx.step("charge", () => "charged");
    await setup.clock.advance(100);
    expect(await step).toBe("charged");
    expect(batches.settle).toHaveLength(2);
    work.finish("x");
    await out;
  });

  it.each([
    ["refused", refused],
    ["silent", silent],
  ])("whose recording fails for good ends with store-unavailable, saying that it ran (%s)", async (_name, fault) => {
    const setup = onMemory({ heartbeat: false });
    const { store, faults } = withFaults(setup.store);
    const { hapax } = another(setup, { store, heartbeat: false });
    const work = heldWork();
    const out = thrownBy(hapax.run(call, work.fn));
    await work.started();
    faults.settle = fault;
    const step = refusal(work.ctx.step("charge", () => "charged"));
    await setup.clock.advance(40_000);
    expect(await step).toMatchObject({ code: "store-unavailable", message: expect.stringContaining("ran") });
    work.fail(new Error("gave up"));
    await setup.clock.advance(10_000);
    await out;
  });
});

describe("ctx.keyFor", () => {
  async function keyOf(scope: string, key: string, name: string, hapax = onMemory().hapax): Promise<string> {
    return (await hapax.run({ scope, key, retention: 1 }, (ctx) => ctx.keyFor(name))).value;
  }

  it("is the same for every attempt and every process: 32 hex digits", async () => {
    const { hapax } = onMemory();
    const keys: string[] = [];
    await thrownBy(
      hapax.run(call, (ctx) => {
        keys.push(ctx.keyFor("charge"));
        throw new Error("again");
      }),
    );
    await hapax.run(call, (ctx) => keys.push(ctx.keyFor("charge")));
    keys.push(await keyOf("orders", "o-1", "charge"));
    expect(new Set(keys).size).toBe(1);
    expect(keys[0]).toMatch(/^[0-9a-f]{32}$/);
  });

  it("is different for another name, key or scope, wherever the text is cut", async () => {
    const keys = await Promise.all([
      keyOf("a", "b", "c"),
      keyOf("a", "b", "d"),
      keyOf("a", "d", "c"),
      keyOf("d", "b", "c"),
      keyOf("ab", "c", "c"),
      keyOf("a", "bc", "c"),
      keyOf("a", "b", "cc"),
    ]);
    expect(new Set(keys).size).toBe(keys.length);
  });

  it("refuses a name that could collide", async () => {
    expect((await refusal(keyOf("a", "b", "c\0d"))).code).toBe("invalid-option");
    expect((await refusal(keyOf("a", "b", ""))).code).toBe("invalid-option");
  });
});
