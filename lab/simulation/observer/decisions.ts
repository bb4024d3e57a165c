import type { ForgetResult, Resolution, ResolveResult } from "../../../packages/hapax/src/index.js";
import {
  accept,
  broken,
  decoded,
  end,
  isAbsent,
  isLastAttempt,
  isLive,
  isUncertain,
  type RecordState,
} from "./record-state.js";

/** The store applied somebody's decision about a record. */
export function observeResolve(state: RecordState, resolution: Resolution, result: ResolveResult, nowMs: number): void {
  if (result.kind !== "resolved") return;
  const { token, seenStatus, to } = resolution;
  const { status, current } = state;
  const asSeen = seenStatus === "uncertain" ? isUncertain(state, nowMs) : status === "failed" || status === "final";
  if (isAbsent(state, nowMs) || current?.token !== token || !asSeen) {
    broken(state, "I5", `a decision about token ${token}, ${seenStatus}, hit token ${current?.token}, ${status}`);
  }
  // From here on the worker's own settlement is refused, also if it was accepted before.
  state.settledBy.delete(token);
  accept(state, token, to.status, to.status === "done" ? decoded(to.result) : undefined);
  if (to.status === "done") return end(state, "done", nowMs);
  end(state, to.final || isLastAttempt(state) ? "final" : "failed", nowMs);
}

/** The store forgot a record, or left a live one alone. */
export function observeForget(state: RecordState, force: boolean, result: ForgetResult, nowMs: number): void {
  if (result.forgotten === 0 || isAbsent(state, nowMs)) return;
  const token = state.current?.token;
  if (token !== undefined && isLive(state, token, nowMs)) {
    if (!force) broken(state, "I1", `token ${token} is live and was forgotten without force`);
    state.forced.add(token);
  }
  state.status = "none";
}

/** Somebody looked at the record: under `hold` an abandoned one is uncertain from then on, whatever the clock does. */
export function observeLook(state: RecordState, nowMs: number): void {
  if (isUncertain(state, nowMs)) state.status = "uncertain";
}

/** Records past their retention are gone for good, also if the store's clock is set back later. */
export function observePurge(state: RecordState, nowMs: number): void {
  observeLook(state, nowMs);
  if (isAbsent(state, nowMs)) state.status = "none";
}
