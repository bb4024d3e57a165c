import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterAll, describe, it } from "vitest";
import { type SqliteHandle, type SqliteStoreOptions, sqliteStore } from "../../src/stores/sqlite/index.js";
import { manualClock, storeConformance } from "../../src/testing/index.js";
import { nodeSqliteShape } from "./node-sqlite-shape.js";

const folder = mkdtempSync(join(tmpdir(), "hapax-sqlite-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** One file for all cases, as one database serves all of an application. */
function runKit(driver: string, shape: (db: Database.Database) => SqliteHandle, options: SqliteStoreOptions): void {
  describe(`the SQLite store is a store, with ${driver}`, () => {
    const clock = manualClock();
    const db = new Database(join(folder, `${driver}.db`));
    const store = sqliteStore(shape(db), { ...options, clock });
    const cases = storeConformance(async () => {
      await store.migrate();
      return { store, passTime: clock.advance };
    });
    afterAll(() => db.close());
    for (const { group, rule, name, run } of cases) it(`${group}: ${name} (${rule})`, run);
  });
}

runKit("better-sqlite3", (db) => db, { synchronous: "full" });
runKit("a driver like node:sqlite", nodeSqliteShape, { synchronous: "normal" });
