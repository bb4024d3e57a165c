import { HapaxError } from "../errors.js";
import type { Engine } from "./engine.js";
import type { Ending, HeldClaim } from "./held-claim.js";
import { type Operation, shownOperation } from "./operation.js";
import { reconcile } from "./reconcile.js";
import { finalFailure, inProgress, mismatch } from "./refusals.js";
import type { ClaimAnswer } from "./store-client.js";
import { createWaiting, type Waiting } from "./waiting.js";

/** The store's answer to a call. `down`: there was none, and the call chose to run all the same. */
export type Answer = ClaimAnswer | { readonly kind: "down" };

/** How a call may go on; whoever may not is refused with an error. */
export type Admission =
  | Extract<Answer, { kind: "granted" | "done" | "down" }>
  /** An execution of this process ended, and the store took its result. */
  | { readonly kind: "joined"; readonly claim: HeldClaim; readonly value: unknown };

export function isAdmission(answer: Answer | undefined): answer is Extract<Answer, Admission> {
  return answer?.kind === "granted" || answer?.kind === "done" || answer?.kind === "down";
}

export function ask(engine: Engine, operation: Operation, arrivals: 0 | 1): Promise<Answer> {
  if (operation.settings.onStoreDown === "open") return askOrRunOpen(engine, operation, arrivals);
  return engine.client.claim(operation, arrivals);
}

/** Once told that another runs it (`arrivals` 0), not even `onStoreDown: "open"` runs it too. */
async function askOrRunOpen(engine: Engine, operation: Operation, arrivals: 0 | 1): Promise<Answer> {
  try {
    return await engine.client.claim(operation, arrivals);
  } catch (error) {
    if (arrivals === 0 || !isStoreDown(error)) throw error;
    const { scope, key } = operation;
    engine.events.emit("unprotected", () => ({ scope, key, error }));
    engine.logger.error("unprotected: the store is down and the work runs without a claim; check it for duplicates", {
      ...shownOperation(operation),
      error,
    });
    return { kind: "down" };
  }
}

function isStoreDown(error: unknown): boolean {
  return error instanceof HapaxError && error.code === "store-unavailable";
}

/** A call that met others of its key goes round until it may lead, is served or is refused. */
export async function untilAdmitted(
  engine: Engine,
  operation: Operation,
  first: Answer | undefined,
): Promise<Admission> {
  const waiting = createWaiting(engine, operation);
  /** The store, or an execution that it answers for, has counted this arrival. */
  let counted = first !== undefined;
  let answer = first;
  try {
    for (;;) {
      const local = engine.executions.get(operation.id);
      if (answer === undefined && local !== undefined && sharesWork(engine, local, operation, counted)) {
        const { settling } = local;
        const ending = await waiting.ending(local, counted || settling);
        // Who came while it settled was not counted by it, and asks the store.
        if (!settling && ending.kind === "error") throw ending.error;
        if (!settling && ending.kind === "value")
          return { kind: "joined", claim: local, value: shared(engine, ending) };
        continue;
      }
      answer ??= await ask(engine, operation, counted ? 0 : 1);
      counted = true;
      if (isAdmission(answer)) return answer;
      await makeWay(engine, operation, waiting, answer);
      answer = undefined;
    }
  } finally {
    waiting.stop();
  }
}

/** Refuses, or waits until asking again is worth it. */
async function makeWay(
  engine: Engine,
  operation: Operation,
  waiting: Waiting,
  answer: Exclude<Answer, Admission>,
): Promise<void> {
  switch (answer.kind) {
    case "failed":
      throw finalFailure(operation, answer);
    case "mismatch":
      throw refuseMismatch(engine, operation);
    case "uncertain":
      return reconcile(engine, operation, answer);
    case "stale":
      return waiting.again();
    case "busy":
      announceBusy(engine, operation);
      if (operation.settings.onBusy === "reject") throw inProgress(operation, answer.retryAfterMs);
      return waiting.turn(answer.retryAfterMs);
  }
}

/** Joining needs the same fingerprint: where one side has none, only the store knows the record's. */
function sharesWork(engine: Engine, local: HeldClaim, operation: Operation, counted: boolean): boolean {
  const theirs = local.operation.fingerprint;
  if (theirs !== operation.fingerprint) {
    const differ = theirs !== undefined && operation.fingerprint !== undefined;
    if (local.joinable && differ) throw refuseMismatch(engine, operation);
    return false;
  }
  const waits = operation.settings.onBusy === "wait";
  if (!local.joinable) return local.settling && local.trusted && waits;
  announceBusy(engine, operation);
  if (waits) return true;
  if (!counted) local.turnAway();
  throw inProgress(operation, local.trustedUntilMs - engine.now());
}

/** A replay is what the store holds, so a joiner gets a copy of its own; with `storeResult: false` there is but one. */
function shared({ codec }: Engine, { value, bytes }: Ending & { kind: "value" }): unknown {
  return bytes === undefined ? value : codec.decode(bytes);
}

function announceBusy(engine: Engine, { scope, key, settings }: Operation): void {
  engine.events.emit("busy", () => ({ scope, key, waits: settings.onBusy === "wait" }));
}

function refuseMismatch(engine: Engine, operation: Operation): HapaxError {
  const { scope, key } = operation;
  engine.events.emit("mismatch", () => ({ scope, key }));
  return mismatch(operation);
}
