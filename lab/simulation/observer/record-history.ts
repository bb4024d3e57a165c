import type {
  ClaimRequest,
  ClaimResult,
  ExtendResult,
  ForgetResult,
  Lease,
  Resolution,
  ResolveResult,
  Settlement,
  SettleResult,
} from "../../../packages/hapax/src/index.js";
import type { Invariant, Verdict } from "./verdict.js";

/** An outcome that the store accepted, from a worker or from a person. */
export interface Accepted {
  readonly token: string;
  readonly generation: number;
  readonly outcome: "done" | "failed" | "released";
  /** Of a `done` one, as it was stored. */
  readonly value: unknown;
  readonly fingerprint: string | undefined;
}

export interface Granted {
  readonly token: string;
  readonly generation: number;
  readonly claimId: string;
  readonly onAbandoned: "rerun" | "hold";
}

/**
 * What the store must hold for one key, told only by the requests that it applied and the answers that it gave. A record
 * that starts anew (the first one, or after retention or forget) is a new generation.
 */
export interface RecordHistory {
  readonly generation: number;
  readonly token: string | undefined;
  readonly status: "none" | "running" | "done" | "failed" | "final" | "uncertain";
  readonly runs: number;
  readonly seen: number;
  readonly fingerprint: string | undefined;
  readonly leaseUntilMs: number;
  readonly accepted: readonly Accepted[];
  readonly grants: ReadonlyMap<string, Granted>;
  /** Tokens whose live claim was forgotten by force: from then on only the token protects. */
  readonly forced: ReadonlySet<string>;
  /** Steps that the store has acknowledged in this generation. */
  readonly steps: ReadonlyMap<string, string>;
  isAbsent(nowMs: number): boolean;
  /** The token is current and its lease has not run out. */
  isLive(token: string, nowMs: number): boolean;
  claimed(request: ClaimRequest, result: ClaimResult, nowMs: number): void;
  extended(lease: Lease, result: ExtendResult, nowMs: number): void;
  settled(settlement: Settlement, result: SettleResult, nowMs: number): void;
  resolved(resolution: Resolution, result: ResolveResult, nowMs: number): void;
  forgot(force: boolean, result: ForgetResult, nowMs: number): void;
  /** Records past their retention are gone for good, also if the clock is set back. */
  purged(nowMs: number): void;
}

/** Tokens only grow over the whole store. */
export interface TokenWatch {
  newest: number;
}

export function createRecordHistory(key: string, verdict: Verdict, tokens: TokenWatch): RecordHistory {
  const grants = new Map<string, Granted>();
  const byClaimId = new Map<string, Granted>();
  const accepted: Accepted[] = [];
  const forced = new Set<string>();
  const settlements = new Map<string, Settlement>();
  let steps = new Map<string, string>();
  let generation = 0;
  let current: Granted | undefined;
  let status: RecordHistory["status"] = "none";
  let runs = 0;
  let seen = 0;
  let fingerprint: string | undefined;
  let leaseUntilMs = 0;
  let retentionMs = 0;
  let maxAttempts: number | undefined;
  let expiresAtMs: number | undefined;

  const broken = (invariant: Invariant, how: string) => verdict.broken(invariant, `${key}: ${how}`);
  const isAbsent = (nowMs: number) => status === "none" || (expiresAtMs !== undefined && expiresAtMs <= nowMs);
  const isOpen = () => status === "running" || status === "uncertain";
  const leaseOver = (nowMs: number) => status === "running" && nowMs >= leaseUntilMs;
  const isHeld = (nowMs: number) => status === "uncertain" || (leaseOver(nowMs) && current?.onAbandoned === "hold");

  function isLive(token: string, nowMs: number): boolean {
    return current?.token === token && status === "running" && nowMs < leaseUntilMs && !isAbsent(nowMs);
  }

  // --- claims ---

  function claimed(request: ClaimRequest, result: ClaimResult, nowMs: number): void {
    const known = byClaimId.get(request.claimId);
    if (known !== undefined && isLive(known.token, nowMs) && result.kind !== "granted" && result.kind !== "mismatch") {
      broken("I7b", `the claim that holds token ${known.token} was sent again and answered ${result.kind}`);
    }
    switch (result.kind) {
      case "granted":
        return known === undefined ? grantedNew(request, result, nowMs) : grantedAgain(known, result);
      case "mismatch":
        return mismatched(request, nowMs);
      case "stale":
        if (known === undefined) broken("I7b", "a claim that was never granted was answered stale");
        return;
      default:
        if (isAbsent(nowMs)) broken("I9", `a record that is gone answered ${result.kind}`);
        if (differs(request)) broken("I10", `a claim with another fingerprint was answered ${result.kind}`);
        seen += request.arrivals;
        answered(request, result, nowMs);
    }
  }

  const differs = (request: ClaimRequest) =>
    fingerprint !== undefined && request.fingerprint !== undefined && fingerprint !== request.fingerprint;

  function mismatched(request: ClaimRequest, nowMs: number): void {
    if (isAbsent(nowMs)) broken("I9", "a record that is gone answered mismatch");
    else if (!differs(request)) broken("I10", "a claim with the same fingerprint, or none, was answered mismatch");
  }

  function answered(
    request: ClaimRequest,
    result: Extract<ClaimResult, { kind: "busy" | "done" | "failed" | "uncertain" }>,
    nowMs: number,
  ): void {
    switch (result.kind) {
      case "busy":
        if (status !== "running" || leaseOver(nowMs)) broken("I7", `busy, and the record is ${status}, its lease over`);
        return;
      case "done": {
        const stored = accepted.at(-1);
        if (status !== "done") broken("I2", `answered done, and the record is ${status}`);
        else if (stored?.value !== decoded(result.result) || stored?.token !== result.token) {
          broken("I2", `replays ${String(decoded(result.result))}; accepted was ${String(stored?.value)}`);
        }
        return;
      }
      case "failed":
        if (status === "final") return;
        if (status === "done" || request.maxAttempts === undefined || runs < request.maxAttempts) {
          broken("I6", `answered as a final failure, and the record is ${status} after ${runs} runs`);
        }
        return end("final", nowMs);
      case "uncertain":
        if (!isHeld(nowMs) && !(leaseOver(nowMs) && request.onAbandoned === "hold")) {
          broken("I5", `answered uncertain, and the record is ${status} with a live lease or policy rerun`);
        }
        status = "uncertain";
    }
  }

  function grantedAgain(known: Granted, result: ClaimResult & { kind: "granted" }): void {
    if (known.token !== result.token) {
      broken("I3", `one claimId was granted token ${known.token} and then token ${result.token}`);
    } else if (current !== known || status !== "running") {
      broken("I6", `the claim of token ${known.token} was granted again after it was settled`);
    }
  }

  function grantedNew(request: ClaimRequest, result: ClaimResult & { kind: "granted" }, nowMs: number): void {
    const { token } = result;
    if (Number(token) <= tokens.newest) broken("I3", `token ${token} was granted after ${tokens.newest}`);
    tokens.newest = Math.max(tokens.newest, Number(token));

    const fresh = isAbsent(nowMs);
    if (!fresh) checkGrantAgain(request, nowMs);
    if (fresh) {
      generation += 1;
      steps = new Map();
      fingerprint = undefined;
    }
    runs = fresh ? 1 : runs + 1;
    seen = fresh ? Math.max(1, request.arrivals) : seen + request.arrivals;
    if (result.runs !== runs) broken("I8", `token ${token} is run ${result.runs}, and ${runs} were granted and kept`);
    checkSteps(result.steps);

    fingerprint ??= request.fingerprint;
    const { claimId, onAbandoned } = request;
    current = { token, generation, claimId, onAbandoned };
    grants.set(token, current);
    byClaimId.set(claimId, current);
    status = "running";
    leaseUntilMs = nowMs + request.leaseMs;
    retentionMs = request.retentionMs;
    maxAttempts = request.maxAttempts;
    expiresAtMs = undefined;
  }

  function checkGrantAgain(request: ClaimRequest, nowMs: number): void {
    if (status === "done") broken("I6", "runs again inside the retention of an accepted completion");
    if (status === "final") broken("I6", "runs again after a final failure");
    if (status === "running" && !leaseOver(nowMs)) broken("I1", `granted while token ${current?.token} has a live lease`);
    if (isHeld(nowMs) || (status === "running" && request.onAbandoned === "hold")) {
      broken("I5", `taken over from token ${current?.token} under hold`);
    }
    if (differs(request)) broken("I10", "granted to another fingerprint inside one retention");
    if (request.maxAttempts !== undefined && runs >= request.maxAttempts) {
      broken("I8", `run ${runs + 1} was granted to a call with maxAttempts ${request.maxAttempts}`);
    }
  }

  function checkSteps(given: ReadonlyMap<string, Uint8Array>): void {
    for (const [name, value] of steps) {
      if (decoded(given.get(name)) !== value) broken("I11", `step ${name} was acknowledged and is gone`);
    }
    if (given.size > steps.size) broken("I11", "a grant brings steps that this record never had");
  }

  // --- extensions and settlements ---

  function extended({ token, leaseMs }: Lease, result: ExtendResult, nowMs: number): void {
    const live = isLive(token, nowMs);
    if (result.kind === "lost" && live) broken("I3", `the heartbeat of token ${token} was refused while it is live`);
    if (result.kind !== "extended") return;
    if (!live) broken("I3", `a heartbeat revived token ${token}; the record is ${status} at token ${current?.token}`);
    leaseUntilMs = nowMs + leaseMs;
  }

  function settled(settlement: Settlement, result: SettleResult, nowMs: number): void {
    const { kind, token } = settlement;
    const mine = !isAbsent(nowMs) && current?.token === token;
    checkOneWay(settlement);
    if (kind === "step") return stepped(settlement, result, mine);
    const same = sameSettlement(settlements.get(token), settlement);
    if (result.kind === "lost") {
      if (mine && (isOpen() || same)) broken("I3", `${kind} by the current token ${token} was refused`);
      return;
    }
    if (!mine) return broken("I3", `${kind} by token ${token} was accepted; the record is ${status} at ${current?.token}`);
    if (!isOpen()) {
      if (!same) broken("I6", `${kind} by token ${token} was answered settled; the record was settled otherwise`);
      return;
    }
    settlements.set(token, settlement);
    accept(settlement, nowMs);
  }

  function checkOneWay(settlement: Settlement): void {
    if (settlement.kind === "step") return;
    const first = sent.get(settlement.token);
    if (first === undefined) sent.set(settlement.token, settlement);
    else if (!sameSettlement(first, settlement)) {
      broken("I6", `token ${settlement.token} sends ${settlement.kind} after it sent ${first.kind}`);
    }
  }
  const sent = new Map<string, Settlement>();

  function stepped(step: Settlement & { kind: "step" }, result: SettleResult, mine: boolean): void {
    const value = String(decoded(step.result));
    const stored = steps.get(step.name);
    const acceptable = mine && isOpen() && (stored === undefined || stored === value);
    if (result.kind === "lost" && acceptable) broken("I3", `step ${step.name} by token ${step.token} was refused`);
    if (result.kind !== "settled") return;
    if (!acceptable) broken("I3", `step ${step.name} by token ${step.token} was accepted; the record is ${status}`);
    steps.set(step.name, value);
  }

  function accept(settlement: Exclude<Settlement, { kind: "step" }>, nowMs: number): void {
    seen += settlement.arrivals;
    const { token } = settlement;
    switch (settlement.kind) {
      case "complete":
        keep(token, "done", decoded(settlement.result));
        return end("done", nowMs);
      case "fail":
        keep(token, "failed", undefined);
        return end(settlement.permanent || isLastAttempt() ? "final" : "failed", nowMs);
      case "release":
        runs -= 1;
        keep(token, "released", undefined);
        return end("failed", nowMs);
    }
  }

  const isLastAttempt = () => maxAttempts !== undefined && runs >= maxAttempts;

  function keep(token: string, outcome: Accepted["outcome"], value: unknown): void {
    accepted.push({ token, generation, outcome, value, fingerprint });
  }

  function end(to: "done" | "failed" | "final", nowMs: number): void {
    status = to;
    expiresAtMs = nowMs + retentionMs;
  }

  // --- people ---

  function resolved({ token, seenStatus, to }: Resolution, result: ResolveResult, nowMs: number): void {
    if (result.kind !== "resolved") return;
    const asSeen = seenStatus === "uncertain" ? isHeld(nowMs) : status === "failed" || status === "final";
    if (isAbsent(nowMs) || current?.token !== token || !asSeen) {
      broken("I5", `a decision about token ${token}, ${seenStatus}, hit token ${current?.token}, ${status}`);
    }
    settlements.delete(token);
    keep(token, to.status, to.status === "done" ? decoded(to.result) : undefined);
    end(to.status === "done" ? "done" : to.final || isLastAttempt() ? "final" : "failed", nowMs);
  }

  function forgot(force: boolean, result: ForgetResult, nowMs: number): void {
    if (result.forgotten === 0 || isAbsent(nowMs)) return;
    const live = current !== undefined && isLive(current.token, nowMs);
    if (live && !force) broken("I1", "a live claim was forgotten without force");
    if (live) forced.add(current?.token ?? "");
    status = "none";
  }

  return {
    get generation() {
      return generation;
    },
    get token() {
      return current?.token;
    },
    get status() {
      return status;
    },
    get runs() {
      return runs;
    },
    get seen() {
      return seen;
    },
    get fingerprint() {
      return fingerprint;
    },
    get leaseUntilMs() {
      return leaseUntilMs;
    },
    get steps() {
      return steps;
    },
    accepted,
    grants,
    forced,
    isAbsent,
    isLive,
    claimed,
    extended,
    settled,
    resolved,
    forgot,
    purged(nowMs) {
      if (isAbsent(nowMs)) status = "none";
    },
  };
}

/** Values are plain text in the simulation, so their JSON is theirs. */
export function decoded(bytes: Uint8Array | undefined): unknown {
  return bytes === undefined ? undefined : JSON.parse(Buffer.from(bytes).toString());
}

function sameSettlement(left: Settlement | undefined, right: Settlement): boolean {
  if (left === undefined || left.kind !== right.kind) return false;
  if (left.kind === "complete" && right.kind === "complete") return decoded(left.result) === decoded(right.result);
  if (left.kind === "fail" && right.kind === "fail") {
    return left.permanent === right.permanent && Buffer.from(left.error ?? []).equals(Buffer.from(right.error ?? []));
  }
  return left.kind === "release";
}
