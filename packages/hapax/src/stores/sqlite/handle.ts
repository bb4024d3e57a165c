import type { Clock } from "../../core/clock.js";
import { sleep } from "../../core/clock.js";
import { HapaxError } from "../../errors.js";

/** What hapax needs of a database handle: `better-sqlite3` and `node:sqlite` both fit, and it imports neither. */
export interface SqliteHandle {
  exec(sql: string): unknown;
  prepare(sql: string): SqliteStatement;
}

export interface SqliteStatement {
  run(...parameters: SqliteValue[]): { readonly changes: number | bigint };
  get(...parameters: SqliteValue[]): unknown;
  all(...parameters: SqliteValue[]): unknown[];
  /** `better-sqlite3`: rows as arrays. */
  raw?(): unknown;
  /** `node:sqlite`: rows as arrays. */
  setReturnArrays?(enabled: boolean): void;
  /** `better-sqlite3`: integers as bigints. */
  safeIntegers?(enabled: boolean): unknown;
  /** `node:sqlite`: integers as bigints. */
  setReadBigInts?(enabled: boolean): void;
}

export type SqliteValue = string | number | Uint8Array | null;

/** A row as the values of its columns, in their order. */
export type Row = readonly unknown[];

/** A query that answers arrays, which both drivers make several times faster than objects. */
export interface Query {
  get(...parameters: SqliteValue[]): Row | undefined;
  all(...parameters: SqliteValue[]): Row[];
}

export function prepareQuery(db: SqliteHandle, sql: string): Query {
  const statement = db.prepare(sql);
  // The user's handle may read bigints by default; ours all fit a number.
  statement.safeIntegers?.(false);
  statement.setReadBigInts?.(false);
  if (statement.raw !== undefined || statement.setReturnArrays !== undefined) {
    if (statement.raw !== undefined) statement.raw();
    else statement.setReturnArrays?.(true);
    return statement as Query;
  }
  const toRow = (row: unknown): Row => Object.values(row as object);
  return {
    get(...parameters) {
      const row = statement.get(...parameters);
      return row === undefined ? undefined : toRow(row);
    },
    all: (...parameters) => statement.all(...parameters).map(toRow),
  };
}

/** Was it the one row that was meant? The count is a bigint on a handle that reads bigints. */
export function changedOne({ changes }: { readonly changes: number | bigint }): boolean {
  return Number(changes) === 1;
}

/** Writes one at a time, without ever blocking the event loop on a file that another process has locked. */
export interface Writer {
  /**
   * Runs `work` inside BEGIN IMMEDIATE … COMMIT. It is synchronous: nobody else can use the handle in between.
   * `relaxed`: the commit need not outlive a power cut, and does not wait for the disk.
   */
  write<T>(work: () => T, relaxed?: boolean): Promise<T>;
}

/** Thrown inside `write` to undo it and answer `value`. */
export class Rollback<T> {
  readonly value: T;
  constructor(value: T) {
    this.value = value;
  }
}

/** The commit was refused (a deferred constraint, a full disk), and everything was rolled back. */
export class NotCommitted {
  readonly error: unknown;
  constructor(error: unknown) {
    this.error = error;
  }
}

const RETRY_MS_MAX = 25;

/** `setUp` runs once, before the first transaction; like it, it may find the file locked. It answers `synchronous`. */
export function createWriter(db: SqliteHandle, clock: Clock, busyTimeoutMs: number, setUp: () => number): Writer {
  const begin = db.prepare("begin immediate");
  const commit = db.prepare("commit");
  const rollback = db.prepare("rollback");
  const busyTimeout = prepareQuery(db, "pragma busy_timeout");
  /** The level of `synchronous` that commits have, once it is set up. */
  let durable: number | undefined;

  /**
   * The handle is the user's, and so is its busy timeout; but while it waits by it the whole process stands still.
   * So it is put aside for the one statement that may find the file locked.
   */
  function tryBegin(relaxed: boolean): boolean {
    let isRelaxed = false;
    let usersMs = 0;
    try {
      usersMs = Number(busyTimeout.get()?.[0] ?? 0);
      if (usersMs !== 0) db.exec("pragma busy_timeout = 0");
      durable ??= setUp();
      // It can only be set outside a transaction. The handle is shared, so it is set back right after this one.
      if (relaxed) db.exec("pragma synchronous = normal");
      isRelaxed = relaxed;
      begin.run();
      return true;
    } catch (error) {
      // Where the user has a transaction open it was refused, and setting it back would be refused as well.
      if (isRelaxed) db.exec(`pragma synchronous = ${durable}`);
      if (isBusy(error)) return false;
      throw unavailable(error);
    } finally {
      if (usersMs !== 0) db.exec(`pragma busy_timeout = ${usersMs}`);
    }
  }

  async function write<T>(work: () => T, relaxed = false): Promise<T> {
    const giveUpMs = clock.monotonicMs() + busyTimeoutMs;
    for (let retryMs = 1; !tryBegin(relaxed); retryMs = Math.min(retryMs * 2, RETRY_MS_MAX)) {
      if (clock.monotonicMs() >= giveUpMs) throw locked(busyTimeoutMs);
      await sleep(clock, retryMs * (0.5 + Math.random() / 2));
    }
    try {
      const value = work();
      commitOrUndo();
      return value;
    } catch (error) {
      undo();
      if (error instanceof Rollback) return error.value as T;
      throw error;
    } finally {
      if (relaxed) db.exec(`pragma synchronous = ${durable}`);
    }
  }

  /** A commit that was refused and rolled back is known not to have happened. */
  function commitOrUndo(): void {
    try {
      commit.run();
    } catch (error) {
      throw undo() ? new NotCommitted(error) : error;
    }
  }

  /** `false`: there is no transaction left to roll back, because SQLite or the user's function has ended it. */
  function undo(): boolean {
    try {
      rollback.run();
      return true;
    } catch {
      return false;
    }
  }

  return { write };
}

/** Another process holds the file, or the user's own code has a transaction open on this handle. */
function isBusy(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, errcode } = error as { code?: unknown; errcode?: unknown };
  if (typeof code === "string" && (code.startsWith("SQLITE_BUSY") || code.startsWith("SQLITE_LOCKED"))) return true;
  // node:sqlite gives the number: its low byte is SQLITE_BUSY (5) or SQLITE_LOCKED (6).
  if (typeof errcode === "number" && ((errcode & 0xff) === 5 || (errcode & 0xff) === 6)) return true;
  return /(within|inside) a transaction|busy executing a query/.test(error.message);
}

function locked(busyTimeoutMs: number): HapaxError {
  return new HapaxError(
    "store-unavailable",
    `The database file was locked for ${busyTimeoutMs} ms. Another process, or a transaction that is open on this ` +
      "handle, keeps it: make their transactions short.",
  );
}

/** Turns what SQLite says about a file it cannot use into `store-unavailable`; a bad value stays what it is. */
export function unavailable(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { code } = error as { code?: unknown };
  const text = `${typeof code === "string" ? code : ""} ${error.message}`;
  if (/no such table: \w+_(record|step|token)/.test(text)) {
    return new HapaxError(
      "store-unavailable",
      "The tables of hapax are missing in this database: await hapax.migrate() first.",
      {
        cause: error,
      },
    );
  }
  const down =
    /SQLITE_(FULL|IOERR|READONLY|CANTOPEN|CORRUPT|NOTADB)|not open|unable to open|disk|readonly|malformed|not a database/;
  if (!down.test(text)) return error;
  return new HapaxError("store-unavailable", `SQLite cannot use the database file: ${error.message}.`, {
    cause: error,
  });
}
