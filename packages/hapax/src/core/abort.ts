/**
 * One listener a signal, however many calls share it: a service hands its one shutdown signal to thousands of calls, and
 * Node warns of a leak at the eleventh listener.
 */
const callbacksOf = new WeakMap<AbortSignal, { readonly callbacks: Set<() => void>; readonly listener: () => void }>();

/** Calls back when the signal aborts. The function that is returned takes it back, and leaves nothing behind. */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
  const shared = callbacksOf.get(signal) ?? listenTo(signal);
  shared.callbacks.add(callback);
  return () => {
    shared.callbacks.delete(callback);
    if (shared.callbacks.size > 0 || callbacksOf.get(signal) !== shared) return;
    callbacksOf.delete(signal);
    signal.removeEventListener("abort", shared.listener);
  };
}

function listenTo(signal: AbortSignal) {
  const callbacks = new Set<() => void>();
  const listener = () => {
    callbacksOf.delete(signal);
    for (const callback of callbacks) callback();
  };
  const shared = { callbacks, listener };
  callbacksOf.set(signal, shared);
  signal.addEventListener("abort", listener, { once: true });
  return shared;
}
