/** Where time comes from. Everything takes one, so that tests never sleep; `manualClock` is in `hapax/testing`. */
export interface Clock {
  /** Milliseconds since 1970, as the machine's clock tells it. It may jump. */
  wallMs(): number;
  /** Milliseconds since some start. It never goes back, and may stand still while the machine is suspended. */
  monotonicMs(): number;
  /** Calls back once after `ms`. With `keepAlive: false` it does not keep the process running. */
  after(ms: number, callback: () => void, options?: { readonly keepAlive?: boolean }): CancelTimer;
}

export type CancelTimer = () => void;

/** Node refuses longer timers (it would fire them at once). */
const TIMER_MS_MAX = 2 ** 31 - 1;

export const systemClock: Clock = {
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  after(ms, callback, options) {
    const timer = setTimeout(callback, Math.min(Math.max(0, ms), TIMER_MS_MAX));
    if (options?.keepAlive === false) timer.unref();
    return () => clearTimeout(timer);
  },
};

/**
 * The time by which a claim is trusted: it advances by whichever of the two clocks advanced more.
 *
 *     wall       ──────────────┐ set back 1 h        monotonic keeps counting
 *     monotonic  ────── suspended ──────             wall keeps counting
 *
 * So it never runs slower than either, and trust can only end early, never late.
 */
export function trustTime(clock: Clock): () => number {
  let wallMs = clock.wallMs();
  let monotonicMs = clock.monotonicMs();
  let elapsedMs = 0;
  return () => {
    const wall = clock.wallMs();
    const monotonic = clock.monotonicMs();
    elapsedMs += Math.max(wall - wallMs, monotonic - monotonicMs, 0);
    wallMs = wall;
    monotonicMs = monotonic;
    return elapsedMs;
  };
}

/** Resolves after `ms`, or rejects with the signal's reason when it aborts first. */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const onAbort = () => {
      cancel();
      reject(signal?.reason);
    };
    const cancel = clock.after(ms, () => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    });
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}
