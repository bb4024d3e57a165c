import type { StoredRecord, Token } from "./record.js";
import type {
  ClaimRequest,
  ClaimResult,
  Completion,
  ExtendResult,
  Failure,
  Lease,
  Settlement,
  SettleResult,
} from "./store.js";

/**
 * The state machine of one record, as pure functions: what a store answers and what it writes, given the record as it
 * stands while nobody else can change it, and the store's own time. Stores that decide in JavaScript (memory, SQLite)
 * call these; the others say the same in SQL or Lua, and the conformance kit holds them to it.
 *
 *            claim (new, or retention over)
 *   none ───────────────────────────────► running ──complete──► done ──retention──► none
 *                                         ▲ ▲   │
 *        lease expired, policy `rerun`    │ │   ├── fail ─────► failed ── claim ──► running
 *        takeover: token grows ───────────┘ │   ├── release ──► failed without error, run not counted
 *                                           │   └── lease expired, policy `hold` ──► uncertain ── resolve ──► done | failed
 *                                           └── the same claimId again: the same grant (a lost reply)
 */
export interface Transition<Result> {
  readonly result: Result;
  /** The record as it must stand afterwards; absent when nothing changes. */
  readonly write?: StoredRecord;
}

export type ClaimDecision = Transition<DecidedClaim> & {
  /** The record starts anew: what an earlier one left behind (its steps) goes. */
  readonly fresh?: boolean;
};

/** A claim's answer; steps are added by the store, which keeps them beside the record. */
export type DecidedClaim =
  | Exclude<ClaimResult, { kind: "granted" }>
  | Omit<Extract<ClaimResult, { kind: "granted" }>, "steps">;

/** Written out, because every call pays for it: spreading would cost more than the rest of the decision. */
export function withSteps(decided: DecidedClaim, steps: ReadonlyMap<string, Uint8Array>): ClaimResult {
  if (decided.kind !== "granted") return decided;
  const { token, runs, leaseUntilMs, takeover } = decided;
  return { kind: "granted", token, runs, leaseUntilMs, takeover, steps };
}

/** Retention over counts as absent for every operation, so that nobody can tell when purge runs. */
export function isAbsent(record: StoredRecord | undefined, nowMs: number): record is undefined {
  return record === undefined || (record.expiresAtMs !== undefined && record.expiresAtMs <= nowMs);
}

export function isLive(record: StoredRecord, nowMs: number): boolean {
  return record.status === "running" && nowMs < record.leaseUntilMs;
}

export function decideClaim(
  record: StoredRecord | undefined,
  request: ClaimRequest,
  nowMs: number,
  nextToken: () => Token,
): ClaimDecision {
  if (isAbsent(record, nowMs)) return grantFresh(request, nowMs, nextToken());

  // Before the state: another payload learns nothing of the record and changes nothing, `seen` included.
  if (isMismatch(record, request)) return { result: { kind: "mismatch" } };

  if (record.claimId === request.claimId) {
    // The reply to an earlier send was lost. The deadline stays: the caller counts its trust from that first send.
    if (record.status === "running") return { result: granted(record, false) };
    // A late copy of a claim that has run and failed must not run again under the same claimId.
    if (record.status === "failed" && !record.final) return { result: { kind: "stale" } };
  }

  switch (record.status) {
    case "running":
      if (nowMs < record.leaseUntilMs) {
        return { result: { kind: "busy", retryAfterMs: record.leaseUntilMs - nowMs }, ...seen(record, request, nowMs) };
      }
      if (record.onAbandoned === "hold" || request.onAbandoned === "hold") {
        return uncertain({ ...record, status: "uncertain" }, request, nowMs, true);
      }
      return grantAgain(record, request, nowMs, nextToken);
    case "uncertain":
      return uncertain(record, request, nowMs, false);
    case "done":
      return { result: answerDone(record, request), ...seen(record, request, nowMs) };
    case "failed":
      if (record.final) return { result: failedAnswer(record), ...seen(record, request, nowMs) };
      return grantAgain(record, request, nowMs, nextToken);
  }
}

/** What a replay needs of a record that is done. */
export type DoneRecord = Pick<StoredRecord, "token" | "fingerprint" | "runs" | "result" | "expiresAtMs">;

/** The answer to a claim on a record that is done and inside its retention; the arrival still has to be counted. */
export function answerDone(record: DoneRecord, request: ClaimRequest): DoneAnswer {
  if (isMismatch(record, request)) return { kind: "mismatch" };
  const { token, runs, result, expiresAtMs = 0 } = record;
  return { kind: "done", token, runs, result, expiresAtMs };
}

type DoneAnswer = Extract<ClaimResult, { kind: "done" | "mismatch" }>;

function isMismatch(record: Pick<StoredRecord, "fingerprint">, request: ClaimRequest): boolean {
  return (
    record.fingerprint !== undefined && request.fingerprint !== undefined && record.fingerprint !== request.fingerprint
  );
}

/** A waiter that asks again brings no arrivals, and changes nothing. */
function seen(record: StoredRecord, request: ClaimRequest, nowMs: number): { write?: StoredRecord } {
  return request.arrivals === 0 ? {} : { write: counted(record, request.arrivals, nowMs) };
}

function counted(record: StoredRecord, arrivals: number, nowMs: number): StoredRecord {
  return arrivals === 0 ? record : { ...record, seen: record.seen + arrivals, lastSeenAtMs: nowMs };
}

function uncertain(record: StoredRecord, request: ClaimRequest, nowMs: number, moved: boolean): ClaimDecision {
  const { token, runs, metadata } = record;
  const result = { kind: "uncertain", token, runs, metadata } as const;
  return moved || request.arrivals > 0 ? { result, write: counted(record, request.arrivals, nowMs) } : { result };
}

function failedAnswer(record: StoredRecord): DecidedClaim {
  return { kind: "failed", token: record.token, runs: record.runs, error: record.error };
}

function granted(record: StoredRecord, takeover: boolean): DecidedClaim {
  return { kind: "granted", token: record.token, runs: record.runs, leaseUntilMs: record.leaseUntilMs, takeover };
}

function grantFresh(request: ClaimRequest, nowMs: number, token: Token): ClaimDecision {
  const write = running(request, token, nowMs, undefined);
  return { result: granted(write, false), write, fresh: true };
}

function grantAgain(record: StoredRecord, request: ClaimRequest, nowMs: number, nextToken: () => Token): ClaimDecision {
  if (request.maxAttempts !== undefined && record.runs >= request.maxAttempts) {
    const ended = end(counted(record, request.arrivals, nowMs), "attempts", nowMs);
    const write: StoredRecord = { ...ended, status: "failed", final: true };
    return { result: failedAnswer(write), write };
  }
  const write = running(request, nextToken(), nowMs, record);
  return { result: granted(write, record.status === "running"), write };
}

/** The record of a grant. Of what stood there before it keeps who came when, and the first fingerprint. */
function running(request: ClaimRequest, token: Token, nowMs: number, past: StoredRecord | undefined): StoredRecord {
  return {
    scope: request.scope,
    key: request.key,
    status: "running",
    final: false,
    token,
    claimId: request.claimId,
    owner: request.owner,
    // A claim without a fingerprint never erases one.
    fingerprint: past?.fingerprint ?? request.fingerprint,
    onAbandoned: request.onAbandoned,
    maxAttempts: request.maxAttempts,
    leaseUntilMs: nowMs + request.leaseMs,
    retentionMs: request.retentionMs,
    firstSeenAtMs: past?.firstSeenAtMs ?? nowMs,
    lastSeenAtMs: past !== undefined && request.arrivals === 0 ? past.lastSeenAtMs : nowMs,
    finishedAtMs: undefined,
    expiresAtMs: undefined,
    runs: (past?.runs ?? 0) + 1,
    // A waiter that was counted by a record which is gone counts in the new one.
    seen: past === undefined ? Math.max(1, request.arrivals) : past.seen + request.arrivals,
    settledBy: undefined,
    result: undefined,
    error: undefined,
    metadata: request.metadata ?? past?.metadata,
  };
}

/** Retention starts here, and not at the claim: running work never expires by it. */
export function end(
  record: StoredRecord,
  settledBy: NonNullable<StoredRecord["settledBy"]>,
  nowMs: number,
): StoredRecord {
  return { ...record, settledBy, finishedAtMs: nowMs, expiresAtMs: nowMs + record.retentionMs };
}

const LOST = { result: { kind: "lost" } } as const;

/** Steps are accepted by the same rule and kept by the store beside the record. */
export function decideSettle(
  record: StoredRecord | undefined,
  settlement: Settlement,
  nowMs: number,
): Transition<SettleResult> {
  if (isAbsent(record, nowMs) || record.token !== settlement.token) return LOST;

  // Also after the lease ran out, as long as nobody took over: the token decides, not the clock.
  const open = record.status === "running" || record.status === "uncertain";
  if (settlement.kind === "step") return open ? { result: settled(record) } : LOST;
  if (!open) return isSame(record, settlement) ? { result: settled(record) } : LOST;

  const ended = end(counted(record, settlement.arrivals, nowMs), settlement.kind, nowMs);
  const write = outcome(ended, settlement);
  return { result: settled(write), write };
}

function outcome(ended: StoredRecord, settlement: Exclude<Settlement, { kind: "step" }>): StoredRecord {
  switch (settlement.kind) {
    case "complete":
      return { ...ended, status: "done", result: settlement.result, metadata: settlement.metadata ?? ended.metadata };
    case "fail":
      return {
        ...ended,
        status: "failed",
        final: isFinal(ended, settlement),
        error: settlement.error,
        metadata: settlement.metadata ?? ended.metadata,
      };
    case "release":
      return { ...ended, status: "failed", final: false, error: undefined, runs: ended.runs - 1 };
  }
}

function isFinal(record: StoredRecord, failure: Failure): boolean {
  return failure.permanent || (record.maxAttempts !== undefined && record.runs >= record.maxAttempts);
}

function settled(record: StoredRecord): SettleResult {
  return { kind: "settled", final: record.final };
}

/** The same settlement again is a lost reply and answers the same; another one by that token is refused. */
function isSame(record: StoredRecord, settlement: Exclude<Settlement, { kind: "step" }>): boolean {
  if (record.settledBy !== settlement.kind) return false;
  switch (settlement.kind) {
    case "complete":
      return sameBytes(record.result, settlement.result) && sameMetadata(record, settlement);
    case "fail":
      return (
        sameBytes(record.error, settlement.error) &&
        record.final === isFinal(record, settlement) &&
        sameMetadata(record, settlement)
      );
    case "release":
      return true;
  }
}

function sameMetadata(record: StoredRecord, settlement: Completion | Failure): boolean {
  return settlement.metadata === undefined || sameBytes(record.metadata, settlement.metadata);
}

export function sameBytes(left: Uint8Array | undefined, right: Uint8Array | undefined): boolean {
  if (left === undefined || right === undefined) return left === right;
  return Buffer.compare(left, right) === 0;
}

/** A heartbeat never revives: once the lease ran out, or the record was settled, it is refused. */
export function decideExtend(
  record: StoredRecord | undefined,
  lease: Lease,
  nowMs: number,
): Transition<Exclude<ExtendResult, { kind: "unknown" }>> {
  if (isAbsent(record, nowMs) || record.token !== lease.token || !isLive(record, nowMs)) return LOST;
  const leaseUntilMs = nowMs + lease.leaseMs;
  return { result: { kind: "extended", leaseUntilMs }, write: { ...record, leaseUntilMs } };
}
