import { HapaxError } from "../errors.js";
import { encodeError, encodeWithin, isPermanent, omissionOf, omittedResult } from "./codec.js";
import { type Context, RunContext } from "./context.js";
import type { Engine } from "./engine.js";
import { aboutClaim } from "./heartbeat.js";
import { HeldClaim } from "./held-claim.js";
import { type Operation, shownOperation } from "./operation.js";
import { reconcile } from "./reconcile.js";
import type { Token } from "./record.js";
import { finalFailure, inProgress, mismatch, outcomeUnknown, resultOmitted } from "./refusals.js";
import type { ClaimAnswer } from "./store-client.js";
import { createWaiting, type Waiting } from "./waiting.js";

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

/** Runs the work under a claim that was just granted. */
export type Lead<T> = (claim: HeldClaim) => Promise<Outcome<T>>;

/**
 * The way of every call: join the execution of this process, or ask the store; then lead, replay, wait or be refused.
 */
export async function admit<T>(
  engine: Engine,
  operation: Operation,
  lead: Lead<T>,
  unprotected: () => Promise<Outcome<T>>,
): Promise<Outcome<T>> {
  let waiting: Waiting | undefined;
  /** The store, or an execution that it answers for, has counted this arrival. */
  let counted = false;
  try {
    for (;;) {
      const local = engine.executions.get(operation.id);
      if (local !== undefined && sharesWork(engine, local, operation, counted)) {
        waiting ??= createWaiting(engine, operation);
        const { settling } = local;
        const ending = await waiting.ending(local, counted || settling);
        if (settling || ending.kind === "anew") continue;
        if (ending.kind === "error") throw ending.error;
        return replayed(engine, operation, local, ending.value() as T, true);
      }

      let answer: ClaimAnswer;
      try {
        answer = await engine.client.claim(operation, counted ? 0 : 1);
      } catch (error) {
        // Once told that another runs it, not even `open` runs it too.
        if (counted || !mayRunUnprotected(operation, error)) throw error;
        warnUnprotected(engine, operation, error);
        return unprotected();
      }
      counted = true;

      if (answer.kind === "granted") {
        return lead(takeUp(engine, operation, answer));
      }
      if (answer.kind === "done") return replay(engine, operation, answer);
      if (answer.kind === "failed") throw finalFailure(operation, answer);
      if (answer.kind === "mismatch") throw refuseMismatch(engine, operation);

      waiting ??= createWaiting(engine, operation);
      if (answer.kind === "uncertain") await reconcile(engine, operation, answer);
      else if (answer.kind === "stale") waiting.again();
      else await waitOrRefuse(engine, operation, waiting, answer.retryAfterMs);
    }
  } finally {
    waiting?.stop();
  }
}

/** Joining needs the same fingerprint: where one side has none, only the store knows the record's. */
function sharesWork(engine: Engine, local: HeldClaim, operation: Operation, counted: boolean): boolean {
  const theirs = local.operation.fingerprint;
  if (theirs !== operation.fingerprint) {
    if (local.joinable && theirs !== undefined && operation.fingerprint !== undefined)
      throw refuseMismatch(engine, operation);
    return false;
  }
  // While it settles a duplicate waits, and then asks the store, which counts it.
  if (!local.joinable) return local.settling && local.trusted && operation.settings.onBusy === "wait";
  const { scope, key, settings } = operation;
  engine.events.emit("busy", () => ({ scope, key, waits: settings.onBusy === "wait" }));
  if (settings.onBusy === "wait") return true;
  if (!counted) local.turnAway();
  throw inProgress(operation, local.trustedUntilMs - engine.now());
}

function takeUp(engine: Engine, operation: Operation, grant: ClaimAnswer & { kind: "granted" }): HeldClaim {
  const claim = new HeldClaim(operation, grant, grant.firstSentMs, engine.now);
  engine.executions.set(operation.id, claim);
  engine.heartbeat.add(claim);
  if (grant.takeover) engine.events.emit("takeover", () => aboutClaim(claim));
  engine.events.emit("claimed", () => aboutClaim(claim));
  return claim;
}

/** Leads an ordinary run: the function, then its settlement. */
export function leadRun<T>(engine: Engine, fn: (ctx: Context) => Promise<T> | T): Lead<T> {
  return (claim) =>
    new Promise((resolve, reject) => {
      // Past its timeout the call ends here; what the function still does is settled behind it.
      if (claim.operation.settings.timeoutMs !== undefined) engine.timeouts.set(claim, reject);
      execute(engine, claim, fn).then(resolve, reject);
    });
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
  return complete(engine, claim, value, ctx.metadata);
}

async function complete<T>(
  engine: Engine,
  claim: HeldClaim,
  value: T,
  metadata: Uint8Array | undefined,
): Promise<Outcome<T>> {
  const { operation, token, attempt } = claim;
  const { scope, key } = operation;
  const encoded = encodeResult(engine, operation, value);
  beginSettling(engine, claim);
  const answer = await engine.client.settle(claim, {
    kind: "complete",
    scope,
    key,
    token,
    result: encoded.bytes,
    metadata,
    arrivals: claim.arrivals(true),
  });
  endExecution(engine, claim);

  if (answer.kind === "settled") {
    engine.events.emit("completed", () => aboutClaim(claim));
    if (encoded.refusal !== undefined) {
      claim.end({ kind: "error", error: resultOmitted(operation, encoded.refusal.message) });
      throw encoded.refusal;
    }
    const { bytes } = encoded;
    claim.end({ kind: "value", value: () => (bytes === undefined ? value : engine.codec.decode(bytes)) });
    return { value, replayed: false, attempt, key, token, stored: true };
  }

  claim.end({ kind: "anew" });
  if (answer.kind === "unanswered") {
    warnNotStored(engine, claim, answer.error);
    if (encoded.refusal !== undefined) throw encoded.refusal;
    return { value, replayed: false, attempt, key, token, stored: false };
  }
  const error =
    answer.kind === "lost"
      ? claim.lostError("the function ran, but its token is no longer the record's, so its result was refused")
      : outcomeUnknown(operation, "the function ran, the store did not answer, and the record has changed since");
  engine.events.emit("lost", () => ({ ...aboutClaim(claim), code: error.code }));
  throw error;
}

/** The work is done: a result that cannot be stored must neither undo that nor make it run again. */
function encodeResult(
  { codec, resultBytesMax }: Engine,
  { settings }: Operation,
  value: unknown,
): { readonly bytes: Uint8Array | undefined; readonly refusal?: HapaxError } {
  if (!settings.storeResult) return { bytes: undefined };
  const wayOut = "Return less, raise resultBytesMax, or set storeResult: false.";
  try {
    return { bytes: encodeWithin(codec, value, resultBytesMax, "The function's result", wayOut) };
  } catch (cause) {
    const code = cause instanceof HapaxError ? cause.code : "unserializable";
    const reason = cause instanceof Error ? cause.message : "its codec refused it.";
    const refusal = new HapaxError(
      code,
      `${reason} The function ran and will not run again; its result was not kept (code ${code}).`,
      { cause },
    );
    return { bytes: omittedResult(code), refusal };
  }
}

export async function fail(
  engine: Engine,
  claim: HeldClaim,
  error: unknown,
  metadata: Uint8Array | undefined,
): Promise<void> {
  const { operation, token } = claim;
  // Who left took only its own call along: the duplicates still want the work.
  const leaderLeft = operation.signal?.aborted === true;
  beginSettling(engine, claim);
  const answer = await engine.client.settle(claim, {
    kind: "fail",
    scope: operation.scope,
    key: operation.key,
    token,
    error: encodeError(error),
    permanent: isPermanent(error),
    metadata,
    arrivals: claim.arrivals(!leaderLeft),
  });
  endExecution(engine, claim);
  if (answer.kind === "settled") {
    engine.events.emit("failed", () => ({ ...aboutClaim(claim), final: answer.final, error }));
    claim.end(leaderLeft ? { kind: "anew" } : { kind: "error", error });
    return;
  }
  claim.end({ kind: "anew" });
  if (answer.kind === "unanswered") warnNotStored(engine, claim, answer.error);
  else engine.events.emit("lost", () => ({ ...aboutClaim(claim), code: "claim-lost" }));
}

/** From here the claim is no longer extended, so that retries of the settlement end with its trust. */
export function beginSettling(engine: Engine, claim: HeldClaim): void {
  claim.settling = true;
  engine.heartbeat.remove(claim);
  engine.timeouts.delete(claim);
}

export function endExecution(engine: Engine, claim: HeldClaim): void {
  if (engine.executions.get(claim.operation.id) === claim) engine.executions.delete(claim.operation.id);
}

function replay<T>(engine: Engine, operation: Operation, done: ClaimAnswer & { kind: "done" }): Outcome<T> {
  const { result } = done;
  const omission = result === undefined ? undefined : omissionOf(result);
  if (omission !== undefined) throw resultOmitted(operation, omission);
  const value = result === undefined ? undefined : engine.codec.decode(result);
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

async function waitOrRefuse(
  engine: Engine,
  operation: Operation,
  waiting: Waiting,
  retryAfterMs: number,
): Promise<void> {
  const { scope, key, settings } = operation;
  engine.events.emit("busy", () => ({ scope, key, waits: settings.onBusy === "wait" }));
  if (settings.onBusy === "reject") throw inProgress(operation, retryAfterMs);
  await waiting.turn(retryAfterMs);
}

function refuseMismatch(engine: Engine, operation: Operation): HapaxError {
  const { scope, key } = operation;
  engine.events.emit("mismatch", () => ({ scope, key }));
  return mismatch(operation);
}

function mayRunUnprotected({ settings }: Operation, error: unknown): boolean {
  return settings.onStoreDown === "open" && error instanceof HapaxError && error.code === "store-unavailable";
}

function warnUnprotected(engine: Engine, operation: Operation, error: unknown): void {
  const { scope, key } = operation;
  engine.events.emit("unprotected", () => ({ scope, key, error }));
  engine.logger.error("unprotected: the store is down and the work runs without a claim; check it for duplicates", {
    ...shownOperation(operation),
    error,
  });
}

function warnNotStored(engine: Engine, claim: HeldClaim, error: unknown): void {
  engine.events.emit("not-stored", () => ({ ...aboutClaim(claim), error }));
  engine.logger.error("not-stored: the function ended and the store did not take its outcome; it may run again", {
    ...shownOperation(claim.operation),
    error,
  });
}
