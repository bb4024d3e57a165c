import { HapaxError } from "../errors.js";
import type { Engine } from "./engine.js";

/** Bounds a single question to the store: one that hangs must not hang its caller. */
export function answered<T>(
  { clock, storeTimeoutMs }: Pick<Engine, "clock" | "storeTimeoutMs">,
  answer: Promise<T>,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(storeTimeoutMs, () => {
      reject(new HapaxError("store-unavailable", `The store did not answer within ${storeTimeoutMs} ms.`));
    });
    answer.then(resolve, reject).finally(cancel);
  });
}
