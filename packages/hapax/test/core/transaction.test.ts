import type Database from "better-sqlite3";
import { describe, expect, expectTypeOf, it } from "vitest";
import type { TransactionContext } from "../../src/index.js";
import { sqliteStore } from "../../src/stores/sqlite/index.js";
import { heldWork, refusal, thrownBy, until, watched } from "./held-work.js";
import { another, onMemory, onSqlite, openDatabase, type SetupOptions, type SqliteSetup } from "./make-hapax.js";
import { lostReply, refused, silent, withFaults } from "./store-with-faults.js";

const call = { scope: "orders", key: "o-1" };

async function setUp(options: SetupOptions<Database.Database> = {}): Promise<SqliteSetup> {
  const setup = await onSqlite(options);
  setup.db.exec("create table effect (id text)");
  return setup;
}

const insert = (db: Database.Database, id: string) => db.prepare("insert into effect (id) values (?)").run(id);
const effects = ({ db }: SqliteSetup) => db.prepare("select id from effect").pluck().all();

describe("a transaction on SQLite", () => {
  it("commits the effect and the result together", async () => {
    const setup = await setUp();
    const out = await setup.hapax.transaction(call, (db, ctx) => {
      insert(db, `by ${ctx.token}`);
      return { orders: 1n };
    });
    expect(out).toEqual({
      value: { orders: 1n },
      replayed: false,
      attempt: 1,
      key: "o-1",
      token: out.token,
      stored: true,
    });
    expect(effects(setup)).toEqual([`by ${out.token}`]);
    expect(await setup.hapax.get(call)).toMatchObject({ status: "done", result: { orders: 1n }, runs: 1 });
    expect(setup.emitted("completed")).toHaveLength(1);
  });

  it("gives the function the caller's own handle, and a context without steps", async () => {
    const { hapax, db } = await setUp();
    await hapax.transaction(call, (tx, ctx) => {
      expectTypeOf(tx).toEqualTypeOf<Database.Database>();
      expectTypeOf(ctx).toEqualTypeOf<TransactionContext>();
      expect(tx).toBe(db);
      expect(tx.inTransaction).toBe(true);
      ctx.assertHeld();
    });
  });

  it("replays to a duplicate, and the effect stays one", async () => {
    const setup = await setUp();
    const deliver = () =>
      setup.hapax.transaction(call, (db) => {
        insert(db, "once");
        return "ordered";
      });
    await deliver();
    expect(await deliver()).toMatchObject({ value: "ordered", replayed: true });
    expect(await setup.hapax.run(call, () => "by run")).toMatchObject({ value: "ordered", replayed: true });
    expect(effects(setup)).toEqual(["once"]);
  });

  it("G3 runs once for concurrent duplicates", async () => {
    const setup = await setUp();
    const deliveries = Promise.all(
      Array.from({ length: 5 }, () => setup.hapax.transaction(call, (db) => void insert(db, "once"))),
    );
    await setup.clock.advance(1_000);
    expect((await deliveries).filter(({ replayed }) => replayed)).toHaveLength(4);
    expect(effects(setup)).toEqual(["once"]);
    expect(await setup.hapax.get(call)).toMatchObject({ runs: 1, seen: 5 });
  });

  it("P7 that throws rolls everything back, throws it unchanged, and the next delivery runs", async () => {
    const setup = await setUp();
    const error = new Error("out of stock");
    const failing = setup.hapax.transaction(call, (db) => {
      insert(db, "undone");
      throw error;
    });
    expect(await thrownBy(failing)).toBe(error);
    expect(effects(setup)).toEqual([]);
    expect(await setup.hapax.get(call)).toMatchObject({ status: "failed", error: { message: "out of stock" } });

    const again = await setup.hapax.transaction(call, (db) => insert(db, "done").changes);
    expect(again).toMatchObject({ value: 1, attempt: 2 });
    expect(effects(setup)).toEqual(["done"]);
  });

  it("refuses a function that returns a promise, and rolls back what it wrote before", async () => {
    const setup = await setUp();
    const async_ = setup.hapax.transaction(call, (db) => {
      insert(db, "too early");
      return Promise.resolve("never");
    });
    const error = await refusal(async_);
    expect(error).toMatchObject({ code: "invalid-option", message: expect.stringMatching(/synchronous.*rolled back/) });
    expect(effects(setup)).toEqual([]);
    expect((await setup.hapax.get(call))?.status).toBe("failed");
  });

  it("P7 hands on what refused its commit, and the next delivery runs: nothing of it is left", async () => {
    const setup = await setUp();
    const raw = openDatabase(setup.file);
    raw.exec("create table parent (id text primary key)");
    raw.exec("create table child (id text references parent (id) deferrable initially deferred)");
    const orphan = setup.hapax.transaction(call, (db) => {
      db.exec("pragma defer_foreign_keys = on");
      insert(db, "undone");
      db.exec("insert into child values ('nobody')");
    });
    expect(await thrownBy(orphan)).toMatchObject({ code: expect.stringMatching(/^SQLITE_CONSTRAINT/) });
    expect(effects(setup)).toEqual([]);
    expect((await setup.hapax.get(call))?.status).toBe("failed");
  });

  it("never passes for done when SQLite rolled it back under an error that the function caught", async () => {
    const setup = await setUp();
    const swallowed = setup.hapax.transaction(call, (db) => {
      insert(db, "gone");
      db.exec("create table if not exists once (id integer primary key)");
      db.exec("insert into once values (1)");
      try {
        db.exec("insert or rollback into once values (1)");
      } catch {
        // The function goes on as if nothing had happened.
      }
      return "ordered";
    });
    expect(await refusal(swallowed)).toMatchObject({ code: "outcome-unknown" });
    expect(await setup.hapax.get(call)).toMatchObject({ status: "failed", final: true });
  });

  it("refuses an asynchronous function before it runs: what it wrote after its first await would escape", async () => {
    const setup = await setUp();
    const escaping = setup.hapax.transaction(call, async (db) => {
      await Promise.resolve();
      insert(db, "outside of any transaction");
    });
    expect((await refusal(escaping)).code).toBe("invalid-option");
    await setup.clock.settle();
    expect(effects(setup)).toEqual([]);
  });

  it("whose result is too large, or has no form, rolls back", async () => {
    const setup = await setUp({ resultBytesMax: 100 });
    const large = setup.hapax.transaction(call, (db) => {
      insert(db, "undone");
      return "x".repeat(200);
    });
    expect(await refusal(large)).toMatchObject({
      code: "payload-too-large",
      message: expect.stringMatching(/rolled back.*storeResult: false/),
    });
    const unserializable = setup.hapax.transaction(call, (db) => {
      insert(db, "undone");
      return () => "a function";
    });
    expect((await refusal(unserializable)).code).toBe("unserializable");
    expect(effects(setup)).toEqual([]);

    const kept = setup.hapax.transaction({ ...call, storeResult: false }, (db) => {
      insert(db, "done");
      return "x".repeat(200);
    });
    expect(await kept).toMatchObject({ value: "x".repeat(200), stored: true });
    expect(effects(setup)).toEqual(["done"]);
  });

  it("F6 whose token was taken over rolls back the user's writes", async () => {
    const setup = await setUp();
    const stale = refusal(
      setup.hapax.transaction(call, (db) => {
        insert(db, "stale");
        db.prepare("update hapax_record set token = token + 1000, owner = 'newer'").run();
      }),
    );
    expect(await stale).toMatchObject({ code: "claim-lost", message: expect.stringContaining("rolled back") });
    expect(setup.emitted("lost")).toMatchObject([{ ...call, code: "claim-lost" }]);
    expect(effects(setup)).toEqual([]);
  });

  it("F6 that begins after another took over and is done leaves that one's record and effect", async () => {
    const setup = await setUp();
    const { store, faults } = withFaults(setup.store);
    const gate = heldWork<void>();
    faults.transaction = async (pass) => {
      await gate.fn({} as never);
      return pass();
    };
    const stale = refusal(another(setup, { store }).hapax.transaction(call, (db) => void insert(db, "stale")));
    await gate.started();
    setup.clock.stall(30_000);
    await setup.hapax.transaction(call, (db) => {
      insert(db, "newer");
      return "newer";
    });
    gate.finish();
    expect((await stale).code).toBe("claim-lost");
    expect(effects(setup)).toEqual(["newer"]);
    expect((await setup.hapax.get(call))?.result).toBe("newer");
  });

  it("is answered busy to duplicates while it runs elsewhere, and never waits under `hold`", async () => {
    const setup = await setUp({ onAbandoned: "hold" });
    const { store, faults } = withFaults(setup.store);
    faults.transaction = silent;
    void another(setup, { store, heartbeat: false, onAbandoned: "hold" }).hapax.transaction(call, () => "dead");
    await until(() => setup.db.prepare("select count(*) from hapax_record").pluck().get() === 1);
    const duplicate = setup.hapax.transaction({ ...call, onBusy: "reject" }, () => "no");
    expect((await refusal(duplicate)).code).toBe("in-progress");
    await setup.clock.advance(30_000);
    expect(await setup.hapax.transaction(call, () => "taken over")).toMatchObject({ value: "taken over", attempt: 2 });
  });

  it("keeps metadata from the call and from ctx.setMetadata", async () => {
    const { hapax } = await setUp();
    await hapax.transaction({ ...call, metadata: "first" }, (_db, ctx) => ctx.setMetadata({ second: true }));
    expect((await hapax.get(call))?.metadata).toEqual({ second: true });
  });
});

describe("a transaction whose COMMIT is not answered", () => {
  it("is a success if the record is done by its token", async () => {
    const setup = await setUp();
    const { store, faults } = withFaults(setup.store);
    faults.transaction = lostReply;
    const { hapax, emitted } = another(setup, { store });
    const out = await hapax.transaction(call, (db) => {
      insert(db, "committed");
      return "ordered";
    });
    expect(out).toMatchObject({ value: "ordered", stored: true, replayed: false });
    expect(effects(setup)).toEqual(["committed"]);
    expect(emitted("completed")).toHaveLength(1);
  });

  it("is outcome-unknown if nobody can tell, and is neither settled outside nor run again", async () => {
    const setup = await setUp();
    const { store, faults, batches } = withFaults(setup.store);
    faults.transaction = lostReply;
    faults.read = refused;
    const { hapax, emitted } = another(setup, { store });
    let runs = 0;
    const out = await refusal(
      hapax.transaction(call, (db) => {
        runs += 1;
        insert(db, "committed");
      }),
    );
    expect(out.code).toBe("outcome-unknown");
    expect(out.cause).toMatchObject({ message: "connection reset" });
    expect(emitted("lost")).toMatchObject([{ code: "outcome-unknown" }]);
    expect([runs, batches.settle]).toEqual([1, []]);
  });

  it("is outcome-unknown if the record is done by another's token", async () => {
    const setup = await setUp();
    const { store, faults } = withFaults(setup.store);
    faults.transaction = async (pass) => {
      await pass();
      await setup.hapax.forget(call);
      await setup.hapax.run(call, () => "newer");
      throw new Error("connection reset");
    };
    const out = refusal(another(setup, { store }).hapax.transaction(call, () => "mine"));
    expect((await out).code).toBe("outcome-unknown");
    expect((await setup.hapax.get(call))?.result).toBe("newer");
  });

  it("ends although the store does not answer the question either", async () => {
    const setup = await setUp();
    const { store, faults } = withFaults(setup.store);
    faults.transaction = lostReply;
    faults.read = silent;
    const out = watched(another(setup, { store }).hapax.transaction(call, () => "ordered"));
    await setup.clock.advance(60_000);
    expect(out.ended).toBe(true);
  });
});

describe("a transaction that never began", () => {
  it("is store-unavailable, not outcome-unknown: its function did not run", async () => {
    const setup = await setUp();
    const other = openDatabase(setup.file);
    setup.hapax.on("claimed", () => other.exec("begin immediate"));
    let runs = 0;
    const out = refusal(setup.hapax.transaction(call, () => ++runs));
    await setup.clock.advance(6_000);
    other.exec("rollback");
    await setup.clock.advance(6_000);
    expect(await out).toMatchObject({ code: "store-unavailable", retryable: true });
    expect(runs).toBe(0);
    expect(await another(setup).hapax.transaction(call, () => "next")).toMatchObject({ value: "next", attempt: 1 });
  });

  it("F7 is never run unprotected, whatever the call says", async () => {
    const setup = await setUp();
    const { store, all } = withFaults(setup.store);
    all(refused);
    const { hapax, emitted } = another(setup, { store, onStoreDown: "open" });
    let runs = 0;
    const out = refusal(hapax.transaction({ ...call, onStoreDown: "open" }, () => ++runs));
    await setup.clock.advance(5_000);
    expect((await out).code).toBe("store-unavailable");
    expect([runs, emitted("unprotected")]).toEqual([0, []]);
  });

  it("is refused with an option that nobody would read", async () => {
    const { hapax } = await setUp();
    const out = await refusal(hapax.transaction({ ...call, retries: 1 } as typeof call, () => "no"));
    expect(out).toMatchObject({ code: "invalid-option", message: expect.stringContaining('"retries"') });
  });

  it("is unsupported on memory, and says what to use instead", async () => {
    const { hapax } = onMemory();
    const out = await refusal(hapax.transaction(call, () => "no"));
    expect(out).toMatchObject({ code: "unsupported", message: expect.stringContaining("use run()") });
    expect(await hapax.get(call)).toBeUndefined();
  });

  it("works on a file whose tables have another prefix", async () => {
    const setup = await setUp();
    const store = sqliteStore(setup.db, { clock: setup.clock, prefix: "once" });
    const { hapax } = another(setup, { store });
    await hapax.migrate();
    await hapax.transaction(call, (db) => void insert(db, "there"));
    expect(effects(setup)).toEqual(["there"]);
    expect(await setup.hapax.get(call)).toBeUndefined();
  });
});
