import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { createHapax } from "hapax";
import { sqliteStore } from "hapax/sqlite";

const SCOPE = "payments";
const LEASE_MS = 30_000;
const RETENTION_MS = 24 * 3_600_000;
const PAIRS_A_TRANSACTION = 100;

/** Two files with the same table: hapax works on one, the hand-written loops on the other. */
export interface Contest {
  warmUp(calls: number): Promise<void>;
  /** Each answers calls a second. */
  pairsByHapax(calls: number): Promise<number>;
  pairsByHand(calls: number): number;
  replaysByHapax(calls: number): Promise<number>;
  readsByHand(calls: number): number;
  close(): void;
}

export async function openContest(callers: number): Promise<Contest> {
  const folder = mkdtempSync(join(tmpdir(), "hapax-bench-"));
  const ours = new Database(join(folder, "ours.db"));
  const theirs = new Database(join(folder, "theirs.db"));
  const hapax = createHapax({ store: sqliteStore(ours) });
  await hapax.migrate();
  await createHapax({ store: sqliteStore(theirs) }).migrate();
  const byHand = prepareByHand(theirs);
  /** Both know the keys below this number. */
  let ourKeys = 0;
  let theirKeys = 0;

  async function byCallers(calls: number, keyOf: (call: number) => string): Promise<number> {
    let next = 0;
    return rate(calls, async () => {
      await Promise.all(
        Array.from({ length: callers }, async () => {
          while (next < calls) {
            const key = keyOf(next++);
            await hapax.run({ scope: SCOPE, key }, async () => ({ ok: true }));
          }
        }),
      );
    });
  }

  const contest: Contest = {
    async warmUp(calls) {
      await contest.pairsByHapax(calls);
      await contest.replaysByHapax(calls);
      contest.pairsByHand(calls);
      contest.readsByHand(calls);
    },
    pairsByHapax(calls) {
      const first = ourKeys;
      ourKeys += calls;
      return byCallers(calls, (call) => keyOf(first + call));
    },
    pairsByHand(calls) {
      const first = theirKeys;
      theirKeys += calls;
      return rateOf(calls, () => byHand.pairs(first, calls));
    },
    replaysByHapax: (calls) => byCallers(calls, (call) => keyOf(ourKeys - 1 - call)),
    readsByHand: (calls) => rateOf(calls, () => byHand.reads(theirKeys - calls, calls)),
    close() {
      ours.close();
      theirs.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  return contest;
}

/** The same record with the same columns, claimed and completed by its token, without an engine around it. */
function prepareByHand(db: Database.Database) {
  const claim = db.prepare(
    `insert into hapax_record (scope, key, token, claim_id, owner, fingerprint, on_abandoned, max_attempts, lease_until_ms,
       retention_ms, first_seen_at_ms, last_seen_at_ms, seen, metadata, status, final, runs)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'running', 0, 1) on conflict (scope, key) do nothing`,
  );
  const complete = db.prepare(
    `update hapax_record set status = 'done', settled_by = 'complete', result = ?, finished_at_ms = ?, expires_at_ms = ?
     where scope = ? and key = ? and token = ? and status = 'running'`,
  );
  const read = db.prepare(
    "select status, token, fingerprint, runs, result, expires_at_ms from hapax_record where scope = ? and key = ?",
  );
  const begin = db.prepare("begin immediate");
  const commit = db.prepare("commit");
  const result = Buffer.from(JSON.stringify({ ok: true }));

  function pair(token: number): void {
    const key = keyOf(token);
    const nowMs = Date.now();
    const claimId = `9c1b5c0e-2f5e-4b7e-9a43-1d0c7d1f2a11-${token}`;
    const claimed = claim.run(
      ...[SCOPE, key, token, claimId, "bench:1:abcdef01", null, "rerun", null, nowMs + LEASE_MS, RETENTION_MS],
      ...[nowMs, nowMs, 1, null],
    );
    if (claimed.changes !== 1) throw new Error("the key was known");
    const completed = complete.run(result, nowMs, nowMs + RETENTION_MS, SCOPE, key, token);
    if (completed.changes !== 1) throw new Error("the claim was lost");
  }

  return {
    pairs(first: number, calls: number): void {
      for (let done = 0; done < calls; done += PAIRS_A_TRANSACTION) {
        begin.run();
        for (let index = done; index < Math.min(calls, done + PAIRS_A_TRANSACTION); index += 1) pair(first + index);
        commit.run();
      }
    },
    reads(first: number, calls: number): void {
      for (let index = 0; index < calls; index += 1) {
        if (read.get(SCOPE, keyOf(first + index)) === undefined) throw new Error("the key is unknown");
      }
    },
  };
}

function keyOf(index: number): string {
  return `order-${index}`;
}

function rateOf(calls: number, work: () => void): number {
  const startedMs = performance.now();
  work();
  return (calls / (performance.now() - startedMs)) * 1_000;
}

async function rate(calls: number, work: () => Promise<void>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return (calls / (performance.now() - startedMs)) * 1_000;
}
