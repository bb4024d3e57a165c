import { type Clock, systemClock } from "../../core/clock.js";
import { type Duration, parseDurationMs } from "../../core/durations.js";
import type { ClaimRequest, ClaimResult, Store } from "../../core/store.js";
import { HapaxError } from "../../errors.js";
import { ClaimBatch } from "./claim.js";
import { createWriter, prepareQuery, Rollback, type SqliteHandle, unavailable, type Writer } from "./handle.js";
import { forgetPiece, hasAbandoned, listPage, moveAbandoned, purgePiece, readOne, resolveOne } from "./inspect.js";
import { applyMigrations } from "./migrations.js";
import { extendOne, settleInTransaction, settleOne } from "./settle.js";
import { prepareStatements, type Statements } from "./statements.js";

export interface SqliteStoreOptions {
  /** Its tables are called `<prefix>_record`, `<prefix>_step`, `<prefix>_token`, `<prefix>_migration`. Default `hapax`. */
  readonly prefix?: string;
  /**
   * `full` (the default) keeps every grant and every settlement that was answered through a power cut; only the count of
   * arrivals may then fall behind. `normal` keeps them through a crash of the process, not of the machine.
   */
  readonly synchronous?: "full" | "normal";
  /** How long to try for a file that others keep locked. Default 4 s. */
  readonly busyTimeout?: Duration;
  readonly clock?: Clock;
}

/**
 * Keeps records in a SQLite file, which several processes of one machine may share. Takes your own handle, of
 * `better-sqlite3` or `node:sqlite`; the functions of `hapax.transaction` get that handle.
 *
 * Every operation is one `BEGIN IMMEDIATE` transaction: it holds the file's only write lock from its first read to its
 * commit, and reads the clock under it, so no other process can come in between.
 *
 * @example
 * const hapax = createHapax({ store: sqliteStore(new Database("app.db")) });
 * await hapax.migrate();
 */
export function sqliteStore<Db extends SqliteHandle>(db: Db, options: SqliteStoreOptions = {}): Store<Db> {
  const { prefix, synchronous, busyTimeoutMs, clock } = parseOptions(db, options);
  let writer: Writer | undefined;
  let statements: Statements | undefined;
  /** Duplicates come in storms: when most of the last batch was known, the next is looked up before it is inserted. */
  let expectDone = false;

  /** Sets the file up as the guarantees need it, the first time it is used by this process. */
  function setUp(): void {
    const [mode] = prepareQuery(db, "pragma journal_mode").get() ?? [];
    if (mode !== "wal") prepareQuery(db, "pragma journal_mode = wal").get();
    db.exec(`pragma synchronous = ${synchronous}`);
  }

  /** One transaction, with the clock read once the write lock is held. */
  async function inTransaction<T>(work: (nowMs: number) => T, relaxed = false): Promise<T> {
    try {
      writer ??= createWriter(db, clock, busyTimeoutMs, setUp);
      return await writer.write(() => work(clock.wallMs()), relaxed);
    } catch (error) {
      throw unavailable(error);
    }
  }

  /**
   * A grant must be on disk before it is answered; that an arrival was counted need not. So a batch of which only
   * replays are expected is tried without waiting for the disk, and done again should there be more in it.
   */
  function claimBatch(requests: readonly ClaimRequest[], onlyCounting: true): Promise<ClaimResult[] | undefined>;
  function claimBatch(requests: readonly ClaimRequest[], onlyCounting: false): Promise<ClaimResult[]>;
  function claimBatch(requests: readonly ClaimRequest[], onlyCounting: boolean): Promise<ClaimResult[] | undefined> {
    const relaxed = onlyCounting && synchronous === "full";
    return inTransaction((nowMs) => {
      const batch = new ClaimBatch(prepared(), nowMs, expectDone);
      const results = requests.map((request) => batch.claim(request));
      expectDone = batch.known * 2 > requests.length;
      if (relaxed && !batch.onlyCounts) throw new Rollback(undefined);
      batch.flush();
      return results;
    }, relaxed);
  }

  function prepared(): Statements {
    statements ??= prepareStatements(db, prefix);
    return statements;
  }

  /** Reading needs no lock and waits for nobody. */
  async function reading<T>(work: (nowMs: number) => T): Promise<T> {
    try {
      return work(clock.wallMs());
    } catch (error) {
      throw unavailable(error);
    }
  }

  return {
    capabilities: {
      durable: true,
      shared: true,
      push: false,
      transactions: true,
      synchronousTransactions: true,
      blocking: true,
    },

    migrate: () => inTransaction((nowMs) => applyMigrations(db, prefix, nowMs)),

    async claim(requests) {
      const replayed = expectDone ? await claimBatch(requests, true) : undefined;
      return replayed ?? claimBatch(requests, false);
    },

    extend: (leases) =>
      inTransaction((nowMs) =>
        leases.map((lease) =>
          extendOne(prepared(), lease, nowMs)
            ? { kind: "extended", leaseUntilMs: nowMs + lease.leaseMs }
            : { kind: "lost" },
        ),
      ),

    settle: (settlements) =>
      inTransaction((nowMs) => settlements.map((settlement) => settleOne(prepared(), settlement, nowMs))),

    read: (id) => reading((nowMs) => readOne(prepared(), id, nowMs)),

    async list(query) {
      while (await reading((nowMs) => hasAbandoned(prepared(), nowMs))) {
        await inTransaction((nowMs) => moveAbandoned(prepared(), nowMs));
      }
      return reading((nowMs) => listPage(prepared(), query, nowMs));
    },

    resolve: (resolution) => inTransaction((nowMs) => resolveOne(prepared(), resolution, nowMs)),
    purge: (limit) => inTransaction((nowMs) => purgePiece(prepared(), limit, nowMs)),

    async forget(request) {
      for (let total = 0; ; ) {
        const { forgotten, live } = await inTransaction((nowMs) => forgetPiece(prepared(), request, nowMs));
        total += forgotten;
        // With it the piece was the last.
        if (live !== undefined) return { forgotten: total, live };
        await new Promise(setImmediate);
      }
    },

    transaction: (work) =>
      inTransaction(() => {
        const completion = work(db);
        if (completion instanceof Promise) {
          completion.catch(() => {});
          throw new HapaxError("invalid-option", "The work must be synchronous.");
        }
        const result = settleInTransaction(prepared(), completion, clock.wallMs());
        if (result.kind !== "settled") throw new Rollback(result);
        return result;
      }),
  };
}

function parseOptions(db: SqliteHandle, options: SqliteStoreOptions) {
  if (typeof db?.prepare !== "function" || typeof db.exec !== "function") {
    throw new HapaxError("invalid-option", "sqliteStore takes an open handle of better-sqlite3 or node:sqlite.");
  }
  const { prefix = "hapax", synchronous = "full", busyTimeout = "4s", clock = systemClock } = options;
  if (!/^[a-z_][a-z0-9_]{0,40}$/i.test(prefix)) {
    throw new HapaxError("invalid-option", "prefix must be letters, digits and _, and at most 41 of them.");
  }
  if (synchronous !== "full" && synchronous !== "normal") {
    throw new HapaxError("invalid-option", 'synchronous must be "full" or "normal".');
  }
  return { prefix, synchronous, clock, busyTimeoutMs: parseDurationMs("busyTimeout", busyTimeout) };
}
