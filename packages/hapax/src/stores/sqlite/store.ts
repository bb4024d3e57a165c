import { type Clock, systemClock } from "../../core/clock.js";
import { permanent } from "../../core/codec.js";
import { type Duration, parseDurationMs } from "../../core/durations.js";
import { refuseUnknown } from "../../core/settings.js";
import type { ClaimRequest, ClaimResult, Store, TransactionResult } from "../../core/store.js";
import { HapaxError } from "../../errors.js";
import { ClaimBatch } from "./claim.js";
import {
  createWriter,
  NotCommitted,
  prepareQuery,
  Rollback,
  type SqliteHandle,
  unavailable,
  type Writer,
} from "./handle.js";
import { forgetPiece, hasAbandoned, listPage, moveAbandoned, purgePiece, readOne, resolveOne } from "./inspect.js";
import { applyMigrations } from "./migrations.js";
import { extendOne, settleInTransaction, settleOne } from "./settle.js";
import { prepareStatements, type Statements } from "./statements.js";

const NORMAL = 1;
const FULL = 2;
const OPTIONS: ReadonlySet<string> = new Set(["prefix", "synchronous", "busyTimeout", "clock"]);

export interface SqliteStoreOptions {
  /** Its tables are called `<prefix>_record`, `<prefix>_step`, `<prefix>_token`, `<prefix>_migration`. Default `hapax`. */
  readonly prefix?: string;
  /**
   * `full` (the default) keeps every grant and every settlement that was answered through a power cut; only the count of
   * arrivals may then fall behind. `normal` keeps them through a crash of the process, not of the machine.
   */
  readonly synchronous?: "full" | "normal";
  /** How long to try for a file that others keep locked. Default 2 s. */
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
  function setUp(): number {
    const [mode] = prepareQuery(db, "pragma journal_mode").get() ?? [];
    if (mode !== "wal") prepareQuery(db, "pragma journal_mode = wal").get();
    const [current] = prepareQuery(db, "pragma synchronous").get() ?? [];
    // The user may have asked for more.
    const level = synchronous === "normal" ? NORMAL : Math.max(FULL, Number(current));
    db.exec(`pragma synchronous = ${level}`);
    return level;
  }

  /** One transaction, with the clock read once the write lock is held. */
  async function inTransaction<T>(work: (nowMs: number) => T, relaxed = false): Promise<T> {
    try {
      writer ??= createWriter(db, clock, busyTimeoutMs, setUp);
      return await writer.write(() => work(clock.wallMs()), relaxed);
    } catch (error) {
      throw unavailable(error instanceof NotCommitted ? error.error : error);
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
      committing(() => {
        // Tells whether the function left the transaction open: SQLite itself may roll it back under an error it caught.
        db.exec(`savepoint ${prefix}_work`);
        const completion = work(db);
        if (completion instanceof Promise) throw notSynchronous(completion);
        if (!released()) throw new Rollback<TransactionResult>({ kind: "rolled-back", error: endedInside() });
        const result = settleInTransaction(prepared(), completion, clock.wallMs());
        if (result.kind !== "settled") throw new Rollback<TransactionResult>(result);
        return result;
      }),
  };

  /** A commit that was refused is an answer here: the function's writes and the settlement are gone together. */
  async function committing(work: () => TransactionResult): Promise<TransactionResult> {
    try {
      writer ??= createWriter(db, clock, busyTimeoutMs, setUp);
      return await writer.write(work);
    } catch (error) {
      if (error instanceof NotCommitted) return { kind: "rolled-back", error: error.error };
      throw unavailable(error);
    }
  }

  function released(): boolean {
    try {
      db.exec(`release ${prefix}_work`);
      return true;
    } catch {
      return false;
    }
  }
}

function notSynchronous(completion: Promise<unknown>): HapaxError {
  completion.catch(() => {});
  return new HapaxError("invalid-option", "The work of a transaction on SQLite must be synchronous.");
}

/** Permanent: what the function wrote after the end is in the database, and running it again would write it twice. */
function endedInside(): HapaxError {
  return permanent(
    new HapaxError(
      "outcome-unknown",
      "The transaction ended inside its function: SQLite rolled it back under an error that the function caught, or the " +
        "function ended it. What it wrote before may be gone, and what it wrote after is not part of it. Look at the data.",
    ),
  );
}

function parseOptions(db: SqliteHandle, options: SqliteStoreOptions) {
  if (typeof db?.prepare !== "function" || typeof db.exec !== "function") {
    throw new HapaxError("invalid-option", "sqliteStore takes an open handle of better-sqlite3 or node:sqlite.");
  }
  refuseUnknown("sqliteStore", options, OPTIONS);
  const { prefix = "hapax", synchronous = "full", busyTimeout = "2s", clock = systemClock } = options;
  if (!/^(?!sqlite)[a-z_][a-z0-9_]{0,40}$/i.test(prefix)) {
    throw new HapaxError(
      "invalid-option",
      "prefix must be letters, digits and _, at most 41 of them, and not begin with sqlite.",
    );
  }
  if (synchronous !== "full" && synchronous !== "normal") {
    throw new HapaxError("invalid-option", 'synchronous must be "full" or "normal".');
  }
  return { prefix, synchronous, clock, busyTimeoutMs: parseDurationMs("busyTimeout", busyTimeout) };
}
