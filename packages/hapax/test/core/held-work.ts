import type { Context } from "../../src/index.js";
import { HapaxError } from "../../src/index.js";

export interface Deferred<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (error: unknown) => void;
}

export function deferred<T>(): Deferred<T> {
  let resolve: Deferred<T>["resolve"] = () => {};
  let reject: Deferred<T>["reject"] = () => {};
  const promise = new Promise<T>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  return { promise, resolve, reject };
}

/** A function that counts its runs, and ends each of them when the test says so. */
export interface HeldWork<T> {
  readonly fn: (ctx: Context) => Promise<T>;
  /** The contexts of its runs, the first one first. */
  readonly contexts: Context[];
  readonly runs: number;
  /** The context of the latest run. */
  readonly ctx: Context;
  /** Resolves once it has been run so often. */
  started(runs?: number): Promise<void>;
  /** Ends the oldest run that has not ended. */
  finish(value: T): void;
  fail(error: unknown): void;
}

export function heldWork<T = string>(): HeldWork<T> {
  const contexts: Context[] = [];
  const open: Deferred<T>[] = [];
  const oldest = (): Deferred<T> => {
    const run = open.shift();
    if (run === undefined) throw new Error("no run of this work is open");
    return run;
  };
  return {
    fn(ctx) {
      const run = deferred<T>();
      contexts.push(ctx);
      open.push(run);
      return run.promise;
    },
    contexts,
    get runs() {
      return contexts.length;
    },
    get ctx() {
      const ctx = contexts.at(-1);
      if (ctx === undefined) throw new Error("this work was not run");
      return ctx;
    },
    started: (runs = 1) => until(() => contexts.length >= runs),
    finish: (value) => oldest().resolve(value),
    fail: (error) => oldest().reject(error),
  };
}

/** Lets the event loop turn until it is so. No time passes. */
export async function until(condition: () => boolean): Promise<void> {
  for (let turn = 0; turn < 1_000; turn += 1) {
    if (condition()) return;
    await new Promise(setImmediate);
  }
  throw new Error("it did not come to be so");
}

/** The HapaxError that the call ends with. Listens from now on, so that the test may let time pass first. */
export function refusal(call: Promise<unknown>): Promise<HapaxError> {
  return heard(
    thrownBy(call).then((error) => {
      if (error instanceof HapaxError) return error;
      throw new Error("not a HapaxError", { cause: error });
    }),
  );
}

/** What the call throws, likewise. */
export function thrownBy(call: Promise<unknown>): Promise<unknown> {
  return heard(
    call.then(
      (value) => {
        throw new Error(`the call did not fail; it answered ${JSON.stringify(value)}`);
      },
      (error: unknown) => error,
    ),
  );
}

/** A test that ends early leaves no rejection unheard, which would fail its neighbours. */
export function heard<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}

/** Watches a call without waiting for it. */
export function watched(call: Promise<unknown>): { readonly ended: boolean } {
  const state = { ended: false };
  const end = () => {
    state.ended = true;
  };
  call.then(end, end);
  return state;
}
