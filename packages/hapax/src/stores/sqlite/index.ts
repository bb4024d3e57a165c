export type { SqliteHandle, SqliteStatement, SqliteValue } from "./handle.js";
export { type SqliteStoreOptions, sqliteStore } from "./store.js";
