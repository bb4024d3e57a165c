/** A fencing token: never reused, only grows. A decimal string, because it outgrows a JavaScript number. */
export type Token = string & { readonly __token: unique symbol };

/** Reads a token; anything but a decimal string is not one. */
export function parseToken(text: string): Token | undefined {
  return /^[1-9]\d{0,18}$/.test(text) ? (text as Token) : undefined;
}

/**
 * Is `left` the newer token? For a table of your own that must refuse a stale worker's write.
 *
 * @example
 * if (!isNewer(ctx.token, row.lastToken)) throw new Error("a newer worker was here");
 */
export function isNewer(left: Token, right: Token): boolean {
  return left.length === right.length ? left > right : left.length > right.length;
}

export type Status = "running" | "done" | "failed" | "uncertain";

export const STATUSES: readonly Status[] = ["running", "done", "failed", "uncertain"];

/** What becomes of a claim whose lease ran out: run again (at least once), or hold it for a decision (at most once). */
export type AbandonedPolicy = "rerun" | "hold";

/** How the record got its present status; the same settlement again is told by it. */
export type SettledBy = "complete" | "fail" | "release" | "resolve" | "attempts";

/**
 * The durable state of one operation. Times are milliseconds since 1970 by the store's clock;
 * result, error and metadata are bytes that the store never looks into.
 */
export interface StoredRecord {
  readonly scope: string;
  readonly key: string;
  readonly status: Status;
  /** A failed record that does not run again. */
  readonly final: boolean;
  readonly token: Token;
  readonly claimId: string;
  readonly owner: string;
  readonly fingerprint: string | undefined;
  readonly onAbandoned: AbandonedPolicy;
  readonly maxAttempts: number | undefined;
  readonly leaseUntilMs: number;
  readonly retentionMs: number;
  readonly firstSeenAtMs: number;
  readonly lastSeenAtMs: number;
  readonly finishedAtMs: number | undefined;
  readonly expiresAtMs: number | undefined;
  readonly runs: number;
  readonly seen: number;
  readonly settledBy: SettledBy | undefined;
  readonly result: Uint8Array | undefined;
  readonly error: Uint8Array | undefined;
  readonly metadata: Uint8Array | undefined;
}
