import { HapaxError } from "../errors.js";
import { encodeWithin } from "./codec.js";
import { RunContext, type TransactionContext } from "./context.js";
import type { Engine } from "./engine.js";
import { aboutClaim } from "./heartbeat.js";
import type { HeldClaim } from "./held-claim.js";
import { outcomeUnknown } from "./refusals.js";
import { beginSettling, endExecution, fail, type Lead, type Outcome } from "./run.js";
import type { Completion, SettleResult, Store } from "./store.js";

export type TransactionFunction<Tx, T> = (tx: Tx, ctx: TransactionContext) => T | Promise<T>;

/** The function refused, as opposed to the commit: everything was rolled back. */
class RolledBack extends Error {}

/**
 * Leads a transaction: the user's writes and the settlement commit together, only while the token is current.
 *
 *     claim ── committed ──► BEGIN ── user's writes ── settle by token ── COMMIT
 *                             └── a crash anywhere here leaves no effect, and a claim that its lease ends
 */
export function leadTransaction<Tx, T>(engine: Engine, store: Store<Tx>, fn: TransactionFunction<Tx, T>): Lead<T> {
  return async (claim) => {
    const ctx = new RunContext(engine, claim);
    let value: T | undefined;
    let answer: SettleResult;
    try {
      answer = await commit(store, (tx) => {
        const finish = (returned: T): Completion => {
          value = returned;
          return completion(engine, claim, returned, ctx.metadata);
        };
        const returned = fn(tx, ctx);
        if (!isPromise(returned)) return finish(returned);
        if (store.capabilities.synchronousTransactions) throw mustBeSynchronous(returned);
        return returned.then(finish);
      });
    } catch (error) {
      if (error instanceof RolledBack) {
        await fail(engine, claim, error.cause, ctx.metadata);
        throw error.cause;
      }
      return afterUnknownCommit(engine, claim, value as T, error);
    }
    endExecution(engine, claim);
    if (answer.kind !== "settled") {
      claim.end({ kind: "anew" });
      const lost = claim.lostError("its token is no longer the record's, so the transaction was rolled back");
      engine.events.emit("lost", () => ({ ...aboutClaim(claim), code: lost.code }));
      throw lost;
    }
    return succeed(engine, claim, value as T);
  };
}

/** Tells a function that threw from a commit that did. */
async function commit<Tx>(store: Store<Tx>, work: (tx: Tx) => Completion | Promise<Completion>): Promise<SettleResult> {
  const rolledBack = (cause: unknown): never => {
    throw new RolledBack("rolled back", { cause });
  };
  if (store.transaction === undefined) {
    throw new HapaxError("unsupported", "This store has no transactions: use run().");
  }
  return store.transaction((tx) => {
    try {
      const made = work(tx);
      return isPromise(made) ? made.catch(rolledBack) : made;
    } catch (error) {
      return rolledBack(error);
    }
  });
}

/** Inside the transaction a result that cannot be stored undoes everything. */
function completion<T>(engine: Engine, claim: HeldClaim, value: T, metadata: Uint8Array | undefined): Completion {
  const { operation, token } = claim;
  const wayOut = "The transaction was rolled back. Return less, or set storeResult: false.";
  const result = operation.settings.storeResult
    ? encodeWithin(engine.codec, value, engine.resultBytesMax, "The function's result", wayOut)
    : undefined;
  beginSettling(engine, claim);
  const { scope, key } = operation;
  return { kind: "complete", scope, key, token, result, metadata, arrivals: claim.arrivals(true) };
}

/** Never settles outside the transaction and never runs it again: it reads. Done by my token is success. */
async function afterUnknownCommit<T>(engine: Engine, claim: HeldClaim, value: T, cause: unknown): Promise<Outcome<T>> {
  const { scope, key } = claim.operation;
  endExecution(engine, claim);
  const record = await engine.store.read({ scope, key }).catch(() => undefined);
  if (record?.status === "done" && record.token === claim.token) return succeed(engine, claim, value);
  claim.end({ kind: "anew" });
  const unknown = outcomeUnknown(claim.operation, "the store did not answer the commit");
  engine.events.emit("lost", () => ({ ...aboutClaim(claim), code: unknown.code }));
  throw Object.assign(unknown, { cause });
}

function succeed<T>(engine: Engine, claim: HeldClaim, value: T): Outcome<T> {
  const { token, attempt, operation } = claim;
  claim.end({ kind: "value", value: () => value });
  engine.events.emit("completed", () => aboutClaim(claim));
  return { value, replayed: false, attempt, key: operation.key, token, stored: true };
}

function mustBeSynchronous(promise: Promise<unknown>): HapaxError {
  promise.catch(() => {});
  return new HapaxError(
    "invalid-option",
    "On this store a transaction's function must be synchronous, because it shares the handle with everyone else. " +
      "Await what you need before the call; nothing was committed.",
  );
}

function isPromise<T>(value: T | Promise<T>): value is Promise<T> {
  return value instanceof Promise || (typeof value === "object" && value !== null && "then" in value);
}
