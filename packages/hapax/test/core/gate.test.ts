import { describe, expect, it } from "vitest";
import { createHapax } from "../../src/index.js";
import { sqliteStore } from "../../src/stores/sqlite/index.js";
import { heldWork, refusal } from "./held-work.js";
import { another, EACH_STORE, openDatabase, temporaryFile } from "./make-hapax.js";

const HOUR_MS = 3_600_000;
const call = { scope: "orders", key: "order-1" };

describe.each(EACH_STORE)("the gate on %s", (_name, make) => {
  it("G2 a key that is running is not claimed again", async () => {
    const { hapax, ...setup } = await make();
    const work = heldWork();
    const first = hapax.run(call, work.fn);
    await work.started();

    const elsewhere = another({ hapax, ...setup }).hapax;
    expect((await refusal(elsewhere.run({ ...call, onBusy: "reject" }, work.fn))).code).toBe("in-progress");

    work.finish("done");
    await first;
    expect(work.runs).toBe(1);
  });

  it("G2 a key that is done is not claimed again", async () => {
    const { hapax } = await make();
    await hapax.run(call, () => "first");
    expect(await hapax.run(call, () => "second")).toMatchObject({ value: "first", replayed: true });
  });

  it("G2 G6 a key that failed is claimed by the next delivery, and the failure is not served", async () => {
    const { hapax } = await make();
    await expect(hapax.run(call, () => Promise.reject(new Error("card network down")))).rejects.toThrow("card network");
    expect(await hapax.run(call, () => "charged")).toMatchObject({ value: "charged", replayed: false, attempt: 2 });
  });

  it("G2 a key whose lease has expired is claimed by the next delivery, and not a moment before", async () => {
    const setup = await make();
    const dead = another(setup, { heartbeat: false, lease: "30s" });
    const never = heldWork();
    void dead.hapax.run(call, never.fn);
    await never.started();
    const next = another(setup, { onBusy: "reject" }).hapax;

    await setup.clock.advance(29_999);
    expect((await refusal(next.run(call, () => "early"))).code).toBe("in-progress");
    await setup.clock.advance(1);
    expect(await next.run(call, () => "taken over")).toMatchObject({ value: "taken over", attempt: 2 });
  });

  it("G3 five concurrent deliveries in one process run once, and all are answered with the value", async () => {
    const { hapax, clock } = await make();
    let runs = 0;
    const deliver = () => hapax.run(call, async () => ({ run: ++runs }));

    const deliveries = Promise.all([deliver(), deliver(), deliver(), deliver(), deliver()]);
    await clock.advance(1_000);
    const outcomes = await deliveries;

    expect(runs).toBe(1);
    expect(outcomes.map(({ value }) => value)).toEqual(Array(5).fill({ run: 1 }));
    expect(outcomes.filter(({ replayed }) => !replayed)).toHaveLength(1);
    expect(await hapax.get(call)).toMatchObject({ status: "done", runs: 1, seen: 5 });
  });

  it("G3 five concurrent deliveries in five processes run once; the losers are told that it is in progress", async () => {
    const setup = await make();
    const work = heldWork();
    const deliveries = Array.from({ length: 5 }, () => another(setup, { onBusy: "reject" }).hapax.run(call, work.fn));
    const answers = Promise.allSettled(deliveries);
    await work.started();
    work.finish("once");

    const rejected = (await answers).filter((answer) => answer.status === "rejected");
    expect(work.runs).toBe(1);
    expect(rejected.map(({ reason }) => reason.code)).toEqual(Array(4).fill("in-progress"));
    expect(await setup.hapax.get(call)).toMatchObject({ runs: 1, seen: 5 });
  });

  it("G3 deliveries that come after the end are told that it was processed already", async () => {
    const setup = await make();
    const { token } = await setup.hapax.run(call, () => "once");
    const late = await another(setup).hapax.run(call, () => "twice");
    expect(late).toEqual({ value: "once", replayed: true, attempt: 1, key: "order-1", token, stored: true });
  });

  it("G4 the life cycle is none, running, failed, running, done", async () => {
    const { hapax } = await make();
    const status = async () => (await hapax.get(call))?.status ?? "none";
    const seen = [await status()];
    const failing = async () => {
      seen.push(await status());
      throw new Error("not this time");
    };
    await expect(hapax.run(call, failing)).rejects.toThrow();
    seen.push(await status());
    await hapax.run(call, async () => seen.push(await status()));
    seen.push(await status());
    expect(seen).toEqual(["none", "running", "failed", "running", "done"]);
  });

  it("G4 a takeover goes from running to running, with a newer token and a new owner", async () => {
    const setup = await make();
    const dead = another(setup, { heartbeat: false, lease: "30s", owner: "dead" });
    const work = heldWork();
    void dead.hapax.run(call, work.fn);
    await work.started();
    const before = await setup.hapax.get(call);
    await setup.clock.advance(30_000);

    void another(setup, { owner: "alive" }).hapax.run(call, work.fn);
    await work.started(2);

    const after = await setup.hapax.get(call);
    expect(before).toMatchObject({ status: "running", owner: "dead" });
    expect(after).toMatchObject({ status: "running", owner: "alive", runs: 2 });
    expect(Number(after?.token)).toBeGreaterThan(Number(before?.token));
  });

  it("G7 a settled record is kept for 24 h from its settlement, however long it ran", async () => {
    const { hapax, clock } = await make();
    const work = heldWork();
    const first = hapax.run(call, work.fn);
    await work.started();
    await clock.advance(2 * HOUR_MS);
    work.finish("slow");
    await first;

    await clock.advance(24 * HOUR_MS - 1);
    expect(await hapax.run(call, () => "again")).toMatchObject({ value: "slow", replayed: true });
    await clock.advance(1);
    expect(await hapax.run(call, () => "anew")).toMatchObject({ value: "anew", replayed: false, attempt: 1 });
    expect(await hapax.get(call)).toMatchObject({ runs: 1, seen: 1 });
  });

  it("G7 a record past its retention counts as absent, although nothing has deleted it", async () => {
    const { hapax, clock } = await make();
    await hapax.run({ ...call, retention: "1h", payload: "first" }, () => "old");
    await clock.advance(HOUR_MS);

    expect(await hapax.get(call)).toBeUndefined();
    expect((await hapax.list()).records).toEqual([]);
    expect(await hapax.forget(call)).toEqual({ forgotten: 0, live: 0 });
    expect(await hapax.run({ ...call, payload: "another" }, () => "new")).toMatchObject({ value: "new", attempt: 1 });
  });

  it("G7 running work never expires by its retention", async () => {
    const setup = await make();
    const work = heldWork();
    const first = setup.hapax.run({ ...call, retention: "1m" }, work.fn);
    await work.started();
    await setup.clock.advance(HOUR_MS);
    await setup.hapax.purge();

    const duplicate = another(setup, { onBusy: "reject" }).hapax.run(call, work.fn);
    expect((await refusal(duplicate)).code).toBe("in-progress");
    work.finish("kept");
    expect(await first).toMatchObject({ value: "kept", stored: true });
  });

  it("G7 a final failure ends with its retention too", async () => {
    const { hapax, clock } = await make();
    const doomed = () => Promise.reject(new Error("no"));
    await expect(hapax.run({ ...call, maxAttempts: 1 }, doomed)).rejects.toThrow("no");
    expect((await refusal(hapax.run(call, () => "again"))).code).toBe("failed");
    await clock.advance(24 * HOUR_MS);
    expect(await hapax.run(call, () => "again")).toMatchObject({ value: "again", attempt: 1 });
  });

  it("the same key with another payload is refused in every state, and leaves the record as it was", async () => {
    const setup = await make();
    const { hapax } = setup;
    const first = { ...call, payload: { cents: 100 } };
    const other = { ...call, payload: { cents: 999 } };
    const expectRefused = async () => {
      const before = await hapax.get(call);
      for (const each of [hapax, another(setup).hapax]) {
        expect((await refusal(each.run(other, () => "wrong"))).code).toBe("key-reused");
      }
      expect(await hapax.get(call)).toEqual(before);
    };

    await expect(hapax.run(first, () => Promise.reject(new Error("down")))).rejects.toThrow();
    await expectRefused();
    await hapax.run(first, expectRefused);
    await expectRefused();
  });
});

describe("the gate in SQL", () => {
  it("G1 a new key is one insert on the unique (scope, key), with no record read before it", async () => {
    const statements: string[] = [];
    const db = openDatabase(temporaryFile(), { verbose: (sql) => void statements.push(String(sql)) });
    const hapax = createHapax({ store: sqliteStore(db), upkeep: false });
    await hapax.migrate();
    statements.length = 0;

    const work = heldWork();
    const running = hapax.run(call, work.fn);
    await work.started();

    const claim = statements.slice(statements.indexOf("begin immediate"), statements.indexOf("commit"));
    expect(claim.filter((sql) => /^insert into hapax_record .* on conflict \(scope, key\)/s.test(sql))).toHaveLength(1);
    expect(claim.filter((sql) => /^(select|update).*hapax_record/s.test(sql))).toEqual([]);
    work.finish("done");
    await running;
  });
});
