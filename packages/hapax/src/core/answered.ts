import { HapaxError } from "../errors.js";
import type { Engine } from "./engine.js";

/** Bounds a single question to the store: one that hangs must not hang its caller. */
export function answered<T>(
  { clock, storeTimeoutMs }: Pick<Engine, "clock" | "storeTimeoutMs">,
  answer: Promise<T>,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const giveUpMs = clock.monotonicMs() + storeTimeoutMs;
    const check = () => {
      const leftMs = giveUpMs - clock.monotonicMs();
      // Woken because hapax closes: records can still be looked at.
      if (leftMs > 0) cancel = clock.after(leftMs, check);
      else reject(new HapaxError("store-unavailable", `The store did not answer within ${storeTimeoutMs} ms.`));
    };
    let cancel = clock.after(storeTimeoutMs, check);
    const fail = (error: unknown) => {
      if (error instanceof HapaxError) return reject(error);
      reject(new HapaxError("store-unavailable", "The store refused the question.", { cause: error }));
    };
    answer.then(resolve, fail).finally(() => cancel());
  });
}
