import { HapaxError } from "../errors.js";
import { decodeStored } from "./codec.js";
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

export function isAdmission<A extends Answer>(answer: A | undefined): answer is Extract<A, Admission> {
  return answer?.kind === "granted" || answer?.kind === "done" || answer?.kind === "down";
}

/** The first question of a call. */
export function ask(engine: Engine, operation: Operation): Promise<Answer> {
  if (operation.settings.onStoreDown === "open") return askOrRunOpen(engine, operation);
  return engine.client.claim(operation, 1);
}

async function askOrRunOpen(engine: Engine, operation: Operation): Promise<Answer> {
  try {
    return await engine.client.claim(operation, 1);
  } catch (error) {
    if (!isStoreDown(error)) throw error;
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

/** One call among others of its key. */
interface Visit {
  readonly operation: Operation;
  readonly waiting: Waiting;
  /** The store, or an execution that it answers for, has counted this arrival. */
  counted: boolean;
  announced: boolean;
}

/**
 * A call that met others of its key goes round until it may lead, is served or is refused. It knows that another runs
 * the work, so not even `onStoreDown: "open"` runs it too.
 */
export async function untilAdmitted(
  engine: Engine,
  operation: Operation,
  first: Exclude<Answer, Admission> | undefined,
): Promise<Admission> {
  const waiting = createWaiting(engine, operation);
  const visit: Visit = { operation, waiting, counted: first !== undefined, announced: false };
  try {
    for (let answer: ClaimAnswer | undefined = first; ; answer = await nextAnswer(engine, visit)) {
      if (isAdmission(answer)) return answer;
      if (answer !== undefined) await makeWay(engine, visit, answer);
      const joined = await joinLocal(engine, visit);
      if (joined !== undefined) return joined;
    }
  } finally {
    waiting.stop();
  }
}

async function nextAnswer(engine: Engine, visit: Visit): Promise<ClaimAnswer> {
  const answer = await engine.client.claim(visit.operation, visit.counted ? 0 : 1);
  visit.counted = true;
  return answer;
}

/** Waits for the executions of this process, for as long as there is one to share. */
async function joinLocal(engine: Engine, visit: Visit): Promise<Admission | undefined> {
  const { operation, waiting } = visit;
  for (;;) {
    const local = engine.executions.get(operation.id);
    if (local === undefined || !sharesWork(engine, visit, local)) return undefined;
    const { settling } = local;
    const ending = await waiting.ending(local, visit.counted || settling);
    // Who came while it settled was not counted by it, and asks the store.
    if (settling) return undefined;
    if (ending.kind === "error") throw ending.error;
    if (ending.kind === "value") return { kind: "joined", claim: local, value: shared(engine, ending) };
    visit.counted ||= ending.counted;
  }
}

/** Refuses, or waits until asking again is worth it. */
async function makeWay(engine: Engine, visit: Visit, answer: Exclude<ClaimAnswer, Admission>): Promise<void> {
  const { operation, waiting } = visit;
  switch (answer.kind) {
    case "failed":
      throw finalFailure(operation, answer);
    case "mismatch":
      throw refuseMismatch(engine, operation);
    case "uncertain":
      return reconcile(engine, operation, answer);
    case "stale":
      return waiting.again();
    case "busy": {
      announceBusy(engine, visit);
      if (operation.settings.onBusy === "reject") throw inProgress(operation, answer.retryAfterMs);
      // The holder may be of this process: then there is nothing to poll for.
      const local = engine.executions.get(operation.id);
      if (local === undefined || !sharesWork(engine, visit, local)) await waiting.turn(answer.retryAfterMs);
    }
  }
}

/** Joining needs the same fingerprint: where one side has none, only the store knows the record's. */
function sharesWork(engine: Engine, visit: Visit, local: HeldClaim): boolean {
  const { operation } = visit;
  const theirs = local.operation.fingerprint;
  if (theirs !== operation.fingerprint) {
    const differ = theirs !== undefined && operation.fingerprint !== undefined;
    if (local.joinable && differ) throw refuseMismatch(engine, operation);
    return false;
  }
  const waits = operation.settings.onBusy === "wait";
  if (!local.joinable) return local.settling && local.trusted && waits;
  announceBusy(engine, visit);
  if (waits) return true;
  if (!visit.counted) local.turnAway();
  throw inProgress(operation, local.trustedUntilMs - engine.now());
}

/** A replay is what the store holds, so a joiner gets a copy of its own; with `storeResult: false` there is but one. */
function shared({ codec }: Engine, { value, bytes }: Ending & { kind: "value" }): unknown {
  return bytes === undefined ? value : decodeStored(codec, bytes, "The stored result");
}

/** Once for a call, however often it asks. */
function announceBusy(engine: Engine, visit: Visit): void {
  if (visit.announced) return;
  visit.announced = true;
  const { scope, key, settings } = visit.operation;
  engine.events.emit("busy", () => ({ scope, key, waits: settings.onBusy === "wait" }));
}

function refuseMismatch(engine: Engine, operation: Operation): HapaxError {
  const { scope, key } = operation;
  engine.events.emit("mismatch", () => ({ scope, key }));
  return mismatch(operation);
}
