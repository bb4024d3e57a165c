import { HapaxError } from "../errors.js";
import type { Clock } from "./clock.js";

/** Counts the calls in flight, so that closing can wait for them. */
export interface InFlight {
  /** Refuses once closed. */
  enter(): void;
  leave(): void;
  /** Takes no more calls; resolves when the last one has left, or after `timeoutMs`. */
  close(timeoutMs: number): Promise<void>;
}

export function createInFlight(clock: Clock): InFlight {
  let calls = 0;
  let closed = false;
  let onIdle = () => {};
  return {
    enter() {
      if (closed) throw new HapaxError("closed", "hapax was closed in this process and takes no more calls.");
      calls += 1;
    },
    leave() {
      calls -= 1;
      if (calls === 0) onIdle();
    },
    close(timeoutMs) {
      closed = true;
      return new Promise((resolve) => {
        if (calls === 0) return resolve();
        const cancel = clock.after(timeoutMs, resolve);
        onIdle = () => {
          cancel();
          resolve();
        };
      });
    },
  };
}
