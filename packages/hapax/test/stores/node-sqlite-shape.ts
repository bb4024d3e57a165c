import Database from "better-sqlite3";
import type { SqliteHandle, SqliteStatement } from "../../src/stores/sqlite/index.js";

/** Result codes of SQLite, by the names that better-sqlite3 gives them. */
const CODES: Readonly<Record<string, number>> = { SQLITE_BUSY: 5, SQLITE_LOCKED: 6, SQLITE_READONLY: 8 };

/**
 * A handle in the shape of an early `node:sqlite`, laid over better-sqlite3, because Node 20 has none: rows are objects
 * without a prototype and cannot be asked for as arrays, `changes` is a bigint (as it is for a database that reads
 * bigints), blobs are plain `Uint8Array`s, and an error carries a number in place of a name.
 */
export function nodeSqliteShape(db: Database.Database): SqliteHandle {
  return {
    exec: (sql) => asNode(() => db.exec(sql)),
    prepare: (sql) => statementShape(asNode(() => db.prepare(sql))),
  };
}

function statementShape(statement: Database.Statement): SqliteStatement {
  return {
    run: (...parameters) => asNode(() => ({ changes: BigInt(statement.run(...parameters).changes) })),
    get: (...parameters) =>
      asNode(() => (statement.reader ? rowShape(statement.get(...parameters)) : statement.run(...parameters))),
    all: (...parameters) => asNode(() => statement.all(...parameters).map(rowShape)),
  };
}

function rowShape(row: unknown): unknown {
  if (row === undefined) return undefined;
  const columns = Object.entries(row as object).map(([name, value]) => [
    name,
    value instanceof Uint8Array ? new Uint8Array(value) : value,
  ]);
  return Object.assign(Object.create(null), Object.fromEntries(columns));
}

function asNode<T>(act: () => T): T {
  try {
    return act();
  } catch (error) {
    if (!(error instanceof Database.SqliteError)) throw error;
    const name = Object.keys(CODES).find((prefix) => error.code.startsWith(prefix));
    const errcode = name === undefined ? 1 : CODES[name];
    throw Object.assign(new Error(error.message), { code: "ERR_SQLITE_ERROR", errcode });
  }
}
