import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterAll, afterEach } from "vitest";
import { HapaxError } from "../../src/index.js";
import { type SqliteHandle, type SqliteStoreOptions, sqliteStore } from "../../src/stores/sqlite/index.js";
import { createTrial, type Trial } from "../../src/testing/conformance/trial.js";

/** Files in a temporary folder, closed after each test and deleted after the last. */
const folder = mkdtempSync(join(tmpdir(), "hapax-sqlite-"));
const opened: Database.Database[] = [];
let files = 0;

afterEach(() => {
  for (const db of opened.splice(0)) db.close();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

export function newFile(): string {
  files += 1;
  return join(folder, `${files}.db`);
}

export function openFile(file: string, options?: Database.Options): Database.Database {
  const db = new Database(file, options);
  opened.push(db);
  return db;
}

/** A migrated store on a handle, with the short way to call it. */
export async function migrated(db: SqliteHandle, options?: SqliteStoreOptions): Promise<Trial> {
  const store = sqliteStore(db, options);
  await store.migrate();
  return createTrial({ store });
}

export async function refusalOf(calling: Promise<unknown>): Promise<HapaxError> {
  const error: unknown = await calling.then(
    () => new Error("it was not refused"),
    (reason) => reason,
  );
  if (error instanceof HapaxError) return error;
  throw error;
}
