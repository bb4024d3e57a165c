import type { Trial } from "./trial.js";

/** One clause of the contract, and how to see whether a store keeps it. */
export interface Clause {
  /** The rule or requirement that it comes from. */
  readonly rule: string;
  /** A sentence that is true of every store. */
  readonly name: string;
  readonly check: (trial: Trial) => Promise<void>;
}
