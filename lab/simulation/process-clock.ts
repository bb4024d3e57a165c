import type { CancelTimer, Clock } from "../../packages/hapax/src/index.js";

/** True time. Processes see it only through their own clocks. */
export interface WorldTime {
  nowMs: number;
}

/** How a process's clock differs from true time. */
export interface ClockSpec {
  /** Its milliseconds in a true millisecond. */
  readonly rate: number;
  /** How far its wall clock is off at the start. */
  readonly wallOffMs: number;
}

/** The clock of one simulated process: it drifts, it may be set, and its timers fire only while the process runs. */
export interface ProcessClock extends Clock {
  /** In true time; infinite while nothing can fire. */
  nextDueMs(): number;
  fireNext(): void;
  /** From now on no timer fires. With `suspended` the monotonic clock stands still too, as when a laptop is closed. */
  stand(suspended: boolean): void;
  goOn(): void;
  setWall(byMs: number): void;
  /** The process is dead. */
  stop(): void;
  readonly standing: boolean;
  readonly timers: number;
}

interface Timer {
  readonly atMs: number;
  readonly callback: () => void;
}

export const START_WALL_MS: number = Date.UTC(2030, 0, 1);
/** So that a timer never fires before its time by a rounding error. */
const ROUNDING_MS = 1e-6;

export function createProcessClock(time: WorldTime, { rate, wallOffMs }: ClockSpec): ProcessClock {
  // In order of creation, which breaks ties.
  const timers = new Set<Timer>();
  let wallMs = START_WALL_MS + wallOffMs;
  let monotonicBaseMs = 0;
  let monotonicSinceMs = time.nowMs;
  let standing = false;
  let suspended = false;
  let stopped = false;

  const monotonicMs = () => monotonicBaseMs + (suspended ? 0 : (time.nowMs - monotonicSinceMs) * rate);

  function next(): Timer | undefined {
    let earliest: Timer | undefined;
    for (const timer of timers) if (earliest === undefined || timer.atMs < earliest.atMs) earliest = timer;
    return earliest;
  }

  return {
    wallMs: () => wallMs + time.nowMs * rate,
    monotonicMs,
    after(ms, callback): CancelTimer {
      const timer: Timer = { atMs: monotonicMs() + Math.max(0, ms), callback };
      if (!stopped) timers.add(timer);
      return () => timers.delete(timer);
    },
    nextDueMs() {
      const timer = standing || stopped ? undefined : next();
      if (timer === undefined) return Number.POSITIVE_INFINITY;
      return time.nowMs + Math.max(0, timer.atMs - monotonicMs()) / rate + ROUNDING_MS;
    },
    fireNext() {
      const timer = next();
      if (timer === undefined) return;
      timers.delete(timer);
      timer.callback();
    },
    stand(suspends) {
      monotonicBaseMs = monotonicMs();
      monotonicSinceMs = time.nowMs;
      standing = true;
      suspended = suspends;
    },
    goOn() {
      monotonicBaseMs = monotonicMs();
      monotonicSinceMs = time.nowMs;
      standing = false;
      suspended = false;
    },
    setWall(byMs) {
      wallMs += byMs;
    },
    stop() {
      stopped = true;
      timers.clear();
    },
    get standing() {
      return standing;
    },
    get timers() {
      return timers.size;
    },
  };
}
