import { HapaxError, shownKey } from "../errors.js";
import { onAbort } from "./abort.js";
import { JOINERS_MAX } from "./limits.js";
import type { Operation } from "./operation.js";
import type { Token } from "./record.js";
import type { ClaimResult } from "./store.js";

export type Grant = Extract<ClaimResult, { kind: "granted" }>;

/** How an execution ended, for the duplicates of this process that waited for it. */
export type Ending =
  /** The store holds the result: it is theirs too. */
  | { readonly kind: "value"; readonly value: unknown; readonly bytes: Uint8Array | undefined }
  | { readonly kind: "error"; readonly error: unknown }
  /** Nothing that they may be served: they ask the store themselves. `counted`: their arrival is recorded already. */
  | { readonly kind: "anew"; readonly counted: boolean };

/** Told once for a claim, whoever notices it first: its timer, its function, or its settlement. */
export type OnLost = (claim: HeldClaim, error: HapaxError) => void;

/**
 * A claim that this process holds, from its grant to its settlement.
 *
 *     first send of the claim                          at the store
 *     │◄──────────── trusted ───────────►│◄─ margin ─►│
 *     │                                   │            └ lease over: another may take over
 *     │                                   └ signal aborts, assertHeld() refuses, nobody joins any more
 *
 * Each extension moves both from the moment it was sent. The settlement goes out even later: the token decides.
 */
export class HeldClaim {
  readonly operation: Operation;
  readonly token: Token;
  readonly attempt: number;
  readonly steps: ReadonlyMap<string, Uint8Array>;
  /** On the engine's trust time. */
  trustedUntilMs: number;
  nextBeatMs: number;
  /** An extension is under way. */
  beating = false;
  /**
   * The settlement is under way. The claim is no longer extended, so that its retries end with its trust; an extension
   * that is answered lost is our own doing; and nobody joins.
   */
  settling = false;

  readonly #now: () => number;
  readonly #onLost: OnLost;
  #controller: AbortController | undefined;
  #unlinkCaller: (() => void) | undefined;
  #lost: HapaxError | undefined;
  #told = false;
  #joiners = 0;
  #turnedAway = 0;
  #ending: Ending | undefined;
  #waiters: Set<(ending: Ending) => void> | undefined;

  constructor(operation: Operation, grant: Grant, firstSentMs: number, now: () => number, onLost: OnLost) {
    const { trustMs, heartbeatMs } = operation.settings;
    this.operation = operation;
    this.token = grant.token;
    this.attempt = grant.runs;
    this.steps = grant.steps;
    this.#now = now;
    this.#onLost = onLost;
    this.trustedUntilMs = firstSentMs + trustMs;
    this.nextBeatMs = heartbeatMs === undefined ? Number.POSITIVE_INFINITY : firstSentMs + heartbeatMs;
  }

  get trusted(): boolean {
    return this.#lost === undefined && this.#now() < this.trustedUntilMs;
  }

  /** Its function runs and nothing has ended its trust yet, as far as anyone has looked. */
  get running(): boolean {
    return !this.settling && this.#lost === undefined;
  }

  /** Made when first asked for: most functions never look at it. */
  get signal(): AbortSignal {
    // A loop that was blocked has run no timer: whoever looks is told all the same.
    if (this.running && !this.trusted) this.lose(this.lostError("its lease can no longer be trusted"));
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#lost !== undefined) this.#controller.abort(this.#lost);
      else if (this.#ending === undefined) this.#linkCaller(this.#controller);
    }
    return this.#controller.signal;
  }

  #linkCaller(controller: AbortController): void {
    const caller = this.operation.signal;
    if (caller === undefined) return;
    const forward = () => controller.abort(caller.reason);
    if (caller.aborted) return forward();
    this.#unlinkCaller = onAbort(caller, forward);
  }

  assertHeld(): void {
    if (this.#lost !== undefined) throw this.#lost;
    if (!this.trusted) throw this.lostError("its lease can no longer be trusted");
  }

  /** Ends trust for good: an extension that succeeds later does not bring it back. */
  lose(error: HapaxError): void {
    this.#tell(error);
    if (this.#lost !== undefined) return;
    this.#lost = error;
    this.#controller?.abort(error);
    this.#unlinkCaller?.();
    this.#end({ kind: "anew", counted: false });
  }

  /** A timeout and closing are told by themselves; after them the claim may still turn out to be someone else's. */
  #tell(error: HapaxError): void {
    if (this.#told || (error.code !== "claim-lost" && error.code !== "outcome-unknown")) return;
    this.#told = true;
    this.#onLost(this, error);
  }

  lostError(why: string): HapaxError {
    const { scope, key } = this.operation;
    return new HapaxError(
      "claim-lost",
      `The claim on ${scope}/${shownKey(key)} (token ${this.token}) is lost: ${why}. ` +
        "Stop the work; if it is still wanted, the next delivery runs it.",
      { scope, key: shownKey(key) },
    );
  }

  // --- duplicates of this process ---

  get joinable(): boolean {
    return !this.settling && this.trusted;
  }

  /** Resolves with the ending, at the latest when `leave` is called. */
  join(counted: boolean): { readonly ended: Promise<Ending>; readonly leave: () => void } {
    this.#waiters ??= new Set();
    if (this.#waiters.size >= JOINERS_MAX) throw tooManyJoiners(this.operation.key);
    if (!counted) this.#joiners += 1;
    let leave = () => {};
    const ended = new Promise<Ending>((resolve) => {
      if (this.#ending !== undefined) return resolve(this.#ending);
      this.#waiters?.add(resolve);
      leave = () => {
        this.#waiters?.delete(resolve);
        if (counted || this.#ending !== undefined) return;
        // It arrived, and will not be served by this execution.
        this.#joiners -= 1;
        this.#turnedAway += 1;
      };
    });
    return { ended, leave };
  }

  /** A duplicate was answered without waiting. */
  turnAway(): void {
    this.#turnedAway += 1;
  }

  /** Those who were turned away from a claim that will not settle: they are counted otherwise. */
  takeTurnedAway(): number {
    const count = this.#turnedAway;
    this.#turnedAway = 0;
    return count;
  }

  /** The arrivals that travel with the settlement. */
  get arrivals(): number {
    return this.#turnedAway + this.#joiners;
  }

  end(ending: Ending): void {
    this.#unlinkCaller?.();
    this.#end(ending);
  }

  #end(ending: Ending): void {
    if (this.#ending !== undefined) return;
    this.#ending = ending;
    // They will be counted by the store when they ask it.
    if (ending.kind === "anew" && !ending.counted) this.#joiners = 0;
    for (const resolve of this.#waiters ?? []) resolve(ending);
    this.#waiters = undefined;
  }
}

export function tooManyJoiners(key: string): HapaxError {
  return new HapaxError("overloaded", `${JOINERS_MAX} duplicates of ${shownKey(key)} wait in this process already.`);
}
