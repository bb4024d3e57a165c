import type { HapaxError } from "../errors.js";
import { onAbort } from "./abort.js";
import { ask, isAdmission, untilAdmitted } from "./admission.js";
import { decodeStored, type EncodedResult, encodeError, encodeResult, isPermanent, omissionOf } from "./codec.js";
import { type Context, RunContext, unprotectedContext } from "./context.js";
import type { Engine } from "./engine.js";
import { aboutClaim } from "./heartbeat.js";
import { HeldClaim } from "./held-claim.js";
import { type Call, type Operation, parseCall, requireFunction, shownOperation } from "./operation.js";
import type { Token } from "./record.js";
import { outcomeUnknown, resultOmitted } from "./refusals.js";
import type { Completion } from "./store.js";
import type { ClaimAnswer, SettleAnswer } from "./store-client.js";
import { within } from "./timeout.js";

/** What a call came to. */
export interface Outcome<T> {
  readonly value: T;
  /** The value was stored by an earlier run, or by one that this call waited for. */
  readonly replayed: boolean;
  /** How often the work was run so far. */
  readonly attempt: number;
  readonly key: string;
  readonly token: Token;
  /** `false`: the work was done, and the store may not know it. */
  readonly stored: boolean;
}

/** What a call wants done once it is admitted. */
export interface Work<T> {
  /** Refuses what cannot be done, before anything is asked of the store. */
  check(): void;
  /** Under a claim that was just granted. */
  lead(claim: HeldClaim): Promise<Outcome<T>>;
  /** Without a claim: the store is down, and the call chose to run all the same. */
  unprotected(operation: Operation): Promise<Outcome<T>>;
}

/**
 * The way of every call: ask the store; then lead the work, or replay its result. Whoever meets others of its key on the
 * way waits for its turn in `admission.ts`.
 */
export async function admit<T>(engine: Engine, call: Call, work: Work<T>): Promise<Outcome<T>> {
  engine.inFlight.enter();
  try {
    const operation = parseCall(call, engine.settings, engine.codec);
    work.check();
    operation.signal?.throwIfAborted();
    const alone = !engine.executions.has(operation.id);
    const first = alone ? await ask(engine, operation) : undefined;
    let admission = isAdmission(first) ? first : await untilAdmitted(engine, operation, first);
    while (admission.kind === "granted" && isTooLate(engine, operation, admission)) {
      engine.client.release(operation, admission);
      admission = await untilAdmitted(engine, operation, { kind: "stale" });
    }
    switch (admission.kind) {
      case "granted":
        return await work.lead(takeUp(engine, operation, admission));
      case "done":
        return replay(engine, operation, admission);
      case "joined":
        return replayed(engine, operation, admission.claim, admission.value as T, true);
      case "down":
        return await work.unprotected(operation);
    }
  } finally {
    engine.inFlight.leave();
  }
}

/** The grant was heard in time, but the loop was blocked since: nothing may start on it. */
function isTooLate(
  engine: Engine,
  { settings }: Operation,
  { firstSentMs }: { readonly firstSentMs: number },
): boolean {
  return engine.now() >= firstSentMs + settings.trustMs;
}

function takeUp(engine: Engine, operation: Operation, grant: ClaimAnswer & { kind: "granted" }): HeldClaim {
  const claim = new HeldClaim(operation, grant, grant.firstSentMs, engine.now, engine.onLost);
  // The store let this one in, so an older one of this process is fenced: after a forced forget it may not know yet.
  const older = engine.executions.get(operation.id);
  // One that is settling hears from the store itself what became of it.
  if (older?.running) older.lose(older.lostError("a newer claim was granted"));
  engine.executions.set(operation.id, claim);
  engine.heartbeat.added(claim);
  if (grant.takeover) engine.events.emit("takeover", aboutClaim, claim);
  engine.events.emit("claimed", aboutClaim, claim);
  return claim;
}

/** An ordinary run: the function, then its settlement. */
export class RunWork<T> implements Work<T> {
  readonly #engine: Engine;
  readonly #fn: (ctx: Context) => Promise<T> | T;

  constructor(engine: Engine, fn: (ctx: Context) => Promise<T> | T) {
    this.#engine = engine;
    this.#fn = fn;
  }

  check(): void {
    requireFunction(this.#fn);
  }

  lead(claim: HeldClaim): Promise<Outcome<T>> {
    return within(this.#engine, claim.operation, execute(this.#engine, claim, this.#fn), (timeout) => {
      // Its function is over; what is left is the store's, and bounded by the claim's own trust.
      if (claim.settling) return false;
      endExecution(this.#engine, claim);
      claim.lose(timeout);
      this.#engine.client.count(claim.operation, claim.takeTurnedAway());
      this.#engine.events.emit("timeout", aboutClaim, claim);
      return true;
    });
  }

  unprotected(operation: Operation): Promise<Outcome<T>> {
    const controller = new AbortController();
    return within(this.#engine, operation, runUnprotected(this.#engine, operation, controller, this.#fn), (timeout) => {
      controller.abort(timeout);
      return true;
    });
  }
}

async function runUnprotected<T>(
  engine: Engine,
  operation: Operation,
  controller: AbortController,
  fn: (ctx: Context) => Promise<T> | T,
): Promise<Outcome<T>> {
  const caller = operation.signal;
  const unlink = caller === undefined ? undefined : onAbort(caller, () => controller.abort(caller.reason));
  engine.unprotected.add(controller);
  try {
    const ctx = unprotectedContext(operation, controller.signal);
    const value = await fn(ctx);
    return { value, replayed: false, attempt: 1, key: operation.key, token: ctx.token, stored: false };
  } finally {
    engine.unprotected.delete(controller);
    unlink?.();
  }
}

async function execute<T>(engine: Engine, claim: HeldClaim, fn: (ctx: Context) => Promise<T> | T): Promise<Outcome<T>> {
  const ctx = new RunContext(engine, claim);
  let value: T;
  try {
    value = await fn(ctx);
  } catch (error) {
    await fail(engine, claim, error, ctx.metadata);
    throw error;
  }
  const result = encode(engine, claim.operation, value);
  claim.settling = true;
  const answer = await engine.client.settle(claim, completionOf(claim, result.bytes, ctx.metadata));
  endExecution(engine, claim);
  if (answer.kind !== "settled") return notCompleted(engine, claim, value, result, answer);
  return completed(engine, claim, value, result);
}

function encode({ codec, resultBytesMax }: Engine, { settings }: Operation, value: unknown): EncodedResult {
  return settings.storeResult ? encodeResult(codec, value, resultBytesMax) : { bytes: undefined };
}

export function completionOf(
  claim: HeldClaim,
  result: Uint8Array | undefined,
  metadata: Uint8Array | undefined,
): Completion {
  const { operation, token } = claim;
  const { scope, key } = operation;
  return { kind: "complete", scope, key, token, result, metadata, arrivals: claim.arrivals };
}

export function completed<T>(engine: Engine, claim: HeldClaim, value: T, result: EncodedResult): Outcome<T> {
  const { operation, token, attempt } = claim;
  engine.events.emit("completed", aboutClaim, claim);
  if (result.refusal !== undefined) {
    claim.end({ kind: "error", error: resultOmitted(operation, result.refusal.code) });
    throw result.refusal;
  }
  claim.end({ kind: "value", value, bytes: result.bytes });
  return { value, replayed: false, attempt, key: operation.key, token, stored: true };
}

function notCompleted<T>(
  engine: Engine,
  claim: HeldClaim,
  value: T,
  { refusal }: EncodedResult,
  answer: Exclude<SettleAnswer, { kind: "settled" }>,
): Outcome<T> {
  const { operation, token, attempt } = claim;
  claim.end({ kind: "anew", counted: false });
  if (answer.kind === "unanswered") {
    warnNotStored(engine, claim, answer.error);
    if (refusal !== undefined) throw refusal;
    return { value, replayed: false, attempt, key: operation.key, token, stored: false };
  }
  const error = settlementRefused(claim, answer);
  claim.lose(error);
  throw error;
}

function settlementRefused(claim: HeldClaim, { kind }: { readonly kind: "lost" | "unknown" }): HapaxError {
  return kind === "lost"
    ? claim.lostError("the function ran, but its token is no longer the record's, so its outcome was refused")
    : outcomeUnknown(claim.operation, "the function ran, the store did not answer, and the record has changed since");
}

export async function fail(
  engine: Engine,
  claim: HeldClaim,
  error: unknown,
  metadata: Uint8Array | undefined,
): Promise<void> {
  const { operation, token } = claim;
  // Who left took only its own call along: the duplicates still want the work, and ask for it themselves.
  const leaderLeft = operation.signal?.aborted === true;
  claim.settling = true;
  if (operation.settings.onAbandoned === "hold" && (leaderLeft || !claim.trusted)) return abandon(engine, claim);
  const answer = await engine.client.settle(claim, {
    kind: "fail",
    scope: operation.scope,
    key: operation.key,
    token,
    error: encodeError(error),
    permanent: isPermanent(error),
    metadata,
    arrivals: claim.arrivals,
  });
  endExecution(engine, claim);
  if (answer.kind === "settled") {
    engine.events.emit("failed", () => ({ ...aboutClaim(claim), final: answer.final, error }));
    claim.end(leaderLeft ? { kind: "anew", counted: true } : { kind: "error", error });
    return;
  }
  claim.end({ kind: "anew", counted: false });
  if (answer.kind === "unanswered") return warnNotStored(engine, claim, answer.error);
  claim.lose(settlementRefused(claim, answer));
}

/**
 * The function was stopped from outside (its trust ended, its timeout, its caller, closing), so its error does not say
 * whether the effect happened. Under `hold` that is for a person: the lease runs out and the record becomes `uncertain`.
 */
function abandon(engine: Engine, claim: HeldClaim): void {
  endExecution(engine, claim);
  claim.end({ kind: "anew", counted: false });
  engine.client.count(claim.operation, claim.takeTurnedAway());
}

export function endExecution(engine: Engine, claim: HeldClaim): void {
  if (engine.executions.get(claim.operation.id) === claim) engine.executions.delete(claim.operation.id);
}

function replay<T>(engine: Engine, operation: Operation, done: ClaimAnswer & { kind: "done" }): Outcome<T> {
  const { result } = done;
  const omission = result === undefined ? undefined : omissionOf(result);
  if (omission !== undefined) throw resultOmitted(operation, omission);
  const value = result === undefined ? undefined : decodeStored(engine.codec, result, "The stored result");
  return replayed(engine, operation, { token: done.token, attempt: done.runs }, value as T, false);
}

function replayed<T>(
  engine: Engine,
  { scope, key }: Operation,
  { token, attempt }: { readonly token: Token; readonly attempt: number },
  value: T,
  joined: boolean,
): Outcome<T> {
  engine.events.emit("replayed", () => ({ scope, key, token, attempt, joined }));
  return { value, replayed: true, attempt, key, token, stored: true };
}

function warnNotStored(engine: Engine, claim: HeldClaim, error: unknown): void {
  engine.events.emit("not-stored", () => ({ ...aboutClaim(claim), error }));
  engine.logger.error("not-stored: the function ended and the store did not take its outcome; it may run again", {
    ...shownOperation(claim.operation),
    error,
  });
}
