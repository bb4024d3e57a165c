import { HapaxError } from "../errors.js";
import { answered } from "./answered.js";
import { type EncodedResult, encodeWithin } from "./codec.js";
import { RunContext, type TransactionContext } from "./context.js";
import type { Engine } from "./engine.js";
import type { HeldClaim } from "./held-claim.js";
import { type Operation, requireFunction } from "./operation.js";
import { outcomeUnknown } from "./refusals.js";
import { completed, completionOf, endExecution, fail, type Outcome, type Work } from "./run.js";
import type { Completion, SettleResult, Store, TransactionResult } from "./store.js";

export type TransactionFunction<Tx, T> = (tx: Tx, ctx: TransactionContext) => T | Promise<T>;

/** The function refused, as opposed to the commit: everything was rolled back. */
class RolledBack extends Error {}

/**
 * A transaction: the user's writes and the settlement commit together, only while the token is current.
 *
 *     claim ── committed ──► BEGIN ── user's writes ── settle by token ── COMMIT
 *                             └── a crash anywhere here leaves no effect, and a claim that its lease ends
 */
export class TransactionWork<Tx, T> implements Work<T> {
  readonly #engine: Engine;
  readonly #store: Store<Tx>;
  readonly #fn: TransactionFunction<Tx, T>;

  constructor(engine: Engine, store: Store<Tx>, fn: TransactionFunction<Tx, T>) {
    this.#engine = engine;
    this.#store = store;
    this.#fn = fn;
  }

  check(): void {
    requireFunction(this.#fn);
    if (this.#store.transaction === undefined) {
      throw new HapaxError("unsupported", "This store has no transactions: use run(), or a store on SQLite.");
    }
    const isAsync = this.#fn.constructor.name === "AsyncFunction";
    if (isAsync && this.#store.capabilities.synchronousTransactions) throw mustBeSynchronous("nothing was run");
  }

  lead(claim: HeldClaim): Promise<Outcome<T>> {
    return lead(this.#engine, claim, this.#store, this.#fn);
  }

  unprotected(): never {
    throw new HapaxError("unsupported", "A transaction never runs unprotected.");
  }
}

async function lead<Tx, T>(
  engine: Engine,
  claim: HeldClaim,
  store: Store<Tx>,
  fn: TransactionFunction<Tx, T>,
): Promise<Outcome<T>> {
  const ctx = new RunContext(engine, claim);
  const made: { value?: T; result?: EncodedResult } = {};
  const finish = (value: T): Completion => {
    made.value = value;
    made.result = { bytes: encode(engine, claim.operation, value) };
    claim.settling = true;
    return completionOf(claim, made.result.bytes, ctx.metadata);
  };
  let answer: TransactionResult;
  try {
    answer = await commit(store, (tx) => {
      const returned = fn(tx, ctx);
      if (!isPromise(returned)) return finish(returned);
      if (store.capabilities.synchronousTransactions) throw refusePromise(returned);
      return returned.then(finish);
    });
  } catch (error) {
    if (error instanceof RolledBack) {
      await fail(engine, claim, error.cause, ctx.metadata);
      throw error.cause;
    }
    if (made.result === undefined) return neverBegan(engine, claim, error);
    answer = await lookAfterCommit(engine, claim, error);
  }
  if (answer.kind === "rolled-back") {
    await fail(engine, claim, answer.error, ctx.metadata);
    throw answer.error;
  }
  endExecution(engine, claim);
  if (answer.kind === "settled") return completed(engine, claim, made.value as T, made.result ?? { bytes: undefined });
  claim.end({ kind: "anew", counted: false });
  const lost = claim.lostError("its token is no longer the record's, so the transaction was rolled back");
  claim.lose(lost);
  throw lost;
}

/** Tells a function that threw from a commit that did. */
async function commit<Tx>(
  store: Store<Tx>,
  work: (tx: Tx) => Completion | Promise<Completion>,
): Promise<TransactionResult> {
  const rolledBack = (cause: unknown): never => {
    throw new RolledBack("rolled back", { cause });
  };
  const { transaction } = store;
  if (transaction === undefined) throw new Error("checked before the claim");
  return transaction.call(store, (tx) => {
    try {
      const made = work(tx);
      return isPromise(made) ? made.catch(rolledBack) : made;
    } catch (error) {
      return rolledBack(error);
    }
  });
}

/** Inside the transaction a result that cannot be stored undoes everything. */
function encode({ codec, resultBytesMax }: Engine, { settings }: Operation, value: unknown): Uint8Array | undefined {
  const wayOut = "The transaction was rolled back. Return less, or set storeResult: false.";
  return settings.storeResult ? encodeWithin(codec, value, resultBytesMax, "The function's result", wayOut) : undefined;
}

/** The store refused before the function was called: the claim is given back, as if the call had not come. */
async function neverBegan(engine: Engine, claim: HeldClaim, error: unknown): Promise<never> {
  const { scope, key } = claim.operation;
  claim.settling = true;
  const released = await engine.client.settle(claim, {
    kind: "release",
    scope,
    key,
    token: claim.token,
    arrivals: claim.arrivals,
  });
  endExecution(engine, claim);
  claim.end({ kind: "anew", counted: released.kind === "settled" });
  throw error;
}

/** Never settles outside the transaction and never runs it again: it reads. Done by my token is success. */
async function lookAfterCommit(engine: Engine, claim: HeldClaim, cause: unknown): Promise<SettleResult> {
  const { scope, key } = claim.operation;
  const record = await answered(engine, engine.store.read({ scope, key })).catch(() => undefined);
  if (record?.status === "done" && record.token === claim.token) return { kind: "settled", final: false };
  endExecution(engine, claim);
  claim.end({ kind: "anew", counted: false });
  const unknown = outcomeUnknown(claim.operation, "the store did not answer the commit");
  claim.lose(unknown);
  throw Object.assign(unknown, { cause });
}

/** A function that is not marked `async` may still return a promise, and what it does after it is out of our hands. */
function refusePromise(promise: Promise<unknown>): HapaxError {
  Promise.resolve(promise).catch(() => {});
  return mustBeSynchronous(
    "the transaction was rolled back, and whatever it does after its first await is not part of one",
  );
}

function mustBeSynchronous(soThat: string): HapaxError {
  return new HapaxError(
    "invalid-option",
    "On this store a transaction's function must be synchronous, because it shares the handle with everyone else. " +
      `Await what you need before the call; ${soThat}.`,
  );
}

function isPromise<T>(value: T | Promise<T>): value is Promise<T> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}
