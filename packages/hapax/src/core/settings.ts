import { HapaxError } from "../errors.js";
import { type Duration, describe, parseDurationMs } from "./durations.js";
import { type AbandonedPolicy, STATUSES, type Token } from "./record.js";

/** What a duplicate does while another caller runs: wait for its result, or be told `in-progress`. */
export type BusyPolicy = "wait" | "reject";

/** What a call does while the store is down: nothing runs (`closed`), or it runs unprotected (`open`). */
export type StoreDownPolicy = "closed" | "open";

/** Decides an uncertain record: the work took effect, it did not, or nobody can tell yet. */
export type Reconcile = (uncertain: UncertainWork) => Promise<Reconciled | undefined> | Reconciled | undefined;

export interface UncertainWork {
  readonly scope: string;
  readonly key: string;
  readonly token: Token;
  readonly attempt: number;
  readonly metadata: unknown;
}

export type Reconciled = { readonly status: "done"; readonly value: unknown } | { readonly status: "failed" };

/** How a call behaves. Given to `createHapax` these are the defaults of every call. */
export interface Behaviour {
  /** How long a claim holds without a heartbeat. Default 30 s; {@link documents} has 10 min. */
  readonly lease?: Duration;
  /** How often a running claim is extended. Default a third of the lease; `false` for none (serverless). */
  readonly heartbeat?: Duration | false;
  /** How long a settled record is remembered. Default 24 h, counted from settle. */
  readonly retention?: Duration;
  /** Default `wait`. */
  readonly onBusy?: BusyPolicy;
  /** The longest a duplicate waits. Default 30 s; then `in-progress`. */
  readonly wait?: Duration;
  /** The longest the function may run. Then its signal aborts, the call ends with `timeout` and the claim is left to its lease. */
  readonly timeout?: Duration;
  /** Default `rerun`. */
  readonly onAbandoned?: AbandonedPolicy;
  /** Default `closed`. */
  readonly onStoreDown?: StoreDownPolicy;
  /** After so many failed runs the failure is final. Default: no limit. */
  readonly maxAttempts?: number;
  /** `false` keeps that the work was done, and not what it returned. Default `true`. */
  readonly storeResult?: boolean;
  /** Asked when a record is `uncertain`. Without it the call ends with `outcome-unknown`. */
  readonly reconcile?: Reconcile;
}

/**
 * The behaviour for files and other long work: a lease of 10 minutes, extended every 2.
 *
 * @example
 * await hapax.run({ scope: "documents", key: await fileKey(path), ...documents }, (ctx) => extract(path, ctx.signal));
 */
export const documents: { readonly lease: "10m"; readonly heartbeat: "2m" } = { lease: "10m", heartbeat: "2m" };

/** A behaviour that was checked, in milliseconds. */
export interface Settings {
  readonly leaseMs: number;
  /** How long after the first send of its claim a claim is trusted; what is left of the lease is the margin. */
  readonly trustMs: number;
  readonly heartbeatMs: number | undefined;
  readonly retentionMs: number;
  readonly onBusy: BusyPolicy;
  readonly waitMs: number;
  readonly timeoutMs: number | undefined;
  readonly onAbandoned: AbandonedPolicy;
  readonly onStoreDown: StoreDownPolicy;
  readonly maxAttempts: number | undefined;
  readonly storeResult: boolean;
  readonly reconcile: Reconcile | undefined;
}

export const BEHAVIOUR_NAMES: readonly (keyof Behaviour)[] = [
  "lease",
  "heartbeat",
  "retention",
  "onBusy",
  "wait",
  "timeout",
  "onAbandoned",
  "onStoreDown",
  "maxAttempts",
  "storeResult",
  "reconcile",
];

/** Checks a behaviour; what it leaves out comes from `base`. */
export function parseBehaviour(behaviour: Behaviour, base: Settings | undefined): Settings {
  const leaseMs = behaviour.lease === undefined ? (base?.leaseMs ?? 30_000) : parseDurationMs("lease", behaviour.lease);
  const trustMs = leaseMs - marginMs(leaseMs);
  return {
    leaseMs,
    trustMs,
    heartbeatMs: parseHeartbeatMs(behaviour, base, leaseMs, trustMs),
    retentionMs: optionalMs("retention", behaviour.retention) ?? base?.retentionMs ?? 24 * 3_600_000,
    onBusy: oneOf("onBusy", behaviour.onBusy, ["wait", "reject"]) ?? base?.onBusy ?? "wait",
    waitMs: optionalMs("wait", behaviour.wait) ?? base?.waitMs ?? 30_000,
    timeoutMs: optionalMs("timeout", behaviour.timeout) ?? base?.timeoutMs,
    onAbandoned: oneOf("onAbandoned", behaviour.onAbandoned, ["rerun", "hold"]) ?? base?.onAbandoned ?? "rerun",
    onStoreDown: oneOf("onStoreDown", behaviour.onStoreDown, ["closed", "open"]) ?? base?.onStoreDown ?? "closed",
    maxAttempts: parseMaxAttempts(behaviour.maxAttempts) ?? base?.maxAttempts,
    storeResult: ofType("storeResult", behaviour.storeResult, "boolean") ?? base?.storeResult ?? true,
    reconcile: ofType("reconcile", behaviour.reconcile, "function") ?? base?.reconcile,
  };
}

/** Clocks drift and replies are slow: trust ends this long before the lease does at the store. */
function marginMs(leaseMs: number): number {
  return Math.min(Math.max(leaseMs / 10, 250), leaseMs / 2);
}

function parseHeartbeatMs(
  { heartbeat, lease }: Behaviour,
  base: Settings | undefined,
  leaseMs: number,
  trustMs: number,
): number | undefined {
  if (heartbeat === false) return undefined;
  if (heartbeat === undefined) {
    if (lease === undefined && base !== undefined) return base.heartbeatMs;
    return base !== undefined && base.heartbeatMs === undefined ? undefined : leaseMs / 3;
  }
  const heartbeatMs = parseDurationMs("heartbeat", heartbeat);
  if (heartbeatMs < trustMs) return heartbeatMs;
  throw new HapaxError(
    "invalid-option",
    `heartbeat (${heartbeatMs} ms) must be shorter than the part of the lease that is trusted (${trustMs} ms of ` +
      `${leaseMs} ms), or the claim is lost before its first extension. A third of the lease is the default; ` +
      "`heartbeat: false` never extends.",
  );
}

function parseMaxAttempts(maxAttempts: unknown): number | undefined {
  if (maxAttempts === undefined) return undefined;
  if (typeof maxAttempts === "number" && Number.isSafeInteger(maxAttempts) && maxAttempts >= 1) return maxAttempts;
  throw new HapaxError(
    "invalid-option",
    `maxAttempts must be a whole number of at least 1; got ${String(maxAttempts)}.`,
  );
}

function optionalMs(name: string, duration: unknown): number | undefined {
  return duration === undefined ? undefined : parseDurationMs(name, duration);
}

export function oneOf<Value extends string>(
  name: string,
  value: unknown,
  allowed: readonly Value[],
): Value | undefined {
  if (value === undefined) return undefined;
  const found = allowed.find((each) => each === value);
  if (found !== undefined) return found;
  const choices = allowed.map((each) => JSON.stringify(each)).join(" or ");
  throw new HapaxError("invalid-option", `${name} must be ${choices}; got ${describe(value)}.`);
}

export const parseStatus = (status: unknown): (typeof STATUSES)[number] | undefined =>
  oneOf("status", status, STATUSES);

export function ofType<Value>(
  name: string,
  value: Value | undefined,
  type: "string" | "boolean" | "function",
): Value | undefined {
  if (value === undefined || typeof value === type) return value;
  throw new HapaxError("invalid-option", `${name} must be a ${type}; got ${value === null ? "null" : typeof value}.`);
}

/** Refuses what nobody would read: a misspelt option must not silently do nothing. */
export function refuseUnknown(what: string, given: object, known: ReadonlySet<string>): void {
  for (const name in given) {
    if (known.has(name)) continue;
    throw new HapaxError(
      "invalid-option",
      `${what} has no option ${JSON.stringify(name.slice(0, 40))}. It takes: ${[...known].join(", ")}.`,
    );
  }
}
