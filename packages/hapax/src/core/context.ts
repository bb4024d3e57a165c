import { createHash } from "node:crypto";
import { HapaxError, shownKey } from "../errors.js";
import type { Engine } from "./engine.js";
import type { HeldClaim } from "./held-claim.js";
import { checkText, encodeMetadata, type Operation } from "./operation.js";
import type { Token } from "./record.js";
import { createSteps } from "./steps.js";

/** What a running function has in hand. */
export interface Context {
  /** Aborts when the claim can no longer be trusted, before the store lets another in, and when the caller leaves. */
  readonly signal: AbortSignal;
  /** Grows with every grant: hand it to whatever can refuse a lower one. `"0"` when running unprotected. */
  readonly token: Token;
  /** How often this operation was run, this time included. */
  readonly attempt: number;
  /** Throws `claim-lost` if the claim can no longer be trusted. Call it just before an effect that cannot be undone. */
  assertHeld(): void;
  /** A stable idempotency key for another API: the same for every attempt. 32 hex digits. */
  keyFor(name: string): string;
  /** Keeps what people should see beside the record, in place of the call's metadata. Stored with the settlement. */
  setMetadata(metadata: unknown): void;
  /** Runs `fn` once: its result is stored, and a later attempt gets it instead of running it again. */
  step<T>(name: string, fn: () => Promise<T> | T): Promise<T>;
}

/** In a transaction there are no steps: everything commits together, or nothing does. */
export type TransactionContext = Omit<Context, "step">;

/** The same for every attempt and every process, and different for every name. */
export function keyFor({ scope, key }: Operation, name: string): string {
  checkText("keyFor's name", name, 512, "invalid-option");
  return createHash("sha256").update(`${scope}\0${key}\0${name}`).digest("hex").slice(0, 32);
}

/** What a function gets while the store is down and the call chose to run all the same. */
export function unprotectedContext(operation: Operation, signal: AbortSignal): Context {
  return {
    signal,
    token: "0" as Token,
    attempt: 1,
    assertHeld() {
      throw new HapaxError(
        "store-unavailable",
        `${shownKey(operation.key)} runs unprotected: there is no claim to hold.`,
      );
    },
    keyFor: (name) => keyFor(operation, name),
    setMetadata() {},
    step: async (_name, fn) => fn(),
  };
}

/** The context of a claim that is held. */
export class RunContext implements Context {
  readonly token: Token;
  readonly attempt: number;
  /** What `setMetadata` was given, in bytes. */
  metadata: Uint8Array | undefined;
  readonly #engine: Engine;
  readonly #claim: HeldClaim;
  #steps: Context["step"] | undefined;

  constructor(engine: Engine, claim: HeldClaim) {
    this.token = claim.token;
    this.attempt = claim.attempt;
    this.#engine = engine;
    this.#claim = claim;
  }

  get signal(): AbortSignal {
    return this.#claim.signal;
  }

  // Made when asked for, so that `({ step }) => …` works and an execution that needs none pays for none.
  get assertHeld(): Context["assertHeld"] {
    return () => this.#claim.assertHeld();
  }

  get keyFor(): Context["keyFor"] {
    return (name) => keyFor(this.#claim.operation, name);
  }

  get setMetadata(): Context["setMetadata"] {
    return (metadata) => {
      this.metadata = encodeMetadata(this.#engine.codec, metadata);
    };
  }

  get step(): Context["step"] {
    this.#steps ??= createSteps({ ...this.#engine, claim: this.#claim });
    return this.#steps;
  }
}
