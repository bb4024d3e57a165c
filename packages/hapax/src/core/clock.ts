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

/** How far the two clocks may lie apart before the one that is behind is set right: more than they round by. */
const APART_MS_MAX = 5;

/**
 * The time by which a claim is trusted: it follows whichever of the two clocks advanced more.
 *
 *     wall       ──────────────┐ set back 1 h        monotonic keeps counting
 *     monotonic  ────── suspended ──────             wall keeps counting
 *
 * So it never runs slower than either (by more than APART_MS_MAX in all), and trust can end early, but not late.
 */
export function trustTime(clock: Clock): () => number {
  let wallStartMs = clock.wallMs();
  let monotonicStartMs = clock.monotonicMs();
  let nowMs = 0;
  return () => {
    const wall = clock.wallMs();
    const monotonic = clock.monotonicMs();
    const byWallMs = wall - wallStartMs;
    const byMonotonicMs = monotonic - monotonicStartMs;
    nowMs = Math.max(nowMs, byWallMs, byMonotonicMs);
    if (nowMs - byWallMs > APART_MS_MAX) wallStartMs = wall - nowMs;
    if (nowMs - byMonotonicMs > APART_MS_MAX) monotonicStartMs = monotonic - nowMs;
    return nowMs;
  };
}

/** A clock whose timers can all be fired at once, so that whatever sleeps wakes up and sees that it is closing time. */
export interface WakeableClock extends Clock {
  wakeAll(): void;
}

export function wakeableClock(clock: Clock): WakeableClock {
  const waiting = new Set<() => void>();
  return {
    wallMs: () => clock.wallMs(),
    monotonicMs: () => clock.monotonicMs(),
    after(ms, callback, options) {
      const wake = () => {
        waiting.delete(wake);
        cancel();
        callback();
      };
      const cancel = clock.after(ms, wake, options);
      waiting.add(wake);
      return () => {
        waiting.delete(wake);
        cancel();
      };
    },
    wakeAll() {
      for (const wake of [...waiting]) wake();
    },
  };
}

/** Resolves after `ms`. */
export function sleep(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => void clock.after(ms, resolve));
}
