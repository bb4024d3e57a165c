import type { Settlement } from "../../../packages/hapax/src/index.js";
import type { WorldTime } from "../process-clock.js";
import type { Invariant, Verdict } from "./verdict.js";

/** A claim that the store granted. */
export interface Granted {
  readonly token: string;
  readonly generation: number;
  readonly onAbandoned: "rerun" | "hold";
}

/** An outcome that the store accepted, from a worker or from a person. */
export interface Accepted {
  readonly token: string;
  readonly generation: number;
  readonly outcome: "done" | "failed" | "released";
  /** Of a `done` one. */
  readonly value: unknown;
  readonly fingerprint: string | undefined;
}

export type Ending = Exclude<Settlement, { kind: "step" }>;

/**
 * What the store must hold for one key, told only by the requests that it applied and the answers that it gave. A record
 * that starts anew (the first one, or after retention or forget) is a new generation.
 */
export interface RecordState {
  readonly key: string;
  readonly verdict: Verdict;
  readonly time: WorldTime;
  /** Tokens only grow over the whole store. */
  readonly tokens: { newest: number };
  generation: number;
  /** In true time. */
  generationSinceMs: number;
  status: "none" | "running" | "done" | "failed" | "final" | "uncertain";
  /** The newest grant. */
  current: Granted | undefined;
  leaseUntilMs: number;
  retentionMs: number;
  expiresAtMs: number | undefined;
  maxAttempts: number | undefined;
  fingerprint: string | undefined;
  /** This generation began without a fingerprint: who was counted then may turn out a mismatch later. */
  beganWithoutFingerprint: boolean;
  runs: number;
  seen: number;
  /** Results of the steps that it keeps. */
  steps: Map<string, unknown>;
  /** Every step that was accepted, with its generation and value. */
  readonly stepsEver: Set<string>;
  /** By token. */
  readonly grants: Map<string, Granted>;
  readonly grantsByClaimId: Map<string, Granted>;
  readonly accepted: Accepted[];
  /** How a worker settled it, by token; not what a person decided instead. */
  readonly settledBy: Map<string, Ending>;
  /** The first settlement that was sent for a token. */
  readonly sent: Map<string, Ending>;
  /** Tokens whose function threw after its trust had ended or its caller had left: nobody knows what it did. */
  readonly stopped: Set<string>;
  /** Tokens whose live claim was forgotten by force: from then on only the token protects. */
  readonly forced: Set<string>;
}

export function createRecordState(
  key: string,
  verdict: Verdict,
  time: WorldTime,
  tokens: { newest: number },
): RecordState {
  return {
    key,
    verdict,
    time,
    tokens,
    generation: 0,
    generationSinceMs: 0,
    status: "none",
    current: undefined,
    leaseUntilMs: 0,
    retentionMs: 0,
    expiresAtMs: undefined,
    maxAttempts: undefined,
    fingerprint: undefined,
    beganWithoutFingerprint: false,
    runs: 0,
    seen: 0,
    steps: new Map(),
    stepsEver: new Set(),
    grants: new Map(),
    grantsByClaimId: new Map(),
    accepted: [],
    settledBy: new Map(),
    sent: new Map(),
    stopped: new Set(),
    forced: new Set(),
  };
}

export function broken({ key, verdict }: RecordState, invariant: Invariant, how: string): void {
  verdict.broken(invariant, `${key}: ${how}`);
}

export function isAbsent({ status, expiresAtMs }: RecordState, nowMs: number): boolean {
  return status === "none" || (expiresAtMs !== undefined && expiresAtMs <= nowMs);
}

/** The token is current and its lease has not run out. */
export function isLive(state: RecordState, token: string | undefined, nowMs: number): boolean {
  const { current, status, leaseUntilMs } = state;
  return token !== undefined && current?.token === token && status === "running" && nowMs < leaseUntilMs;
}

export function isOpen({ status }: RecordState): boolean {
  return status === "running" || status === "uncertain";
}

/** Waits for a decision. Whoever looks at it moves it to `uncertain`, so when that happens does not matter. */
export function isUncertain(state: RecordState, nowMs: number): boolean {
  return state.status === "uncertain" || (isAbandoned(state, nowMs) && state.current?.onAbandoned === "hold");
}

export function isAbandoned({ status, leaseUntilMs }: RecordState, nowMs: number): boolean {
  return status === "running" && nowMs >= leaseUntilMs;
}

export function isLastAttempt({ maxAttempts, runs }: RecordState): boolean {
  return maxAttempts !== undefined && runs >= maxAttempts;
}

/** No worker reported how it ended, and nobody decided. */
export function isNeverSettled({ accepted }: RecordState, token: string): boolean {
  return !accepted.some((each) => each.token === token);
}

export function accept(state: RecordState, token: string, outcome: Accepted["outcome"], value: unknown): void {
  const { generation, fingerprint } = state;
  state.accepted.push({ token, generation, outcome, value, fingerprint });
}

/** Retention starts here. */
export function end(state: RecordState, status: "done" | "failed" | "final", nowMs: number): void {
  state.status = status;
  state.expiresAtMs = nowMs + state.retentionMs;
}

export function stepOf(generation: number, name: string, value: unknown): string {
  return `${generation}/${name}/${String(value)}`;
}

/** Values are plain text in the simulation, so their JSON is theirs. */
export function decoded(bytes: Uint8Array | undefined): unknown {
  return bytes === undefined ? undefined : JSON.parse(Buffer.from(bytes).toString());
}
