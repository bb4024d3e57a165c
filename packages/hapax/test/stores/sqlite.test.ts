import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterAll, describe, it } from "vitest";
import { sqliteStore } from "../../src/stores/sqlite/index.js";
import { manualClock, storeConformance } from "../../src/testing/index.js";

const folder = mkdtempSync(join(tmpdir(), "hapax-sqlite-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("the SQLite store is a store, with better-sqlite3", () => {
  const clock = manualClock();
  const db = new Database(join(folder, "kit.db"));
  const store = sqliteStore(db, { clock });
  const cases = storeConformance(async () => {
    await store.migrate();
    return { store, passTime: clock.advance };
  });
  for (const { group, rule, name, run } of cases) it(`${group}: ${name} (${rule})`, run);
});
