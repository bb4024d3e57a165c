import { type Clock, systemClock } from "../../core/clock.js";
import type { StoredRecord, Token } from "../../core/record.js";
import { refuseUnknown } from "../../core/settings.js";
import type { ClaimRequest, ClaimResult, RecordId, Settlement, SettleResult, Store } from "../../core/store.js";
import {
  decideClaim,
  decideExtend,
  decideSettle,
  isAbsent,
  isLive,
  sameBytes,
  withSteps,
} from "../../core/transitions.js";
import { decideAbandoned, decideResolve, forgotten } from "../../core/upkeep-transitions.js";
import { HapaxError } from "../../errors.js";

export interface MemoryStoreOptions {
  /** The most records it keeps. When all of them are live it answers `store-unavailable`. Default 100,000. */
  readonly recordsMax?: number;
  readonly clock?: Clock;
}

interface Entry {
  record: StoredRecord;
  steps: Map<string, Uint8Array> | undefined;
  /** Order of creation, for stable pages. */
  readonly sequence: number;
}

const OPTIONS: ReadonlySet<string> = new Set(["recordsMax", "clock"]);
const NO_STEPS: ReadonlyMap<string, Uint8Array> = new Map();

/**
 * Keeps records in this process: for tests, and for work that need not outlive it.
 *
 * JavaScript runs one function at a time, so each operation reads, decides and writes with nobody in between.
 *
 * @example
 * const hapax = createHapax({ store: memoryStore() });
 */
export function memoryStore(options: MemoryStoreOptions = {}): Store {
  refuseUnknown("memoryStore", options, OPTIONS);
  const clock = options.clock ?? systemClock;
  const recordsMax = options.recordsMax ?? 100_000;
  if (!Number.isSafeInteger(recordsMax) || recordsMax < 1) {
    throw new HapaxError("invalid-option", `recordsMax must be a whole number of at least 1; got ${recordsMax}.`);
  }
  const entries = new Map<string, Entry>();
  const watchers = new Map<string, Set<() => void>>();
  let lastToken = 0;
  let lastSequence = 0;
  /** No record expires before this, so a full store need not look again until then. */
  let nextExpiryMs = Number.POSITIVE_INFINITY;

  const nextToken = (): Token => String(++lastToken) as Token;

  function write(id: string, entry: Entry | undefined, record: StoredRecord): Entry {
    if (record.expiresAtMs !== undefined) nextExpiryMs = Math.min(nextExpiryMs, record.expiresAtMs);
    if (entry !== undefined) {
      entry.record = record;
      return entry;
    }
    const created: Entry = { record, steps: undefined, sequence: ++lastSequence };
    entries.set(id, created);
    return created;
  }

  function claimOne(request: ClaimRequest, nowMs: number): ClaimResult {
    const id = idOf(request);
    let entry = entries.get(id);
    const decision = decideClaim(entry?.record, request, nowMs, nextToken);
    if (decision.fresh && entry !== undefined) {
      entries.delete(id);
      entry = undefined;
    }
    if (decision.write !== undefined) entry = write(id, entry, decision.write);
    if (decision.result.kind === "uncertain") wake(id);
    return withSteps(decision.result, entry?.steps === undefined ? NO_STEPS : new Map(entry.steps));
  }

  function settleOne(settlement: Settlement, nowMs: number): SettleResult {
    const id = idOf(settlement);
    const entry = entries.get(id);
    const { result, write: next } = decideSettle(entry?.record, settlement, nowMs);
    if (entry === undefined || result.kind !== "settled") return result;
    if (settlement.kind === "step") {
      entry.steps ??= new Map();
      const stored = entry.steps.get(settlement.name);
      if (stored !== undefined && !sameBytes(stored, settlement.result)) return { kind: "lost" };
      entry.steps.set(settlement.name, settlement.result);
    }
    if (next !== undefined) {
      write(id, entry, next);
      if (next.status === "done") entry.steps = undefined;
      wake(id);
    }
    return result;
  }

  /** Makes room for the batch's new keys, or refuses it before anything is written. */
  function makeRoom(requests: readonly ClaimRequest[], nowMs: number): void {
    if (entries.size + requests.length <= recordsMax) return;
    if (nowMs >= nextExpiryMs) evictExpired(nowMs);
    const newIds = new Set(requests.map(idOf).filter((id) => !entries.has(id)));
    if (entries.size + newIds.size <= recordsMax) return;
    const message = `The memory store holds ${entries.size} live records, its recordsMax. Raise it, or shorten the retention.`;
    // One by one, those that fit or already have a record are still served.
    throw requests.length > 1 ? new RangeError(message) : new HapaxError("store-unavailable", message);
  }

  function evictExpired(nowMs: number): void {
    nextExpiryMs = Number.POSITIVE_INFINITY;
    for (const [id, { record }] of entries) {
      if (isAbsent(record, nowMs)) entries.delete(id);
      else if (record.expiresAtMs !== undefined) nextExpiryMs = Math.min(nextExpiryMs, record.expiresAtMs);
    }
  }

  function wake(id: string): void {
    for (const waiter of watchers.get(id) ?? []) waiter();
  }

  /** The record as anyone may see it: absent past its retention, `uncertain` once abandoned under `hold`. */
  function look(id: string, nowMs: number): StoredRecord | undefined {
    const entry = entries.get(id);
    if (entry === undefined || isAbsent(entry.record, nowMs)) return undefined;
    const moved = decideAbandoned(entry.record, nowMs);
    if (moved !== undefined) entry.record = moved;
    return entry.record;
  }

  return {
    capabilities: {
      durable: false,
      shared: false,
      push: true,
      transactions: false,
      synchronousTransactions: false,
      blocking: false,
    },
    async migrate() {},
    async claim(requests) {
      const nowMs = clock.wallMs();
      makeRoom(requests, nowMs);
      return requests.map((request) => claimOne(request, nowMs));
    },
    async extend(leases) {
      const nowMs = clock.wallMs();
      return leases.map((lease) => {
        const entry = entries.get(idOf(lease));
        const { result, write: next } = decideExtend(entry?.record, lease, nowMs);
        if (entry !== undefined && next !== undefined) entry.record = next;
        return result;
      });
    },
    async settle(settlements) {
      const nowMs = clock.wallMs();
      return settlements.map((settlement) => settleOne(settlement, nowMs));
    },
    async read(id) {
      return look(idOf(id), clock.wallMs());
    },
    async list({ scope, status, limit, cursor }) {
      const nowMs = clock.wallMs();
      const after = cursor === undefined ? 0 : parseCursor(cursor);
      const records: StoredRecord[] = [];
      let last = after;
      for (const [id, { sequence, record: stored }] of entries) {
        if (sequence <= after || (scope !== undefined && stored.scope !== scope)) continue;
        const record = look(id, nowMs);
        if (record === undefined || (status !== undefined && record.status !== status)) continue;
        if (records.length === limit) return { records, cursor: String(last) };
        records.push(record);
        last = sequence;
      }
      return { records, cursor: undefined };
    },
    async forget({ scope, key, force }) {
      const nowMs = clock.wallMs();
      let forgottenCount = 0;
      let live = 0;
      const ids = key === undefined ? entries.keys() : [idOf({ scope, key })];
      for (const id of ids) {
        const entry = entries.get(id);
        if (entry === undefined || entry.record.scope !== scope || isAbsent(entry.record, nowMs)) continue;
        if (isLive(entry.record, nowMs) && !force) {
          live += 1;
          continue;
        }
        write(id, entry, forgotten(entry.record));
        entry.steps = undefined;
        forgottenCount += 1;
        wake(id);
      }
      return { forgotten: forgottenCount, live };
    },
    async resolve(resolution) {
      const id = idOf(resolution);
      const entry = entries.get(id);
      const { result, write: next } = decideResolve(entry?.record, resolution, clock.wallMs());
      if (next !== undefined) {
        write(id, entry, next);
        wake(id);
      }
      return result;
    },
    async purge(limit) {
      const nowMs = clock.wallMs();
      let purged = 0;
      let uncertain = 0;
      for (const [id, { record }] of entries) {
        if (purged === limit || uncertain === limit) return { purged, uncertain, more: true };
        if (isAbsent(record, nowMs)) {
          entries.delete(id);
          purged += 1;
        } else if (decideAbandoned(record, nowMs) !== undefined) {
          look(id, nowMs);
          uncertain += 1;
          wake(id);
        }
      }
      return { purged, uncertain, more: false };
    },
    watch(recordId, waiter) {
      const id = idOf(recordId);
      const waiters = watchers.get(id) ?? new Set();
      watchers.set(id, waiters.add(waiter));
      return () => {
        waiters.delete(waiter);
        if (waiters.size === 0 && watchers.get(id) === waiters) watchers.delete(id);
      };
    },
  };
}

function parseCursor(cursor: string): number {
  if (/^[1-9]\d{0,15}$/.test(cursor)) return Number(cursor);
  throw new HapaxError("invalid-option", "cursor must be the one that the page before gave.");
}

/** NUL is refused in scope and key, so this cannot collide. */
function idOf({ scope, key }: RecordId): string {
  return `${scope}\0${key}`;
}
