import { createInterface } from "node:readline/promises";
import Database from "better-sqlite3";
import { sqliteStore } from "../../src/stores/sqlite/index.js";

/**
 * One of several processes that share a file: `<file> <owner> <key> …`. Says `ready`, waits for a line so that all start
 * at once, migrates, claims every key one by one, and prints what it was granted.
 */
async function main(): Promise<void> {
  const [file = "", owner = "", ...keys] = process.argv.slice(2);
  const db = new Database(file);
  const store = sqliteStore(db);
  const input = createInterface({ input: process.stdin });
  process.stdout.write("ready\n");
  await input.question("");
  input.close();
  await store.migrate();
  const granted: [key: string, token: string][] = [];
  for (const key of keys) {
    const [answer] = await store.claim([
      {
        scope: "shared",
        key,
        claimId: `${owner} ${key}`,
        owner,
        fingerprint: undefined,
        leaseMs: 60_000,
        retentionMs: 60_000,
        onAbandoned: "rerun",
        maxAttempts: undefined,
        metadata: undefined,
        arrivals: 1,
      },
    ]);
    if (answer?.kind === "granted") granted.push([key, answer.token]);
  }
  process.stdout.write(`${JSON.stringify(granted)}\n`);
  db.close();
}

await main();
