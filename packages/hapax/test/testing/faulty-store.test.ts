import Database from "better-sqlite3";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createHapax, HapaxError, type Store } from "../../src/index.js";
import { memoryStore } from "../../src/stores/memory/index.js";
import { sqliteStore } from "../../src/stores/sqlite/index.js";
import { createTrial, type Trial } from "../../src/testing/conformance/trial.js";
import { type Fault, faultyStore, type ManualClock, manualClock, storeConformance } from "../../src/testing/index.js";

let clock: ManualClock;
let store: Store;

beforeEach(() => {
  clock = manualClock();
  store = memoryStore({ clock });
});

function withFaults(...faults: Fault[]) {
  const faulty = faultyStore(store, faults, { clock });
  return { faulty, trial: createTrial({ store: faulty, passTime: clock.advance }) };
}

async function isPending(promise: Promise<unknown>): Promise<boolean> {
  let pending = true;
  const done = () => {
    pending = false;
  };
  promise.then(done, done);
  await clock.settle();
  return pending;
}

describe("a faulty store without faults", () => {
  const cases = storeConformance(() => {
    const itsClock = manualClock();
    return { store: faultyStore(memoryStore({ clock: itsClock }), []), passTime: itsClock.advance };
  });
  it("is a store like the one behind it", async () => {
    for (const { name, run } of cases) await run().catch((cause) => Promise.reject(new Error(name, { cause })));
  });
});

describe("a fault", () => {
  it("at the request: the store never saw the call", async () => {
    const { trial } = withFaults({ on: "claim", at: "request", does: "error" });
    await expect(trial.claim()).rejects.toMatchObject({ code: "store-unavailable" });
    expect(await trial.read()).toBeUndefined();
    await trial.grant();
  });

  it("at the reply: the store has done its work", async () => {
    const { trial } = withFaults({ on: "settle", at: "reply", does: "error" });
    const { token } = await trial.grant();
    await expect(trial.complete(token)).rejects.toMatchObject({ code: "store-unavailable" });
    expect((await trial.record()).status).toBe("done");
    expect((await trial.complete(token)).kind).toBe("settled");
  });

  it("throws the error that was asked for", async () => {
    const error = new RangeError("a bad item");
    const { trial } = withFaults({ at: "request", does: "error", error });
    await expect(trial.claim()).rejects.toBe(error);
  });

  it("of delay at the request: the store sees the call late", async () => {
    const { trial } = withFaults({ on: "claim", at: "request", does: "delay", ms: 1_000 });
    const claiming = trial.claim();
    expect(await isPending(claiming)).toBe(true);
    expect(await trial.read()).toBeUndefined();
    await clock.advance(1_000);
    expect((await claiming).kind).toBe("granted");
    expect((await trial.record()).firstSeenAtMs).toBe(clock.wallMs());
  });

  it("of delay at the reply: the store has done its work, and is heard late", async () => {
    const { trial } = withFaults({ on: "claim", at: "reply", does: "delay", ms: 1_000 });
    const claiming = trial.claim();
    expect(await isPending(claiming)).toBe(true);
    expect((await trial.record()).status).toBe("running");
    await clock.advance(1_000);
    expect((await claiming).kind).toBe("granted");
  });

  it("of silence is never answered, with or without the store's work done", async () => {
    const { trial } = withFaults(
      { on: "claim", at: "request", does: "silence" },
      { on: "claim", at: "reply", does: "silence" },
    );
    const unheard = trial.claim({ key: "unheard" });
    const unanswered = trial.claim({ key: "unanswered" });
    await clock.advance(3_600_000);
    expect([await isPending(unheard), await isPending(unanswered)]).toEqual([true, true]);
    expect(await trial.read("unheard")).toBeUndefined();
    expect((await trial.record("unanswered")).status).toBe("running");
  });

  it("strikes the operations that it names, once unless told otherwise", async () => {
    const { trial, faulty } = withFaults({ on: ["extend", "settle"], at: "request", does: "error", times: 2 });
    const { token } = await trial.grant();
    await expect(trial.extend(token)).rejects.toBeInstanceOf(HapaxError);
    await expect(trial.step(token)).rejects.toBeInstanceOf(HapaxError);
    expect(faulty.planned).toBe(0);
    expect((await trial.complete(token)).kind).toBe("settled");
  });

  it("strikes every operation when it names none, for as long as it is planned", async () => {
    const { trial, faulty } = withFaults({ at: "request", does: "error", times: Number.POSITIVE_INFINITY });
    const everything = () => [
      faulty.migrate(),
      trial.claim(),
      trial.extend("1" as never),
      trial.complete("1" as never),
      trial.read(),
      trial.pages(),
      faulty.forget({ scope: "s", key: undefined, force: false }),
      trial.resolve("1" as never),
      faulty.purge(1),
    ];
    for (const outcome of await Promise.allSettled(everything())) expect(outcome.status).toBe("rejected");
    expect(faulty.planned).toBe(Number.POSITIVE_INFINITY);
    faulty.plan([]);
    expect(faulty.planned).toBe(0);
    for (const outcome of await Promise.allSettled(everything())) expect(outcome.status).toBe("fulfilled");
  });

  it("strikes the calls that its predicate picks, which knows what they ask and how many there were", async () => {
    const { trial } = withFaults(
      {
        at: "request",
        does: "error",
        when: (call) => call.operation === "settle" && call.input.some(({ kind }) => kind === "complete"),
      },
      { at: "reply", does: "error", when: ({ operation, count }) => operation === "claim" && count === 2 },
    );
    const { token } = await trial.grant();
    expect((await trial.step(token)).kind).toBe("settled");
    await expect(trial.complete(token)).rejects.toThrow("in settle");
    await expect(trial.claim()).rejects.toThrow("in claim");
    expect((await trial.record()).seen).toBe(2);
  });

  it("is consumed in the order of the plan, one a call", async () => {
    const { trial } = withFaults(
      { on: "claim", at: "request", does: "error", error: new Error("first") },
      { at: "request", does: "error", error: new Error("second"), times: 2 },
    );
    await expect(trial.claim()).rejects.toThrow("first");
    await expect(trial.claim()).rejects.toThrow("second");
    await expect(trial.read()).rejects.toThrow("second");
    await trial.grant();
  });

  it("does not keep its call from being counted", async () => {
    const { trial, faulty } = withFaults({ on: "claim", at: "request", does: "error" });
    await trial.claim().catch(() => {});
    await trial.claim();
    expect(faulty.calls).toMatchObject({ claim: 2, read: 0, transaction: 0 });
  });
});

describe("a faulty store of SQLite", () => {
  let db: Database.Database;
  let trial: Trial;
  beforeEach(() => {
    db = new Database(":memory:");
    db.exec("create table orders (id text)");
  });
  afterEach(() => db.close());

  async function transact(...faults: Fault[]) {
    const faulty = faultyStore(sqliteStore(db, { clock }), faults, { clock });
    await faulty.migrate();
    trial = createTrial({ store: faulty });
    const { token } = await trial.grant();
    const answer = faulty.transaction?.((tx) => {
      tx.exec("insert into orders values ('1')");
      return trial.completion(token);
    });
    return { answer, orders: () => db.prepare("select count(*) from orders").pluck().get() };
  }

  it("has its transactions", async () => {
    const { answer, orders } = await transact();
    expect(await answer).toEqual({ kind: "settled", final: false });
    expect(orders()).toBe(1);
  });

  it("can lose a commit before it happens", async () => {
    const { answer, orders } = await transact({ on: "transaction", at: "request", does: "error" });
    await expect(answer).rejects.toMatchObject({ code: "store-unavailable" });
    expect(orders()).toBe(0);
    expect((await trial.record()).status).toBe("running");
  });

  it("can lose the answer to a commit", async () => {
    const { answer, orders } = await transact({ on: "transaction", at: "reply", does: "error" });
    await expect(answer).rejects.toMatchObject({ code: "store-unavailable" });
    expect(orders()).toBe(1);
    expect((await trial.record()).status).toBe("done");
  });

  it("has no watch, as the store behind it has none; the one of memory has", () => {
    expect(faultyStore(sqliteStore(db), []).watch).toBeUndefined();
    expect(faultyStore(store, []).watch).toBeDefined();
    expect(faultyStore(store, []).transaction).toBeUndefined();
  });
});

describe("the example of its documentation", () => {
  it("does what it says", async () => {
    const faulty = faultyStore(memoryStore(), [
      { on: "claim", at: "request", does: "error" },
      { on: "settle", at: "reply", does: "error" },
      { on: "extend", at: "request", does: "silence", times: Number.POSITIVE_INFINITY },
    ]);
    const hapax = createHapax({ store: faulty, upkeep: false });
    const out = await hapax.run({ scope: "orders", key: "1" }, () => "paid");
    expect(out.stored).toBe(true);
    expect(faulty.calls.claim).toBe(2);
    expect(faulty.calls.settle).toBe(2);
    await hapax.close();
  });
});
