/** Every code that a {@link HapaxError} can carry. */
export type ErrorCode =
  | "in-progress"
  | "key-reused"
  | "claim-lost"
  | "outcome-unknown"
  | "failed"
  | "result-omitted"
  | "timeout"
  | "store-unavailable"
  | "overloaded"
  | "closed"
  | "missing-scope"
  | "missing-key"
  | "invalid-scope"
  | "invalid-key"
  | "invalid-option"
  | "unserializable"
  | "payload-too-large"
  | "unsupported";

export interface ErrorEntry {
  readonly retryable: boolean;
  readonly status: number;
  readonly meaning: string;
}

/**
 * The one table of errors. `docs/errors.md` is checked against it by a test.
 *
 * `retryable` says whether the same call may succeed later without anybody changing anything;
 * `status` is what an HTTP adapter answers with.
 */
export const ERRORS: Readonly<Record<ErrorCode, ErrorEntry>> = {
  "in-progress": { retryable: true, status: 409, meaning: "Another caller holds the claim on this key." },
  "key-reused": { retryable: false, status: 422, meaning: "The key was first used with another payload." },
  "claim-lost": {
    retryable: true,
    status: 409,
    meaning: "The claim passed to someone else; what ran was not recorded.",
  },
  "outcome-unknown": {
    retryable: false,
    status: 409,
    meaning: "Nobody can tell whether the work took effect; a person or a reconciler decides.",
  },
  failed: { retryable: false, status: 409, meaning: "The work failed for good and does not run again." },
  "result-omitted": { retryable: false, status: 409, meaning: "The work is done, but its result was not stored." },
  timeout: { retryable: true, status: 504, meaning: "The function ran longer than the call's timeout." },
  "store-unavailable": { retryable: true, status: 503, meaning: "The store did not answer, or cannot take more." },
  overloaded: { retryable: true, status: 503, meaning: "This process holds as many waiting calls as it may." },
  closed: { retryable: true, status: 503, meaning: "hapax was closed in this process." },
  "missing-scope": { retryable: false, status: 400, meaning: "The call names no scope." },
  "missing-key": { retryable: false, status: 400, meaning: "The call names neither a key nor a payload." },
  "invalid-scope": { retryable: false, status: 400, meaning: "The scope is empty, too long or not well-formed text." },
  "invalid-key": { retryable: false, status: 400, meaning: "The key is empty, too long or not well-formed text." },
  "invalid-option": { retryable: false, status: 500, meaning: "An option is unknown or has a value that cannot work." },
  unserializable: { retryable: false, status: 500, meaning: "A value has no text form of its own." },
  "payload-too-large": { retryable: false, status: 413, meaning: "A value is larger than the limit set for it." },
  unsupported: { retryable: false, status: 501, meaning: "The store cannot do this." },
};

/** What an error may say beyond its message. Never a payload, never a whole key. */
export interface ErrorDetails {
  readonly scope?: string;
  /** The first 16 characters of the key. */
  readonly key?: string;
  /** For `in-progress`: when asking again is worth it. */
  readonly retryAfterMs?: number;
  readonly cause?: unknown;
}

/**
 * The only error class of hapax. Look at `code`, not at the message.
 *
 * @example
 * try {
 *   await hapax.run({ scope: "payments", key }, charge);
 * } catch (error) {
 *   if (error instanceof HapaxError && error.code === "in-progress") return retryLater(error.retryAfterMs);
 *   throw error;
 * }
 */
export class HapaxError extends Error {
  override readonly name = "HapaxError";
  readonly code: ErrorCode;
  readonly retryable: boolean;
  readonly status: number;
  readonly scope: string | undefined;
  readonly key: string | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.retryable = ERRORS[code].retryable;
    this.status = ERRORS[code].status;
    this.scope = details.scope;
    this.key = details.key;
    this.retryAfterMs = details.retryAfterMs;
  }
}

/** How much of a key errors, logs and events may show. */
const KEY_SHOWN_MAX = 16;

export function shownKey(key: string): string {
  return key.length <= KEY_SHOWN_MAX ? key : key.slice(0, KEY_SHOWN_MAX);
}
