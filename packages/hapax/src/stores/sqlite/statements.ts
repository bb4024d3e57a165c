import { prepareQuery, type Query, type SqliteHandle, type SqliteStatement } from "./handle.js";
import { ASSIGNMENTS, COLUMN_LIST } from "./rows.js";

/** Every statement of the store, prepared once. */
export interface Statements {
  readonly insert: SqliteStatement;
  readonly find: Query;
  readonly findDone: Query;
  readonly update: SqliteStatement;
  readonly see: SqliteStatement;
  readonly seeOnce: SqliteStatement;
  readonly complete: SqliteStatement;
  readonly extend: SqliteStatement;
  readonly list: Query;
  readonly listScope: Query;
  readonly abandoned: Query;
  readonly expired: Query;
  readonly forgettable: Query;
  readonly countLive: Query;
  readonly remove: SqliteStatement;
  readonly stepsOf: Query;
  readonly findStep: Query;
  readonly addStep: SqliteStatement;
  readonly countStep: SqliteStatement;
  readonly resetSteps: SqliteStatement;
  readonly moveSteps: SqliteStatement;
  readonly dropSteps: SqliteStatement;
  readonly lastToken: Query;
  readonly keepToken: SqliteStatement;
}

export function prepareStatements(db: SqliteHandle, prefix: string): Statements {
  const record = `${prefix}_record`;
  const step = `${prefix}_step`;
  const row = `select steps, ${COLUMN_LIST} from ${record}`;
  const query = (sql: string): Query => prepareQuery(db, sql);

  return {
    // The unique (scope, key) decides who creates the record: never read, then insert.
    insert: db.prepare(
      `insert into ${record} (scope, key, token, claim_id, owner, fingerprint, on_abandoned, max_attempts, lease_until_ms,
         retention_ms, first_seen_at_ms, last_seen_at_ms, seen, metadata, status, final, runs)
       values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'running', 0, 1) on conflict (scope, key) do nothing`,
    ),
    find: query(`${row} where scope = ? and key = ?`),
    // What a replay needs and no more: most of a record's columns are for people.
    findDone: query(
      `select token, fingerprint, runs, result, expires_at_ms from ${record}
       where scope = ? and key = ? and status = 'done' and expires_at_ms > ?`,
    ),
    // The token that was read is the condition, although the write lock already excludes everyone else.
    update: db.prepare(`update ${record} set ${ASSIGNMENTS} where token = ?`),
    see: db.prepare(`update ${record} set seen = seen + ?, last_seen_at_ms = ? where token = ?`),
    seeOnce: db.prepare(
      `update ${record} set seen = seen + 1, last_seen_at_ms = ? where token in (select value from json_each(?))`,
    ),
    // The common settlement in one statement: it matches only the open record of this token, so one row is the answer.
    // Everything else (the same settlement again, steps to drop, a stale token) goes through the state machine.
    complete: db.prepare(
      `update ${record}
       set status = 'done', settled_by = 'complete', result = ?, finished_at_ms = ?, expires_at_ms = ? + retention_ms
       where token = ? and scope = ? and key = ? and status = 'running' and expires_at_ms is null and steps = 0`,
    ),
    extend: db.prepare(
      `update ${record} set lease_until_ms = ?
       where token = ? and scope = ? and key = ? and status = 'running' and expires_at_ms is null and lease_until_ms > ?`,
    ),
    list: query(
      `${row} where (scope, key) > (?, ?) and (expires_at_ms is null or expires_at_ms > ?) and (? is null or status = ?)
       order by scope, key limit ?`,
    ),
    listScope: query(
      `${row} where scope = ? and key > ? and (expires_at_ms is null or expires_at_ms > ?) and (? is null or status = ?)
       order by key limit ?`,
    ),
    abandoned: query(
      `${row} where status = 'running' and on_abandoned = 'hold' and lease_until_ms <= ? and expires_at_ms is null limit ?`,
    ),
    expired: query(`select token from ${record} where expires_at_ms <= ? order by expires_at_ms limit ?`),
    forgettable: query(
      `${row} where scope = ? and (expires_at_ms is null or expires_at_ms > ?)
       and (? or not (status = 'running' and lease_until_ms > ?)) limit ?`,
    ),
    countLive: query(
      `select count(*) from ${record}
       where scope = ? and status = 'running' and lease_until_ms > ? and expires_at_ms is null`,
    ),
    remove: db.prepare(`delete from ${record} where token in (select value from json_each(?))`),
    stepsOf: query(`select name, result from ${step} where token = ?`),
    findStep: query(`select result from ${step} where token = ? and name = ?`),
    addStep: db.prepare(`insert into ${step} (token, name, result) values (?, ?, ?)`),
    countStep: db.prepare(`update ${record} set steps = steps + 1 where token = ?`),
    resetSteps: db.prepare(`update ${record} set steps = 0 where token = ?`),
    moveSteps: db.prepare(`update ${step} set token = ? where token = ?`),
    dropSteps: db.prepare(`delete from ${step} where token in (select value from json_each(?))`),
    lastToken: query(`select last from ${prefix}_token`),
    keepToken: db.prepare(`update ${prefix}_token set last = ?`),
  };
}
