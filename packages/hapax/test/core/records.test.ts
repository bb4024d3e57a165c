import { describe, expect, it } from "vitest";
import { contentKey, type Status } from "../../src/index.js";
import { heldWork, refusal, thrownBy } from "./held-work.js";
import { another, EACH_STORE, onMemory, type Setup } from "./make-hapax.js";
import { refused, withFaults } from "./store-with-faults.js";

const call = { scope: "files", key: "f-1" };
const DAY_MS = 24 * 3_600_000;

describe.each(EACH_STORE)("a record on %s", (_name, make) => {
  it("G5 holds everything that people ask about it", async () => {
    const { hapax, clock } = await make({ owner: "worker-7" });
    const startMs = clock.wallMs();
    const work = heldWork<{ pages: bigint }>();
    const metadata = { source: "/in/a.pdf", output: "/out/a.json" };
    const out = hapax.run({ ...call, payload: { size: 3 }, metadata }, work.fn);
    await work.started();
    const common = {
      ...call,
      owner: "worker-7",
      fingerprint: contentKey({ size: 3 }),
      token: work.ctx.token,
      firstSeenAt: new Date(startMs),
      runs: 1,
      error: undefined,
      metadata,
      final: false,
    };
    expect(await hapax.get(call)).toEqual({
      ...common,
      status: "running",
      leaseUntil: new Date(startMs + 30_000),
      lastSeenAt: new Date(startMs),
      finishedAt: undefined,
      expiresAt: undefined,
      seen: 1,
      result: undefined,
    });

    await clock.advance(15_000);
    work.finish({ pages: 2n });
    await out;
    await clock.advance(1_000);
    await hapax.run(call, work.fn);
    expect(await hapax.get(call)).toEqual({
      ...common,
      status: "done",
      leaseUntil: new Date(startMs + 10_000 + 30_000),
      lastSeenAt: new Date(startMs + 16_000),
      finishedAt: new Date(startMs + 15_000),
      expiresAt: new Date(startMs + 15_000 + DAY_MS),
      seen: 2,
      result: { pages: 2n },
    });
  });

  it("G5 of a failure holds its error, and nothing of its fields", async () => {
    const { hapax } = await make();
    const error = Object.assign(new RangeError("too long"), { code: "E_LONG", payload: { iban: "secret" } });
    await thrownBy(hapax.run(call, () => Promise.reject(error)));
    const record = await hapax.get(call);
    expect(record).toMatchObject({ status: "failed", final: false, runs: 1, seen: 1, result: undefined });
    expect(record?.error).toEqual({ name: "RangeError", message: "too long", code: "E_LONG" });
  });

  it("G5 keeps an error's message up to a limit, and describes what is no error", async () => {
    const { hapax } = await make();
    await thrownBy(hapax.run(call, () => Promise.reject(new Error(`${"x".repeat(5_000)}\ud800`))));
    expect((await hapax.get(call))?.error?.message).toBe("x".repeat(2_000));
    await thrownBy(hapax.run(call, () => Promise.reject("a secret string")));
    expect((await hapax.get(call))?.error).toEqual({ name: "Error", message: "a thrown string" });
  });

  it("P7 of a failure is written although the error's own fields cannot be read", async () => {
    const { hapax } = await make();
    const hostile = Object.defineProperty(new Error(), "message", {
      get() {
        throw new Error("no message for you");
      },
    });
    expect(await thrownBy(hapax.run(call, () => Promise.reject(hostile)))).toBe(hostile);
    expect((await hapax.get(call))?.status).toBe("failed");
  });

  it("keeps the metadata of ctx.setMetadata in place of the call's, whether it ends well or not", async () => {
    const { hapax } = await make();
    const end = (error?: Error) =>
      hapax.run({ ...call, metadata: "of the call" }, (ctx) => {
        ctx.setMetadata({ output: "/out" });
        ctx.setMetadata({ output: "/out", rows: error === undefined ? 2 : 1 });
        if (error !== undefined) throw error;
      });
    await thrownBy(end(new Error("no")));
    expect((await hapax.get(call))?.metadata).toEqual({ output: "/out", rows: 1 });
    await end();
    expect((await hapax.get(call))?.metadata).toEqual({ output: "/out", rows: 2 });
  });

  it("is found by key, by composite key and by payload; otherwise there is none", async () => {
    const { hapax } = await make();
    await hapax.run({ scope: "s", key: ["a", 1] }, () => "by parts");
    await hapax.run({ scope: "s", payload: { a: 1 } }, () => "by payload");
    expect((await hapax.get({ scope: "s", key: ["a", 1] }))?.result).toBe("by parts");
    expect((await hapax.get({ scope: "s", payload: { a: 1 } }))?.result).toBe("by payload");
    expect(await hapax.get({ scope: "s", key: "none" })).toBeUndefined();
  });
});

describe.each(EACH_STORE)("list on %s", (_name, make) => {
  async function filled(): Promise<Setup> {
    const setup = await make();
    for (let index = 0; index < 7; index += 1) await setup.hapax.run({ scope: "a", key: `k-${index}` }, () => index);
    await thrownBy(setup.hapax.run({ scope: "b", key: "failed" }, () => Promise.reject(new Error("no"))));
    return setup;
  }

  it("shows every record once, page by page", async () => {
    const { hapax } = await filled();
    const keys: string[] = [];
    let cursor: string | undefined;
    let pages = 0;
    do {
      const page = await hapax.list({ limit: 3, ...(cursor === undefined ? {} : { cursor }) });
      keys.push(...page.records.map(({ key }) => key));
      cursor = page.cursor;
      pages += 1;
    } while (cursor !== undefined);
    expect(pages).toBe(3);
    expect(keys.sort()).toEqual(["failed", ...Array.from({ length: 7 }, (_, index) => `k-${index}`)]);
  });

  it("filters by scope and by status", async () => {
    const { hapax } = await filled();
    const keysOf = async (options: { scope?: string; status?: Status }) =>
      (await hapax.list(options)).records.map(({ key }) => key);
    expect(await keysOf({ scope: "a" })).toHaveLength(7);
    expect(await keysOf({ scope: "b" })).toEqual(["failed"]);
    expect(await keysOf({ status: "failed" })).toEqual(["failed"]);
    expect(await keysOf({ scope: "a", status: "failed" })).toEqual([]);
  });

  it("names no cursor on the last page, also when it is just full", async () => {
    const { hapax } = await filled();
    expect(await hapax.list({ scope: "a", limit: 7 })).not.toHaveProperty("cursor");
  });
});

describe.each(EACH_STORE)("forget on %s", (_name, make) => {
  it("lets the operation run again, as if it had never been", async () => {
    const { hapax } = await make();
    const { token } = await hapax.run({ ...call, payload: 1 }, () => "first");
    expect(await hapax.forget(call)).toEqual({ forgotten: 1, live: 0 });
    expect(await hapax.get(call)).toBeUndefined();
    const again = await hapax.run({ ...call, payload: 2 }, () => "second");
    expect(again).toMatchObject({ value: "second", attempt: 1 });
    expect(Number(again.token)).toBeGreaterThan(Number(token));
  });

  it("leaves a live claim alone unless it is forced; then its worker is fenced and told", async () => {
    const { hapax, emitted } = await make();
    const work = heldWork();
    const out = refusal(hapax.run(call, work.fn));
    await work.started();
    expect(await hapax.forget(call)).toEqual({ forgotten: 0, live: 1 });
    expect((await hapax.get(call))?.status).toBe("running");
    expect(await hapax.forget(call, { force: true })).toEqual({ forgotten: 1, live: 0 });
    work.finish("too late");
    expect((await out).code).toBe("claim-lost");
    expect(emitted("lost")).toHaveLength(1);
    expect(await hapax.get(call)).toBeUndefined();
  });

  it("erases a whole scope, but for its live claims, and no other", async () => {
    const setup = await make();
    const { hapax } = setup;
    for (let index = 0; index < 5; index += 1) await hapax.run({ scope: "gone", key: `k-${index}` }, () => index);
    await hapax.run({ scope: "gone too", key: "k" }, () => "kept");
    const work = heldWork();
    const out = hapax.run({ scope: "gone", key: "live" }, work.fn);
    await work.started();
    expect(await hapax.forget({ scope: "gone" })).toEqual({ forgotten: 5, live: 1 });
    expect((await hapax.list()).records.map(({ key }) => key).sort()).toEqual(["k", "live"]);
    work.finish("kept");
    await out;
  });

  it("wakes who waits for the record: it claims anew", async () => {
    const setup = await make();
    const work = heldWork();
    const first = refusal(setup.hapax.run(call, work.fn));
    await work.started();
    const waiter = another(setup).hapax.run(call, () => "anew");
    await setup.clock.advance(100);
    await setup.hapax.forget(call, { force: true });
    await setup.clock.advance(2_000);
    expect(await waiter).toMatchObject({ value: "anew", attempt: 1 });
    work.finish("fenced");
    await first;
  });
});

describe("purge and upkeep", () => {
  it.each(EACH_STORE)("purge deletes what is past its retention, and says how much: %s", async (_name, make) => {
    const { hapax, clock } = await make({ retention: "1h" });
    for (let index = 0; index < 3; index += 1) await hapax.run({ scope: "s", key: `k-${index}` }, () => index);
    await hapax.run({ scope: "s", key: "kept", retention: "2h" }, () => "kept");
    await clock.advance(3_600_000);
    expect(await hapax.purge()).toEqual({ purged: 3, uncertain: 0, more: false });
    expect(await hapax.purge()).toEqual({ purged: 0, uncertain: 0, more: false });
    expect((await hapax.get({ scope: "s", key: "kept" }))?.result).toBe("kept");
  });

  it("the upkeep purges every minute by itself, and piece after piece while there is more", async () => {
    const setup = onMemory();
    const { store, faults } = withFaults(setup.store);
    const atMs: number[] = [];
    faults.purge = async <T>() => {
      atMs.push(setup.clock.monotonicMs());
      return { purged: 1, uncertain: 0, more: atMs.length === 1 } as T;
    };
    another(setup, { store, upkeep: "1m" });
    await setup.clock.advance(130_000);
    expect(atMs).toEqual([60_000, 60_020, 120_020]);
  });

  it("an upkeep that fails is logged, and tried again", async () => {
    const setup = onMemory();
    const { store, faults } = withFaults(setup.store);
    faults.purge = refused;
    const { logs } = another(setup, { store, upkeep: "1m" });
    await setup.clock.advance(120_000);
    expect(logs).toHaveLength(2);
    expect(logs[0]).toMatchObject({ level: "warn", message: expect.stringContaining("upkeep") });
  });
});
