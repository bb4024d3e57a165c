import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { createHapax } from "hapax";
import { sqliteStore } from "hapax/sqlite";

/** Prints by how many MB resident memory grew between the first number of keys and the second. */
const [small = 10_000, large = 1_000_000] = process.argv.slice(2).map(Number);
const CALLERS = 256;

const folder = mkdtempSync(join(tmpdir(), "hapax-bench-"));
const db = new Database(join(folder, "growth.db"));
const hapax = createHapax({ store: sqliteStore(db, { synchronous: "normal" }) });
await hapax.migrate();

let next = 0;
async function runUntil(keys: number): Promise<number> {
  const caller = async () => {
    while (next < keys) await hapax.run({ scope: "payments", key: `order-${next++}` }, async () => ({ ok: true }));
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  // Twice, with a turn between: the first run frees what the second finds.
  globalThis.gc?.();
  await new Promise(setImmediate);
  globalThis.gc?.();
  return process.memoryUsage().rss;
}

const before = await runUntil(small);
const after = await runUntil(large);
console.log((after - before) / 1024 / 1024);
await hapax.close();
db.close();
rmSync(folder, { recursive: true, force: true });
