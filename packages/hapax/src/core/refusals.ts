import { HapaxError, shownKey } from "../errors.js";
import { decodeError } from "./codec.js";
import type { Operation } from "./operation.js";
import type { ClaimResult } from "./store.js";

/** The errors that a duplicate may get: what happened, to which key, and what to do next. */

export function inProgress({ scope, key }: Operation, retryAfterMs: number): HapaxError {
  const ms = Math.max(1, Math.ceil(retryAfterMs));
  return new HapaxError(
    "in-progress",
    `${scope}/${shownKey(key)} is being run by another caller. Ask again within ${ms} ms, ` +
      'or let the call wait longer: onBusy: "wait" with a longer `wait`.',
    { scope, key: shownKey(key), retryAfterMs: ms },
  );
}

export function mismatch({ scope, key }: Operation): HapaxError {
  return new HapaxError(
    "key-reused",
    `${scope}/${shownKey(key)} was first used with another payload. Use a new key for a new operation, ` +
      "or exclude the fields that change from delivery to delivery.",
    { scope, key: shownKey(key) },
  );
}

export function finalFailure({ scope, key }: Operation, failed: ClaimResult & { kind: "failed" }): HapaxError {
  const stored = decodeError(failed.error);
  const cause = stored === undefined ? undefined : Object.assign(new Error(stored.message), stored);
  const why =
    stored === undefined
      ? "there is no error with it: its worker did not come back, or somebody decided so"
      : stored.message;
  return new HapaxError(
    "failed",
    `${scope}/${shownKey(key)} failed for good (runs: ${failed.runs}): ${why}. It does not run again until resolve() or forget().`,
    { scope, key: shownKey(key), ...(cause === undefined ? {} : { cause }) },
  );
}

export function outcomeUnknown({ scope, key }: Operation, why: string): HapaxError {
  return new HapaxError(
    "outcome-unknown",
    `Nobody can tell whether ${scope}/${shownKey(key)} took effect: ${why}. ` +
      "Look at the system that it acts on, then resolve() the record, or give the call a reconcile function.",
    { scope, key: shownKey(key) },
  );
}

export function resultOmitted({ scope, key }: Operation, reason: string): HapaxError {
  return new HapaxError(
    "result-omitted",
    `${scope}/${shownKey(key)} is done, but its result could not be stored (${reason}). It does not run again.`,
    { scope, key: shownKey(key) },
  );
}

export function timedOut({ scope, key }: Operation, timeoutMs: number): HapaxError {
  return new HapaxError(
    "timeout",
    `The function of ${scope}/${shownKey(key)} ran longer than its timeout of ${timeoutMs} ms. Its signal was aborted and ` +
      "its claim is no longer extended, so after the lease another delivery may run it. Make it heed ctx.signal, or raise " +
      "the timeout.",
    { scope, key: shownKey(key) },
  );
}
