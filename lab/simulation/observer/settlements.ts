import type { ExtendResult, Lease, Settlement, SettleResult } from "../../../packages/hapax/src/index.js";
import {
  accept,
  broken,
  decoded,
  type Ending,
  end,
  isAbsent,
  isLastAttempt,
  isLive,
  isOpen,
  type RecordState,
  stepOf,
} from "./record-state.js";

/** The store applied a heartbeat and answered it. */
export function observeExtend(state: RecordState, lease: Lease, result: ExtendResult, nowMs: number): void {
  const { token, leaseMs } = lease;
  const live = isLive(state, token, nowMs);
  if (result.kind === "lost" && live)
    broken(state, "I3", `the heartbeat of token ${token} was refused while it is live`);
  if (result.kind !== "extended") return;
  if (!live) broken(state, "I3", `a heartbeat of token ${token} was accepted: ${shown(state)}`);
  state.leaseUntilMs = nowMs + leaseMs;
}

/** The store applied a settlement or a step and answered it. */
export function observeSettle(state: RecordState, settlement: Settlement, result: SettleResult, nowMs: number): void {
  const { token } = settlement;
  const current = !isAbsent(state, nowMs) && state.current?.token === token;
  if (settlement.kind === "step") return observeStep(state, settlement, result, current);
  checkOneWay(state, settlement);
  if (settlement.kind === "fail" && state.stopped.has(token) && state.grants.get(token)?.onAbandoned === "hold") {
    broken(state, "I5", `token ${token} was stopped from outside, and reports a failure under hold`);
  }
  const same = isSame(state.settledBy.get(token), settlement);
  if (result.kind === "lost") {
    if (current && (isOpen(state) || same)) {
      broken(state, "I3", `${settlement.kind} by token ${token} was refused: ${shown(state)}`);
    }
    return;
  }
  if (!current) return broken(state, "I3", `${settlement.kind} by token ${token} was accepted: ${shown(state)}`);
  if (isOpen(state)) return settle(state, settlement, nowMs);
  if (!same) broken(state, "I6", `${settlement.kind} by token ${token} was called settled: ${shown(state)} otherwise`);
}

/** A worker decides once: what it sends again is what it sent before. */
function checkOneWay(state: RecordState, settlement: Ending): void {
  const { token, kind } = settlement;
  const first = state.sent.get(token);
  if (first === undefined) state.sent.set(token, settlement);
  else if (!isSame(first, settlement))
    broken(state, "I6", `token ${token} sent ${first.kind}, and then another ${kind}`);
}

function observeStep(
  state: RecordState,
  { name, token, result: bytes }: Settlement & { kind: "step" },
  result: SettleResult,
  current: boolean,
): void {
  const value = decoded(bytes);
  const acceptable = current && isOpen(state) && (!state.steps.has(name) || state.steps.get(name) === value);
  if (result.kind === "lost" && acceptable) broken(state, "I3", `step ${name} by token ${token} was refused`);
  if (result.kind !== "settled") return;
  if (!acceptable) broken(state, "I3", `step ${name} by token ${token} was accepted: ${shown(state)}`);
  state.steps.set(name, value);
  state.stepsEver.add(stepOf(state.generation, name, value));
}

function settle(state: RecordState, settlement: Ending, nowMs: number): void {
  const { token } = settlement;
  state.settledBy.set(token, settlement);
  state.seen += settlement.arrivals;
  switch (settlement.kind) {
    case "complete":
      accept(state, token, "done", decoded(settlement.result));
      state.steps = new Map();
      return end(state, "done", nowMs);
    case "fail":
      accept(state, token, "failed", undefined);
      return end(state, settlement.permanent || isLastAttempt(state) ? "final" : "failed", nowMs);
    case "release":
      accept(state, token, "released", undefined);
      state.runs -= 1;
      return end(state, "failed", nowMs);
  }
}

function isSame(left: Ending | undefined, right: Ending): boolean {
  if (left === undefined || left.kind !== right.kind) return false;
  if (left.kind === "complete" && right.kind === "complete") return decoded(left.result) === decoded(right.result);
  if (left.kind === "fail" && right.kind === "fail") {
    return left.permanent === right.permanent && Buffer.from(left.error ?? []).equals(right.error ?? Buffer.alloc(0));
  }
  return left.kind === "release";
}

function shown({ status, current }: RecordState): string {
  return `the record is ${status} at token ${current?.token}`;
}
