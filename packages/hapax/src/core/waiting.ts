import { HapaxError, shownKey } from "../errors.js";
import { onAbort } from "./abort.js";
import type { Engine } from "./engine.js";
import type { Ending, HeldClaim } from "./held-claim.js";
import type { Operation } from "./operation.js";
import { inProgress } from "./refusals.js";

const POLL_MS_MIN = 20;
const POLL_MS_MAX = 1_000;
/** With a push the poll is only a net under it. */
const NET_POLL_MS = 2_000;

/** The patience of one call: until when it waits for another's claim, and what wakes it. */
export interface Waiting {
  /** Waits until asking again is worth it. Rejects when patience or the caller's signal ends. */
  turn(retryAfterMs: number): Promise<void>;
  /** Waits for an execution of this process to end. Rejects likewise. */
  ending(claim: HeldClaim, counted: boolean): Promise<Ending>;
  /** Ends after `wait` also where nobody is busy, so that no call goes round for ever. */
  again(): void;
  stop(): void;
}

export function createWaiting({ store, clock }: Pick<Engine, "store" | "clock">, operation: Operation): Waiting {
  const { settings, signal } = operation;
  let untilMs: number | undefined;
  let pollMs = POLL_MS_MIN;
  let unwatch: (() => void) | undefined;
  let woken = false;
  let onWake = () => {};

  function leftMs(): number {
    untilMs ??= clock.monotonicMs() + settings.waitMs;
    return untilMs - clock.monotonicMs();
  }

  async function turn(retryAfterMs: number): Promise<void> {
    const left = leftMs();
    if (left <= 0) throw inProgress(operation, retryAfterMs);
    if (store.watch !== undefined && unwatch === undefined) {
      unwatch = store.watch(operation, () => {
        woken = true;
        onWake();
      });
      // It may have settled between the answer and the watch: ask once more before sleeping.
      return;
    }
    if (!woken) await pause(Math.min(left, Math.max(1, retryAfterMs), nextPollMs()));
    woken = false;
  }

  function nextPollMs(): number {
    if (unwatch !== undefined) return NET_POLL_MS;
    const ms = pollMs;
    pollMs = Math.min(pollMs * 1.5, POLL_MS_MAX);
    return ms;
  }

  /** Until `ms` have passed, a push arrives, or the caller leaves. */
  function pause(ms: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const finish = () => {
        cancel();
        stopListening?.();
        onWake = () => {};
      };
      const wake = () => {
        finish();
        resolve();
      };
      const leave = () => {
        finish();
        reject(signal?.reason);
      };
      const cancel = clock.after(ms, wake);
      onWake = wake;
      const stopListening = signal === undefined ? undefined : onAbort(signal, leave);
      if (signal?.aborted) leave();
    });
  }

  async function ending(claim: HeldClaim, counted: boolean): Promise<Ending> {
    if (leftMs() <= 0) throw inProgress(operation, settings.leaseMs);
    const { ended, leave } = claim.join(counted);
    let ending: Ending | undefined;
    void ended.then((reached) => {
      ending = reached;
      onWake();
    });
    try {
      // A push from the store wakes it too, a little before the execution has ended here.
      while (ending === undefined && leftMs() > 0) await pause(leftMs());
    } finally {
      if (ending === undefined) leave();
    }
    if (ending === undefined) throw inProgress(operation, settings.leaseMs);
    return ending;
  }

  return {
    turn,
    ending,
    again() {
      if (leftMs() > 0) return;
      throw new HapaxError(
        "store-unavailable",
        `Every claim on ${operation.scope}/${shownKey(operation.key)} was answered after its own lease of ` +
          `${settings.leaseMs} ms. Give the call a longer lease.`,
      );
    },
    stop: () => unwatch?.(),
  };
}
