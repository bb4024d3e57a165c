import { describe, expect, it, vi } from "vitest";
import { type Context, permanent, type Reconciled } from "../../src/index.js";
import { heldWork, refusal, thrownBy } from "./held-work.js";
import { another, EACH_STORE, onMemory, type Setup, type SetupOptions } from "./make-hapax.js";

const call = { scope: "transfers", key: "t-1" };

/** A record whose worker died: its lease is over. */
async function abandoned(setup: Setup, options: SetupOptions = {}): Promise<Context> {
  const work = heldWork();
  const dead = another(setup, { heartbeat: false, lease: "10s", ...options });
  void dead.hapax.run({ ...call, metadata: { file: "a.csv" } }, work.fn).catch(() => {});
  await work.started();
  await setup.clock.advance(10_000);
  return work.ctx;
}

describe.each(EACH_STORE)("abandoned work on %s", (_name, make) => {
  it("F4 is run again under `rerun`, the default", async () => {
    const setup = await make();
    await abandoned(setup);
    expect(await setup.hapax.run(call, () => "again")).toMatchObject({ value: "again", attempt: 2, replayed: false });
    expect(setup.emitted("takeover")).toMatchObject([{ ...call, attempt: 2 }]);
    expect(setup.events.map(({ name }) => name)).toEqual(["takeover", "claimed", "completed"]);
  });

  it.each([
    ["its own policy", { onAbandoned: "hold" }, {}],
    ["the arriving claim's policy", {}, { onAbandoned: "hold" }],
  ] as const)("is held by %s: uncertain, outcome-unknown, and nothing runs", async (_whose, theirs, arriving) => {
    const setup = await make();
    await abandoned(setup, theirs);
    const work = heldWork();
    const error = await refusal(setup.hapax.run({ ...call, ...arriving }, work.fn));
    expect(error).toMatchObject({ code: "outcome-unknown", retryable: false, ...call });
    expect(error.message).toMatch(/resolve|reconcile/);
    expect(work.runs).toBe(0);
    expect(await setup.hapax.get(call)).toMatchObject({ status: "uncertain", runs: 1, seen: 2 });
    expect(setup.emitted("uncertain")).toMatchObject([{ ...call, attempt: 1 }]);
    expect((await refusal(setup.hapax.run(call, work.fn))).code).toBe("outcome-unknown");
  });

  it("is shown as uncertain by get and list, and moved by purge, before anybody claims it", async () => {
    const setup = await make();
    await abandoned(setup, { onAbandoned: "hold" });
    expect((await setup.hapax.get(call))?.status).toBe("uncertain");
    expect((await setup.hapax.list({ status: "uncertain" })).records).toHaveLength(1);

    const other = await make();
    await abandoned(other, { onAbandoned: "hold" });
    expect(await other.hapax.purge()).toMatchObject({ uncertain: 1, purged: 0 });
  });

  it("that is uncertain never expires by retention", async () => {
    const setup = await make({ retention: "1h" });
    await abandoned(setup, { onAbandoned: "hold", retention: "1h" });
    await setup.hapax.purge();
    await setup.clock.advance(365 * 24 * 3_600_000);
    await setup.hapax.purge();
    expect((await setup.hapax.get(call))?.status).toBe("uncertain");
  });

  it("is settled by its own worker if that comes back before anybody decided", async () => {
    const setup = await make();
    const work = heldWork();
    const late = another(setup, { heartbeat: false, lease: "10s", onAbandoned: "hold" }).hapax.run(call, work.fn);
    await work.started();
    await setup.clock.advance(10_000);
    await refusal(setup.hapax.run(call, () => "no"));
    work.finish("it was done");
    expect(await late).toMatchObject({ stored: true });
    expect(await setup.hapax.run(call, () => "no")).toMatchObject({ value: "it was done", replayed: true });
  });

  it("resolved as done, is replayed with the value that was decided", async () => {
    const setup = await make();
    const { token } = await abandoned(setup, { onAbandoned: "hold" });
    await setup.hapax.resolve({ ...call, token }, { status: "done", value: { ref: 7 } });
    expect(await setup.hapax.run(call, () => "no")).toMatchObject({ value: { ref: 7 }, replayed: true, token });
    expect(setup.emitted("resolved")).toMatchObject([{ ...call, token, status: "done" }]);
  });

  it("resolved as failed, runs with the next delivery; resolved as final, does not", async () => {
    const setup = await make();
    const { token } = await abandoned(setup, { onAbandoned: "hold" });
    await setup.hapax.resolve({ ...call, token }, { status: "failed" });
    const work = heldWork();
    const again = thrownBy(setup.hapax.run(call, work.fn));
    await work.started();
    work.fail(new Error("bank closed"));
    await again;

    const target = { ...call, token: work.ctx.token, status: "failed" } as const;
    await setup.hapax.resolve(target, { status: "failed", error: new Error("written off"), final: true });
    const error = await refusal(setup.hapax.run(call, () => "no"));
    expect(error).toMatchObject({ code: "failed", cause: { message: "written off" } });
  });

  it("is not resolved when the token or the status is not what was seen", async () => {
    const setup = await make();
    const { token } = await abandoned(setup, { onAbandoned: "hold" });
    const decide = (target: { token: string; status?: "failed" }) =>
      refusal(setup.hapax.resolve({ ...call, ...target }, { status: "failed" }));
    expect((await decide({ token: "999" })).code).toBe("claim-lost");
    expect((await decide({ token, status: "failed" })).code).toBe("claim-lost");
    expect((await setup.hapax.get(call))?.status).toBe("uncertain");
    expect(setup.emitted("resolved")).toEqual([]);

    await setup.hapax.resolve({ ...call, token }, { status: "failed" });
    expect((await decide({ token })).message).toMatch(/changed since you saw it.*Look again/);
    await setup.hapax.forget(call);
    expect((await decide({ token })).message).toContain("no record");
  });

  it("F6 once resolved, refuses its worker's settlement", async () => {
    const setup = await make();
    const work = heldWork();
    const late = another(setup, { heartbeat: false, lease: "10s", onAbandoned: "hold" }).hapax.run(call, work.fn);
    await work.started();
    await setup.clock.advance(10_000);
    await setup.hapax.resolve({ ...call, token: work.ctx.token }, { status: "done", value: "decided" });
    work.finish("late");
    expect((await refusal(late)).code).toBe("claim-lost");
    expect((await setup.hapax.get(call))?.result).toBe("decided");
  });
});

describe("a reconcile function", () => {
  const reconciled = async (answer: () => Promise<Reconciled | undefined> | Reconciled | undefined) => {
    const setup = onMemory();
    const dead = await abandoned(setup, { onAbandoned: "hold" });
    const reconcile = vi.fn(answer);
    const work = heldWork();
    const out = setup.hapax.run({ ...call, reconcile }, work.fn);
    return { ...setup, dead, reconcile, work, out };
  };

  it("that answers done settles the record, and the call gets the value as a replay", async () => {
    const { out, reconcile, work, dead, emitted, hapax } = await reconciled(() => ({ status: "done", value: 12n }));
    expect(await out).toMatchObject({ value: 12n, replayed: true });
    expect(work.runs).toBe(0);
    expect(reconcile).toHaveBeenCalledExactlyOnceWith({
      ...call,
      token: dead.token,
      attempt: 1,
      metadata: { file: "a.csv" },
    });
    expect(emitted("resolved")).toMatchObject([{ status: "done" }]);
    expect(await hapax.get(call)).toMatchObject({ status: "done", seen: 2 });
  });

  it("that answers failed lets the call run", async () => {
    const { out, work } = await reconciled(async () => ({ status: "failed" }));
    await work.started();
    work.finish("run after all");
    expect(await out).toMatchObject({ value: "run after all", replayed: false, attempt: 2 });
  });

  it("that cannot tell leaves the record uncertain: outcome-unknown", async () => {
    const { out, work, hapax } = await reconciled(() => undefined);
    expect((await refusal(out)).code).toBe("outcome-unknown");
    expect(work.runs).toBe(0);
    expect((await hapax.get(call))?.status).toBe("uncertain");
  });

  it("that throws leaves the record uncertain, and its error is the call's", async () => {
    const error = new Error("bank API down");
    const { out, work, hapax } = await reconciled(() => Promise.reject(error));
    expect(await thrownBy(out)).toBe(error);
    expect(work.runs).toBe(0);
    expect((await hapax.get(call))?.status).toBe("uncertain");
  });

  it.each([{ status: "succeeded" }, {}, true, "failed", null])(
    "that answers %j runs nothing: only done and failed decide",
    async (junk) => {
      const { out, work, hapax, clock } = await reconciled(() => junk as unknown as Reconciled);
      const error = refusal(out);
      await clock.settle();
      expect(work.runs).toBe(0);
      expect((await hapax.get(call))?.status).toBe("uncertain");
      expect((await error).message).toMatch(/reconcile/);
    },
  );
});

describe.each(EACH_STORE)("a failure that is final, on %s", (_name, make) => {
  const failing = () => Promise.reject(new Error("card declined"));

  it("comes after maxAttempts runs", async () => {
    const { hapax, emitted } = await make({ maxAttempts: 3 });
    for (let run = 0; run < 3; run += 1) await expect(hapax.run(call, failing)).rejects.toThrow("card declined");
    expect(emitted("failed").map(({ final }) => final)).toEqual([false, false, true]);
    expect((await refusal(hapax.run(call, () => "no"))).code).toBe("failed");
    expect(await hapax.get(call)).toMatchObject({ status: "failed", final: true, runs: 3, seen: 4 });
  });

  it("comes at once from an error marked permanent, which propagates unchanged", async () => {
    const { hapax, emitted } = await make();
    const error = permanent(new RangeError("stolen card"));
    expect(await thrownBy(hapax.run(call, () => Promise.reject(error)))).toBe(error);
    expect(emitted("failed")).toMatchObject([{ final: true, error }]);
    expect((await refusal(hapax.run(call, () => "no"))).code).toBe("failed");
  });

  it("is replayed as the error: what went wrong, and the original as its cause", async () => {
    const { hapax } = await make();
    const error = Object.assign(new TypeError("stolen card"), { code: "E_STOLEN", pan: "4242 4242" });
    await thrownBy(hapax.run(call, () => Promise.reject(permanent(error))));
    const replayed = await refusal(hapax.run(call, () => "no"));
    expect(replayed).toMatchObject({ code: "failed", retryable: false, ...call });
    expect(replayed.message).toMatch(/stolen card.*resolve\(\) or forget\(\)/);
    expect(replayed.cause).toMatchObject({ name: "TypeError", message: "stolen card", code: "E_STOLEN" });
    expect(replayed.cause).not.toHaveProperty("pan");
  });

  it("runs again after forget", async () => {
    const { hapax } = await make({ maxAttempts: 1 });
    await thrownBy(hapax.run(call, failing));
    await hapax.forget(call);
    expect(await hapax.run(call, () => "second chance")).toMatchObject({ value: "second chance", attempt: 1 });
  });

  it("comes from a takeover that would exceed maxAttempts, and its worker can no longer settle", async () => {
    const setup = await make();
    const work = heldWork();
    const dead = another(setup, { heartbeat: false, lease: "10s", maxAttempts: 1 }).hapax.run(call, work.fn);
    await work.started();
    await setup.clock.advance(10_000);
    const error = await refusal(setup.hapax.run({ ...call, maxAttempts: 1 }, () => "no"));
    expect(error).toMatchObject({ code: "failed", message: expect.stringContaining("did not come back") });
    expect(await setup.hapax.get(call)).toMatchObject({ status: "failed", final: true, runs: 1 });
    work.finish("late");
    expect((await refusal(dead)).code).toBe("claim-lost");
  });

  it("comes from a delivery that allows fewer runs than there were, and is recorded as final", async () => {
    const { hapax } = await make();
    await thrownBy(hapax.run(call, failing));
    expect((await refusal(hapax.run({ ...call, maxAttempts: 1 }, () => "no"))).code).toBe("failed");
    expect(await hapax.get(call)).toMatchObject({ status: "failed", final: true, seen: 2 });
    expect((await refusal(hapax.run(call, () => "no"))).code).toBe("failed");
  });
});
