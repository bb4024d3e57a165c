import type { HapaxError } from "../errors.js";
import type { Engine } from "./engine.js";
import { closedError } from "./in-flight.js";
import type { Operation } from "./operation.js";
import { timedOut } from "./refusals.js";

/** Past its timeout the call ends; what the function still does is settled behind it, and the token decides. */
export function within<T>(
  engine: Engine,
  operation: Operation,
  outcome: Promise<T>,
  onTimeout: (error: HapaxError) => boolean,
): Promise<T> {
  const { timeoutMs } = operation.settings;
  if (timeoutMs === undefined) return outcome;
  return new Promise((resolve, reject) => {
    const endsMs = engine.clock.monotonicMs() + timeoutMs;
    const check = () => {
      const leftMs = endsMs - engine.clock.monotonicMs();
      // Woken early: hapax closes, which is no timeout, or the timer was longer than timers can be.
      if (leftMs > 0 && engine.inFlight.closed) return reject(closedError());
      if (leftMs > 0) return watch(leftMs);
      const error = timedOut(operation, timeoutMs);
      if (onTimeout(error)) reject(error);
    };
    let cancel = () => {};
    const watch = (ms: number) => {
      cancel = engine.clock.after(ms, check);
    };
    watch(timeoutMs);
    outcome.then(resolve, reject).finally(() => cancel());
  });
}
