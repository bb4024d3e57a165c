import { describe, expect, it } from "vitest";
import { heldWork, refusal, thrownBy } from "./held-work.js";
import { another, EACH_STORE } from "./make-hapax.js";
import { refused, withFaults } from "./store-with-faults.js";

const call = { scope: "files", key: "f-1" };

describe.each(EACH_STORE)("markDone on %s", (_name, make) => {
  it("records work that was done elsewhere: the next delivery is a replay", async () => {
    const { hapax } = await make();
    await hapax.markDone({ ...call, payload: 1 }, { migrated: true });
    expect(await hapax.run({ ...call, payload: 1 }, () => "no")).toMatchObject({
      value: { migrated: true },
      replayed: true,
    });
  });

  it("leaves a record that is done as it is, and ends a failed one", async () => {
    const { hapax } = await make();
    await hapax.run(call, () => "real");
    await hapax.markDone(call, "migrated");
    expect((await hapax.get(call))?.result).toBe("real");
    const failed = { ...call, key: "f-2" };
    await thrownBy(hapax.run(failed, () => Promise.reject(new Error("no"))));
    await hapax.markDone(failed, "by hand");
    expect(await hapax.get(failed)).toMatchObject({ status: "done", result: "by hand" });
  });

  it("does not wait for a running one, and refuses another payload", async () => {
    const setup = await make();
    const work = heldWork();
    const out = setup.hapax.run({ ...call, payload: 1 }, work.fn);
    await work.started();
    expect((await refusal(another(setup).hapax.markDone(call, "x"))).code).toBe("in-progress");
    expect((await refusal(another(setup).hapax.markDone({ ...call, payload: 2 }, "x"))).code).toBe("key-reused");
    work.finish("x");
    await out;
  });

  it("F7 never says that it recorded what it did not, not even where runs fail open", async () => {
    const setup = await make();
    const { store, all } = withFaults(setup.store);
    const { hapax } = another(setup, { store, onStoreDown: "open" });
    all(refused);
    const out = refusal(hapax.markDone(call, "x"));
    await setup.clock.advance(5_000);
    expect((await out).code).toBe("store-unavailable");
  });

  it("P8 never says that it recorded what it could not settle", async () => {
    const setup = await make();
    const { store, faults } = withFaults(setup.store);
    faults.settle = refused;
    const out = refusal(another(setup, { store }).hapax.markDone(call, "x"));
    await setup.clock.advance(60_000);
    expect((await out).code).toBe("store-unavailable");
  });
});
