import type { ClaimRequest, ClaimResult } from "../../../packages/hapax/src/index.js";
import {
  broken,
  decoded,
  end,
  type Granted,
  isAbandoned,
  isAbsent,
  isLive,
  isUncertain,
  type RecordState,
} from "./record-state.js";

type Grant = Extract<ClaimResult, { kind: "granted" }>;
type Answer = Extract<ClaimResult, { kind: "busy" | "done" | "failed" | "uncertain" }>;

/** The store applied a claim and answered it. */
export function observeClaim(state: RecordState, request: ClaimRequest, result: ClaimResult, nowMs: number): void {
  const known = state.grantsByClaimId.get(request.claimId);
  // Once another holds it, or it is gone, nobody can know that this claim was granted before.
  const mine = known !== undefined && state.current === known && !isAbsent(state, nowMs);
  if (mine && isLive(state, known.token, nowMs) && result.kind !== "granted") {
    broken(state, "I7b", `the claim that holds token ${known.token} was sent again and answered ${result.kind}`);
  }
  switch (result.kind) {
    case "granted":
      return mine ? grantedAgain(state, known, result) : grantedNew(state, request, result, nowMs);
    case "mismatch":
      if (isAbsent(state, nowMs)) broken(state, "I9", "a record that is gone answered mismatch");
      else if (!differs(state, request))
        broken(state, "I10", "a claim with the same fingerprint was answered mismatch");
      return;
    case "stale":
      if (!mine) broken(state, "I7b", "a claim that was not granted, and has not failed, was answered stale");
      return;
    default:
      if (isAbsent(state, nowMs)) broken(state, "I9", `a record that is gone answered ${result.kind}`);
      if (differs(state, request)) broken(state, "I10", `a claim with another fingerprint got ${result.kind}`);
      state.seen += request.arrivals;
      answered(state, request, result, nowMs);
  }
}

function differs({ fingerprint }: RecordState, request: ClaimRequest): boolean {
  return fingerprint !== undefined && request.fingerprint !== undefined && fingerprint !== request.fingerprint;
}

function answered(state: RecordState, request: ClaimRequest, result: Answer, nowMs: number): void {
  const { status, runs } = state;
  switch (result.kind) {
    case "busy":
      if (status !== "running" || isAbandoned(state, nowMs))
        broken(state, "I7", `busy, and nobody holds it: ${status}`);
      return;
    case "done": {
      const stored = state.accepted.at(-1);
      const value = decoded(result.result);
      if (status !== "done") broken(state, "I2", `answered done, and the record is ${status}`);
      else if (stored?.value !== value || stored?.token !== result.token) {
        broken(state, "I2", `replays ${String(value)}, and accepted was ${String(stored?.value)}`);
      }
      return;
    }
    case "failed":
      if (status === "final") return;
      if (status === "done" || request.maxAttempts === undefined || runs < request.maxAttempts) {
        broken(state, "I6", `answered as a final failure, and the record is ${status} after ${runs} runs`);
      }
      // Whoever settled it before has now been overruled.
      if (state.current !== undefined) state.settledBy.delete(state.current.token);
      return end(state, "final", nowMs);
    case "uncertain":
      if (!isUncertain(state, nowMs) && !(isAbandoned(state, nowMs) && request.onAbandoned === "hold")) {
        broken(state, "I5", `answered uncertain, and the record is ${status}, its lease not over or its policy rerun`);
      }
      state.status = "uncertain";
  }
}

function grantedAgain(state: RecordState, known: Granted, { token }: Grant): void {
  if (state.status !== "running") {
    broken(state, "I6", `the claim of token ${known.token} was granted again after it was settled`);
  } else if (known.token !== token) {
    broken(state, "I7b", `the claim of token ${known.token} was sent again and got token ${token}`);
  }
}

function grantedNew(state: RecordState, request: ClaimRequest, result: Grant, nowMs: number): void {
  const { token } = result;
  const { tokens } = state;
  if (Number(token) <= tokens.newest) broken(state, "I3", `token ${token} was granted after ${tokens.newest}`);
  tokens.newest = Math.max(tokens.newest, Number(token));

  const fresh = isAbsent(state, nowMs);
  if (fresh) {
    state.generation += 1;
    state.generationSinceMs = state.time.nowMs;
    state.steps = new Map();
    state.fingerprint = undefined;
    state.beganWithoutFingerprint = request.fingerprint === undefined;
    state.runs = 0;
    state.seen = 0;
  } else {
    checkRunsAgain(state, request, nowMs);
  }
  state.runs += 1;
  // A waiter was counted by a record that is gone: it counts in the new one.
  state.seen += fresh ? Math.max(1, request.arrivals) : request.arrivals;
  if (result.runs !== state.runs) broken(state, "I8", `token ${token} is called run ${result.runs} of ${state.runs}`);
  checkSteps(state, result.steps);

  const granted: Granted = { token, generation: state.generation, onAbandoned: request.onAbandoned };
  state.grants.set(token, granted);
  state.grantsByClaimId.set(request.claimId, granted);
  state.current = granted;
  state.status = "running";
  state.fingerprint ??= request.fingerprint;
  state.leaseUntilMs = nowMs + request.leaseMs;
  state.retentionMs = request.retentionMs;
  state.maxAttempts = request.maxAttempts;
  state.expiresAtMs = undefined;
}

function checkRunsAgain(state: RecordState, request: ClaimRequest, nowMs: number): void {
  const { status, current, runs } = state;
  if (status === "done") broken(state, "I6", "runs again inside the retention of an accepted completion");
  if (status === "final") broken(state, "I6", "runs again after a final failure");
  if (isLive(state, current?.token, nowMs)) broken(state, "I1", `granted while token ${current?.token} is live`);
  if (isUncertain(state, nowMs) || (status === "running" && request.onAbandoned === "hold")) {
    broken(state, "I5", `taken over from token ${current?.token} under hold`);
  }
  if (differs(state, request)) broken(state, "I10", "granted to another fingerprint inside one retention");
  if (request.maxAttempts !== undefined && runs >= request.maxAttempts) {
    broken(state, "I8", `run ${runs + 1} was granted to a call with maxAttempts ${request.maxAttempts}`);
  }
}

function checkSteps(state: RecordState, given: ReadonlyMap<string, Uint8Array>): void {
  for (const [name, value] of state.steps) {
    if (decoded(given.get(name)) !== value) broken(state, "I11", `step ${name} was acknowledged and is gone`);
  }
  for (const name of given.keys()) {
    if (!state.steps.has(name)) broken(state, "I11", `a grant brings step ${name}, which this record never had`);
  }
}
