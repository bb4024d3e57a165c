import { HapaxError } from "../errors.js";
import type { Clock } from "./clock.js";

/** Counts the calls in flight, so that closing can wait for them. */
export interface InFlight {
  readonly closed: boolean;
  /** Refuses once closed. */
  enter(): void;
  leave(): void;
  /** Takes no more calls; resolves when the last one has left, or after `timeoutMs`. */
  close(timeoutMs: number): Promise<void>;
}

export function closedError(): HapaxError {
  return new HapaxError("closed", "hapax was closed in this process and takes no more calls.");
}

export function createInFlight(clock: Clock): InFlight {
  let calls = 0;
  let closed = false;
  const onIdle = new Set<() => void>();
  return {
    get closed() {
      return closed;
    },
    enter() {
      if (closed) throw closedError();
      calls += 1;
    },
    leave() {
      calls -= 1;
      if (calls === 0) for (const idle of onIdle) idle();
    },
    close(timeoutMs) {
      closed = true;
      return new Promise((resolve) => {
        if (calls === 0) return resolve();
        const end = () => {
          cancel();
          onIdle.delete(end);
          resolve();
        };
        const cancel = clock.after(timeoutMs, end);
        onIdle.add(end);
      });
    },
  };
}
