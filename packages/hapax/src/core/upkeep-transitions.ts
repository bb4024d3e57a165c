import type { StoredRecord } from "./record.js";
import type { Resolution, ResolveResult } from "./store.js";
import { end, isAbsent, type Transition } from "./transitions.js";

/** The transitions that no worker makes: those of upkeep, of a person who decides, and of one who erases. */

/** Who sees an abandoned claim of policy `hold` moves it to `uncertain`. */
export function decideAbandoned(record: StoredRecord, nowMs: number): StoredRecord | undefined {
  const abandoned = record.status === "running" && record.onAbandoned === "hold" && nowMs >= record.leaseUntilMs;
  return abandoned ? { ...record, status: "uncertain" } : undefined;
}

/** Refused if the token or the status is not what the person who decides has seen. */
export function decideResolve(
  record: StoredRecord | undefined,
  resolution: Resolution,
  nowMs: number,
): Transition<ResolveResult> {
  if (isAbsent(record, nowMs)) return { result: { kind: "absent" } };
  const current = decideAbandoned(record, nowMs) ?? record;
  if (current.token !== resolution.token || current.status !== resolution.seenStatus) {
    return { result: { kind: "changed" } };
  }
  const ended = end(current, "resolve", nowMs);
  const { to } = resolution;
  const write: StoredRecord =
    to.status === "done"
      ? { ...ended, status: "done", final: false, result: to.result, error: undefined }
      : {
          ...ended,
          status: "failed",
          final: to.final || (ended.maxAttempts !== undefined && ended.runs >= ended.maxAttempts),
          error: to.error,
        };
  return { result: { kind: "resolved" }, write };
}

/** Expires the record and drops what it held; the token stays until purge, and a settle never revives it. */
export function forgotten(record: StoredRecord): StoredRecord {
  // Zero, not now: a clock that is set back must not bring it to life again.
  return { ...record, expiresAtMs: 0, result: undefined, error: undefined, metadata: undefined };
}
