import type { ClockSpec } from "./process-clock.js";

/** Everything that a run does, drawn by fast-check before it begins: the same plan gives the same run. */
export interface Plan {
  /** Of fast-check's scheduler, which picks the message that arrives next. */
  readonly orderSeed: number;
  /** Of `Math.random`, with which hapax spreads its retries. */
  readonly retrySeed: number;
  /** Without faults nothing is lost, late, crashed or stalled, and `seen` must be exact. */
  readonly faults: boolean;
  /** The store tells when a record has settled. */
  readonly push: boolean;
  /** Trust is probed at every moment, and not only where a function asks. */
  readonly probes: boolean;
  /** The record is read around every write. Reading moves an abandoned record, so not every run may do it. */
  readonly reads: boolean;
  /** A message that nothing holds up arrives within this. */
  readonly promptMs: number;
  readonly storeTimeoutMs: number;
  /** Every process deletes expired records every so often. */
  readonly upkeepMs: number | undefined;
  readonly defaults: Settings;
  readonly keys: number;
  readonly processes: readonly ProcessSpec[];
  /** What becomes of the messages, in the order in which they are sent; those beyond the end arrive. */
  readonly fates: readonly Fate[];
  readonly script: readonly Command[];
}

export interface ProcessSpec extends ClockSpec {
  readonly onAbandoned: "rerun" | "hold";
}

export const STEADY_PROCESS: ProcessSpec = { rate: 1, wallOffMs: 0, onAbandoned: "rerun" };

/** The part of hapax's `Behaviour` that the simulation varies. */
export interface Settings {
  readonly lease?: number;
  readonly heartbeat?: number | false;
  readonly retention?: number;
  readonly wait?: number;
  readonly timeout?: number;
  readonly onBusy?: "wait" | "reject";
  readonly onAbandoned?: "rerun" | "hold";
  readonly maxAttempts?: number;
  readonly storeResult?: false;
}

export interface CallSpec {
  /** How often it arrives at once. */
  readonly copies: number;
  readonly process: number;
  readonly key: number;
  readonly fingerprint: string | undefined;
  readonly settings: Settings;
  /** What its `reconcile` says of uncertain work; without it there is no `reconcile`. */
  readonly reconciles: "done" | "failed" | "undecided" | undefined;
  /** Its caller aborts after so many milliseconds of the process's clock, or when a command says so. */
  readonly leaves: number | "on command" | "never";
  readonly work: readonly Act[];
  readonly end: "returns" | "throws" | "throws permanently";
  /** Its pauses end when `ctx.signal` aborts. */
  readonly heedsSignal: boolean;
}

/** What a function does, one after the other. */
export type Act =
  | { readonly act: "pause"; readonly ms: number }
  /** `ctx.assertHeld()`, then an effect that cannot be undone. */
  | { readonly act: "effect" }
  | { readonly act: "step"; readonly name: string; readonly ms: number };

/** What becomes of one request and its reply. */
export interface Fate {
  /** `lost`: nobody hears of it. `refused`: its sender gets an error, and nothing was written. */
  readonly request: "arrives" | "lost" | "refused";
  /** `lost` and `broken` come after the write; `broken` gives the sender an error. */
  readonly reply: "arrives" | "lost" | "broken";
  /** The error is not `store-unavailable`, so a batch is sent again one by one. */
  readonly oddError: boolean;
  readonly requestDelayMs: number;
  readonly replyDelayMs: number;
  /** A copy of the request arrives too, this much later, and nobody hears its reply. */
  readonly copyAfterMs: number | undefined;
}

export type Command =
  | { readonly does: "calls"; readonly calls: readonly CallSpec[] }
  | { readonly does: "deliver"; readonly messages: number }
  | { readonly does: "pass"; readonly ms: number }
  | { readonly does: "leave"; readonly call: number }
  | {
      /** The process is cut off from the store. */
      readonly does: "cut";
      readonly process: number;
      readonly ms: number;
      /** What is lost: only what the store says to it, or both ways. */
      readonly direction: "replies" | "both";
    }
  | { readonly does: "close"; readonly process: number; readonly timeoutMs: number; readonly restarts: boolean }
  | { readonly does: "stall" | "suspend"; readonly process: number; readonly ms: number }
  | { readonly does: "set-wall"; readonly process: number; readonly byMs: number }
  | {
      readonly does: "crash";
      readonly process: number;
      /** What it had sent does not arrive either. */
      readonly losesMessages: boolean;
      readonly restarts: boolean;
    }
  | { readonly does: "set-store-back"; readonly byMs: number }
  | OperatorCommand;

export type OperatorCommand =
  | { readonly does: "forget"; readonly key: number; readonly force: boolean }
  | { readonly does: "resolve"; readonly key: number; readonly to: "done" | "failed" | "final" }
  | { readonly does: "purge" }
  | { readonly does: "list" };

export const PROMPT: Fate = {
  request: "arrives",
  reply: "arrives",
  oddError: false,
  requestDelayMs: 0,
  replyDelayMs: 0,
  copyAfterMs: undefined,
};
