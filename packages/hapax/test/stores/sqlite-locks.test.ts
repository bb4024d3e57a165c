import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { sqliteStore } from "../../src/stores/sqlite/index.js";
import { createTrial } from "../../src/testing/conformance/trial.js";
import { nodeSqliteShape } from "./node-sqlite-shape.js";
import { migrated, newFile, openFile, refusalOf } from "./sqlite-files.js";

/** Counts how often the event loop turns while `work` is under way. */
async function turnsDuring(work: Promise<unknown>): Promise<number> {
  let turns = 0;
  const timer = setInterval(() => {
    turns += 1;
  }, 5);
  await work.finally(() => clearInterval(timer));
  return turns;
}

describe("a file that another connection has locked", () => {
  it("is waited for while the event loop turns, and served once it is free", async () => {
    const file = newFile();
    const trial = await migrated(openFile(file));
    const other = openFile(file);
    other.exec("begin immediate");
    const claiming = trial.grant();
    setTimeout(() => other.exec("commit"), 200);
    expect(await turnsDuring(claiming)).toBeGreaterThan(5);
    expect((await claiming).runs).toBe(1);
  });

  it("is store-unavailable after the busy timeout, and nothing was written", async () => {
    const file = newFile();
    const trial = await migrated(openFile(file), { busyTimeout: "150ms" });
    const other = openFile(file);
    other.exec("begin immediate");
    const claiming = refusalOf(trial.claim());
    expect(await turnsDuring(claiming)).toBeGreaterThan(5);
    expect((await claiming).code).toBe("store-unavailable");
    other.exec("commit");
    expect(await trial.read()).toBeUndefined();
    await trial.grant();
  });

  it("is waited for also before it was ever set up", async () => {
    const file = newFile();
    const other = openFile(file);
    other.exec("create table orders (id text); begin exclusive");
    const store = sqliteStore(openFile(file));
    const migrating = store.migrate();
    setTimeout(() => other.exec("commit"), 100);
    expect(await turnsDuring(migrating)).toBeGreaterThan(2);
    await createTrial({ store }).grant();
  });

  it("is waited for also by a batch of replays, and the handle keeps its full fsync meanwhile", async () => {
    const file = newFile();
    const db = openFile(file);
    const trial = await migrated(db);
    const { token } = await trial.grant();
    await trial.complete(token);
    await trial.claim();
    const other = openFile(file);
    other.exec("begin immediate");
    const claiming = trial.claim();
    await wait(50);
    expect(db.pragma("synchronous", { simple: true })).toBe(2);
    other.exec("commit");
    expect((await claiming).kind).toBe("done");
    expect(db.pragma("synchronous", { simple: true })).toBe(2);
  });

  it("can be read meanwhile", async () => {
    const file = newFile();
    const trial = await migrated(openFile(file));
    await trial.grant();
    openFile(file).exec("begin immediate");
    expect((await trial.record()).status).toBe("running");
    expect((await trial.pages()).flat()).toHaveLength(1);
  });

  it("is waited for with a driver like node:sqlite, too", async () => {
    const file = newFile();
    const trial = await migrated(nodeSqliteShape(openFile(file)));
    const other = openFile(file);
    other.exec("begin immediate");
    setTimeout(() => other.exec("commit"), 50);
    await trial.grant();
  });
});

describe("a transaction that the user has open on the handle", () => {
  it("is waited for, and its rollback takes nothing of ours with it", async () => {
    const db = openFile(newFile());
    const trial = await migrated(db);
    db.exec("create table orders (id text); begin; insert into orders values ('1')");
    const claiming = trial.grant();
    await wait(50);
    expect(db.inTransaction).toBe(true);
    db.exec("rollback");
    const { token } = await claiming;
    expect((await trial.record()).token).toBe(token);
    expect(db.prepare("select count(*) from orders").pluck().get()).toBe(0);
  });

  it("is waited for also by a batch of replays, which does not wait for the disk", async () => {
    const db = openFile(newFile());
    const trial = await migrated(db);
    const { token } = await trial.grant();
    await trial.complete(token);
    await trial.claim();
    db.exec("begin");
    const claiming = trial.claim();
    setTimeout(() => db.exec("commit"), 50);
    expect((await claiming).kind).toBe("done");
    expect(db.pragma("synchronous", { simple: true })).toBe(2);
    expect((await trial.record()).seen).toBe(3);
  });

  it.each(["wal", "delete"])("is waited for also by the first call on a file in mode %s", async (mode) => {
    const file = newFile();
    const first = openFile(file);
    await migrated(first);
    first.close();
    const db = openFile(file);
    db.pragma(`journal_mode = ${mode}`);
    db.exec("begin");
    const trial = createTrial({ store: sqliteStore(db) });
    const claiming = trial.grant();
    await wait(50);
    db.exec("commit");
    expect((await claiming).runs).toBe(1);
    expect(db.pragma("journal_mode", { simple: true })).toBe("wal");
    expect(db.pragma("synchronous", { simple: true })).toBe(2);
  });
});
