import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { createHapax } from "hapax";
import { sqliteStore } from "hapax/sqlite";

/** Prints by how many MB resident memory grew between the first number of keys and the second. */
const [small = 10_000, large = 1_000_000] = process.argv.slice(2).map(Number);
const CALLERS = 256;
const WARM_CALLS = 300_000;

const folder = mkdtempSync(join(tmpdir(), "hapax-bench-"));
const db = new Database(join(folder, "growth.db"));
const hapax = createHapax({ store: sqliteStore(db, { synchronous: "normal" }) });
await hapax.migrate();

/** Calls with keys from `first` up to `last`, over and over until there were so many. */
async function call(first: number, last: number, calls: number): Promise<void> {
  let next = 0;
  const caller = async () => {
    while (next < calls) {
      const key = `order-${first + (next++ % (last - first))}`;
      await hapax.run({ scope: "payments", key }, async () => ({ ok: true }));
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
}

async function resident(): Promise<number> {
  // Twice, with a turn between: the first run frees what the second finds.
  globalThis.gc?.();
  await new Promise(setImmediate);
  globalThis.gc?.();
  return process.memoryUsage().rss;
}

// The few keys are called as often as it takes a process to reach its size: what grows after that, grows by keys.
await call(0, small, small);
await call(0, small, WARM_CALLS);
const before = await resident();
await call(small, large, large - small);
const after = await resident();
console.log((after - before) / 1024 / 1024);
await hapax.close();
db.close();
rmSync(folder, { recursive: true, force: true });
