import type { CancelTimer, Clock } from "../core/clock.js";

/** A clock that moves when a test says so. */
export interface ManualClock extends Clock {
  /** Time passes: timers fire in order, each followed by everything that it sets going. */
  advance(ms: number): Promise<void>;
  /** The process stands still: time passes and no timer fires until the next `advance`. */
  stall(ms: number): void;
  /** The machine's clock is set, forward or back; no time passes. */
  setWall(byMs: number): void;
  /** The process sleeps with the machine: the wall clock moves on, the monotonic one does not. */
  suspend(ms: number): void;
  /** Lets everything that is ready happen, without any time passing. */
  settle(): Promise<void>;
  /** Timers that are waiting. */
  readonly timers: number;
}

interface Timer {
  readonly atMs: number;
  readonly sequence: number;
  readonly callback: () => void;
}

/** Turns of the event loop that a chain of promises and immediates may need to come to rest. */
const TURNS = 4;

/**
 * @example
 * const clock = manualClock();
 * const hapax = createHapax({ store: memoryStore({ clock }), clock });
 * await clock.advance(30_000);
 */
export function manualClock(startMs: number = Date.UTC(2030, 0, 1)): ManualClock {
  const timers = new Set<Timer>();
  let monotonicMs = 0;
  let wallOffsetMs = startMs;
  let sequence = 0;

  const nextDue = (untilMs: number): Timer | undefined => {
    let next: Timer | undefined;
    for (const timer of timers) {
      if (timer.atMs > untilMs) continue;
      const earlier =
        next === undefined || timer.atMs < next.atMs || (timer.atMs === next.atMs && timer.sequence < next.sequence);
      if (earlier) next = timer;
    }
    return next;
  };

  async function settle(): Promise<void> {
    for (let turn = 0; turn < TURNS; turn += 1) await new Promise(setImmediate);
  }

  return {
    wallMs: () => wallOffsetMs + monotonicMs,
    monotonicMs: () => monotonicMs,
    after(ms, callback): CancelTimer {
      const timer: Timer = { atMs: monotonicMs + Math.max(0, ms), sequence: ++sequence, callback };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    async advance(ms) {
      await settle();
      const untilMs = monotonicMs + ms;
      for (let due = nextDue(untilMs); due !== undefined; due = nextDue(untilMs)) {
        timers.delete(due);
        monotonicMs = Math.max(monotonicMs, due.atMs);
        due.callback();
        await settle();
      }
      monotonicMs = untilMs;
      await settle();
    },
    stall(ms) {
      monotonicMs += ms;
    },
    setWall(byMs) {
      wallOffsetMs += byMs;
    },
    suspend(ms) {
      wallOffsetMs += ms;
    },
    settle,
    get timers() {
      return timers.size;
    },
  };
}
