import { onAbort } from "./abort.js";

/** Somebody who waits for an answer, and may leave before it comes. */
export interface Caller<Answer> {
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
  left: boolean;
}

export function newCaller<Answer>(
  resolve: Caller<Answer>["resolve"],
  reject: Caller<Answer>["reject"],
  signal: AbortSignal | undefined,
): Caller<Answer> {
  return signal === undefined ? { resolve, reject, left: false } : leavingCaller(resolve, reject, signal);
}

/** A caller that stops listening when its signal aborts. */
function leavingCaller<Answer>(
  resolve: Caller<Answer>["resolve"],
  reject: Caller<Answer>["reject"],
  signal: AbortSignal,
): Caller<Answer> {
  const caller: Caller<Answer> = {
    left: false,
    resolve(answer) {
      stopListening();
      resolve(answer);
    },
    reject(error) {
      stopListening();
      reject(error);
    },
  };
  const stopListening = onAbort(signal, () => {
    caller.left = true;
    caller.reject(signal.reason);
  });
  return caller;
}
