import type { StoredRecord } from "../../../packages/hapax/src/index.js";
import type { Plan } from "../plan.js";
import type { ObservedCall } from "./executions.js";
import { broken, isUncertain, type RecordState } from "./record-state.js";

/** The record is what the store's own answers make it. */
export function checkRecord(state: RecordState, record: StoredRecord, nowMs: number): void {
  const status = record.status === "failed" && record.final ? "final" : record.status;
  const expected = isUncertain(state, nowMs) ? "uncertain" : state.status;
  if (status !== expected) broken(state, "I6", `the record is ${status}, and its answers say ${expected}`);
  if (record.token !== state.current?.token) {
    broken(state, "I3", `the record holds token ${record.token}, and ${state.current?.token} was granted last`);
  }
  if (record.runs !== state.runs)
    broken(state, "I8", `runs is ${record.runs}, and granted less released ${state.runs}`);
  if (record.seen !== state.seen) broken(state, "I8", `seen is ${record.seen}, and ${state.seen} were sent to it`);
}

/**
 * `seen` against the calls that were made, at the end of a run.
 *
 *     │◄── an earlier generation ──►│◄──────────── this one ────────────►│
 *           call ─────────────────────── may count in either
 *                                        call ─── counts here
 */
export function checkSeen(state: RecordState, calls: readonly ObservedCall[], { faults }: Plan): void {
  const { generation, generationSinceMs, beganWithoutFingerprint, seen } = state;
  const here = calls.filter(({ startedMs }) => generation === 1 || startedMs > generationSinceMs);
  if (faults) {
    const acknowledged = here.filter(({ ended }) => ended === "value").length;
    if (seen < acknowledged) broken(state, "I8", `seen is ${seen}, and ${acknowledged} calls got a value`);
    return;
  }
  // The claim of a caller that left may arrive much later.
  const perhaps = calls.filter(
    ({ endedMs, ended }) => generation === 1 || ended === "left" || (endedMs ?? Infinity) >= generationSinceMs,
  );
  const least = here.filter(isCounted).length;
  const most = perhaps.filter(({ ended }) => ended !== "key-reused" || beganWithoutFingerprint).length;
  if (seen < least || seen > most) broken(state, "I8", `seen is ${seen}, and ${least} to ${most} calls came`);
}

/** Whoever left before it was answered may have been a mismatch. */
function isCounted({ ended, execution }: ObservedCall): boolean {
  return execution !== undefined || (ended !== "key-reused" && ended !== "left");
}
