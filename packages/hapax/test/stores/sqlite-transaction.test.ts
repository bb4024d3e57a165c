import { setTimeout as wait } from "node:timers/promises";
import Database from "better-sqlite3";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Completion, Store } from "../../src/index.js";
import { sqliteStore } from "../../src/stores/sqlite/index.js";
import { createTrial, type Trial } from "../../src/testing/conformance/trial.js";
import { type ManualClock, manualClock } from "../../src/testing/index.js";

type Db = Database.Database;

let db: Db;
let clock: ManualClock;
let store: Store<Db>;
let trial: Trial;

beforeEach(async () => {
  db = new Database(":memory:");
  db.exec("create table orders (id text primary key)");
  clock = manualClock();
  store = sqliteStore(db, { clock });
  await store.migrate();
  trial = createTrial({ store, passTime: clock.advance });
});
afterEach(() => db.close());

function orders(): unknown[] {
  return db.prepare("select id from orders order by id").pluck().all();
}

function insertOrder(tx: Db, id: string): void {
  tx.prepare("insert into orders (id) values (?)").run(id);
}

async function transact(work: (tx: Db) => Completion | Promise<Completion>) {
  if (store.transaction === undefined) throw new Error("the store has no transactions");
  return store.transaction(work);
}

describe("a transaction of the SQLite store", () => {
  it("commits the user's writes and the result together", async () => {
    const { token } = await trial.grant();
    const answer = await transact((tx) => {
      insertOrder(tx, "1");
      return trial.completion(token, { arrivals: 2 });
    });
    expect(answer).toEqual({ kind: "settled", final: false });
    expect(orders()).toEqual(["1"]);
    const record = await trial.record();
    expect(record.status).toBe("done");
    expect(record.seen).toBe(3);
    expect((await trial.claim()).kind).toBe("done");
  });

  it("commits also after the lease ran out, while nobody took over", async () => {
    const { token } = await trial.grant({ leaseMs: 1_000 });
    await clock.advance(5_000);
    const answer = await transact((tx) => {
      insertOrder(tx, "1");
      return trial.completion(token);
    });
    expect(answer.kind).toBe("settled");
    expect(orders()).toEqual(["1"]);
  });

  it("is rolled back when the function throws, and the claim stays the worker's", async () => {
    const { token } = await trial.grant();
    const refused = new Error("card refused");
    const transaction = transact((tx) => {
      insertOrder(tx, "1");
      throw refused;
    });
    await expect(transaction).rejects.toBe(refused);
    expect(orders()).toEqual([]);
    expect(db.inTransaction).toBe(false);
    expect((await trial.record()).status).toBe("running");
    expect((await trial.fail(token)).kind).toBe("settled");
  });

  it("is rolled back when one of the user's own constraints fails", async () => {
    const { token } = await trial.grant();
    const transaction = transact((tx) => {
      insertOrder(tx, "1");
      insertOrder(tx, "1");
      return trial.completion(token);
    });
    await expect(transaction).rejects.toThrow("UNIQUE constraint failed: orders.id");
    expect(orders()).toEqual([]);
    expect((await trial.record()).status).toBe("running");
  });

  it.each([
    ["was taken over", async () => void (await trial.grant())],
    ["was forgotten", async () => void (await store.forget({ scope: trial.scope, key: "key", force: true }))],
    ["became uncertain", async () => void (await trial.claim({ onAbandoned: "hold" }))],
    [
      "is done already",
      async (token: Awaited<ReturnType<Trial["grant"]>>["token"]) => void (await trial.complete(token)),
    ],
    ["failed", async (token: Awaited<ReturnType<Trial["grant"]>>["token"]) => void (await trial.fail(token))],
  ])("is rolled back and answers lost when the claim %s", async (_, happen) => {
    const { token } = await trial.grant({ leaseMs: 1_000 });
    await clock.advance(1_000);
    await happen(token);
    const before = await trial.read();
    const answer = await transact((tx) => {
      insertOrder(tx, "1");
      return trial.completion(token);
    });
    expect(answer).toEqual({ kind: "lost" });
    expect(orders()).toEqual([]);
    expect(await trial.read()).toEqual(before);
  });

  it("refuses an asynchronous function, and rolls back what it wrote", async () => {
    const { token } = await trial.grant();
    const transaction = transact(async (tx) => {
      insertOrder(tx, "1");
      await wait(1);
      return trial.completion(token);
    });
    await expect(transaction).rejects.toMatchObject({ code: "invalid-option" });
    expect(orders()).toEqual([]);
    expect(db.inTransaction).toBe(false);
    expect((await trial.record()).status).toBe("running");
  });

  it("refuses an asynchronous function that fails later, without an unhandled rejection", async () => {
    const transaction = transact(async () => {
      await wait(1);
      throw new Error("too late");
    });
    await expect(transaction).rejects.toMatchObject({ code: "invalid-option" });
    // An unhandled rejection in this time fails the test run.
    await wait(20);
  });
});
