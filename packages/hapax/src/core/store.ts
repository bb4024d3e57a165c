import type { AbandonedPolicy, Status, StoredRecord, Token } from "./record.js";

/**
 * The narrow waist: everything above talks to a store through this, every store passes the kit in `hapax/testing`.
 *
 * A call is one round trip for its whole batch; items are independent of each other and answers keep their order.
 * A store throws `store-unavailable` when it is down. Any other error counts as the batch's fault: its items are
 * then sent one by one, so that a bad item never harms its neighbours.
 */
export interface RecordStore {
  readonly capabilities: Capabilities;
  /** Creates or upgrades what the store keeps its records in. Safe to call from many processes at once. */
  migrate(): Promise<void>;
  claim(requests: readonly ClaimRequest[]): Promise<ClaimResult[]>;
  extend(leases: readonly Lease[]): Promise<ExtendResult[]>;
  settle(settlements: readonly Settlement[]): Promise<SettleResult[]>;
  read(id: RecordId): Promise<StoredRecord | undefined>;
  list(query: ListQuery): Promise<ListPage>;
  forget(request: ForgetRequest): Promise<ForgetResult>;
  resolve(resolution: Resolution): Promise<ResolveResult>;
  /** Deletes records past their retention and moves abandoned `hold` claims to `uncertain`, a bounded piece at a time. */
  purge(limit: number): Promise<PurgeResult>;
  /** Push: calls `wake` when the record may have left `running`. A wake-up too many is harmless, one too few is not. */
  watch?(id: RecordId, wake: () => void): () => void;
}

/** A store, and what its users get in hand inside a transaction, if it has any. */
export interface Store<Tx = never> extends RecordStore {
  /**
   * Runs `work` and settles with what it returns, in one transaction of the user's own database. `settled` only for a
   * transition that this transaction made; otherwise, and when `work` throws, everything is rolled back. It rejects
   * otherwise only where nobody can tell whether the commit happened.
   */
  transaction?(work: (tx: Tx) => Completion | Promise<Completion>): Promise<TransactionResult>;
}

export type TransactionResult =
  | SettleResult
  /** The database refused the commit, and for certain nothing of it is left. */
  | { readonly kind: "rolled-back"; readonly error: unknown };

export interface Capabilities {
  /** Records survive the process. */
  readonly durable: boolean;
  /** Several processes can share it. */
  readonly shared: boolean;
  /** It has `watch`. */
  readonly push: boolean;
  /** It has `transaction`. */
  readonly transactions: boolean;
  /** The function of a transaction must be synchronous, because the handle is shared. */
  readonly synchronousTransactions: boolean;
  /** A call blocks the event loop, so a batch waits one turn of it to gather that turn's arrivals. */
  readonly blocking: boolean;
}

export interface RecordId {
  readonly scope: string;
  readonly key: string;
}

export interface ClaimRequest extends RecordId {
  /** Random, one for each grant that is asked for; the same one again (a lost reply) gets the same grant. */
  readonly claimId: string;
  readonly owner: string;
  readonly fingerprint: string | undefined;
  readonly leaseMs: number;
  readonly retentionMs: number;
  readonly onAbandoned: AbandonedPolicy;
  readonly maxAttempts: number | undefined;
  readonly metadata: Uint8Array | undefined;
  /** How many callers this stands for: more than one when they were folded, none when a waiter asks again. */
  readonly arrivals: number;
}

export type ClaimResult =
  | {
      readonly kind: "granted";
      readonly token: Token;
      readonly runs: number;
      readonly leaseUntilMs: number;
      /** The claim was taken from a holder whose lease ran out. */
      readonly takeover: boolean;
      /** Results of the steps that earlier runs finished. */
      readonly steps: ReadonlyMap<string, Uint8Array>;
    }
  | { readonly kind: "busy"; readonly retryAfterMs: number }
  | {
      readonly kind: "done";
      readonly token: Token;
      readonly runs: number;
      readonly result: Uint8Array | undefined;
      readonly expiresAtMs: number;
    }
  /** Failed for good. A failure that may run again is granted instead. */
  | { readonly kind: "failed"; readonly token: Token; readonly runs: number; readonly error: Uint8Array | undefined }
  | { readonly kind: "mismatch" }
  | {
      readonly kind: "uncertain";
      readonly token: Token;
      readonly runs: number;
      readonly metadata: Uint8Array | undefined;
    }
  /** This very claim was granted once and has failed since: ask with a new claimId. */
  | { readonly kind: "stale" };

export interface Lease extends RecordId {
  readonly token: Token;
  readonly leaseMs: number;
}

export type ExtendResult =
  | { readonly kind: "extended"; readonly leaseUntilMs: number }
  | { readonly kind: "lost" }
  /** The row could not be looked at in time. Ask again; never counts as lost. */
  | { readonly kind: "unknown" };

interface SettlementBase extends RecordId {
  readonly token: Token;
}

/** Arrivals that joined the execution in its process travel with its settlement. */
interface Ending extends SettlementBase {
  readonly arrivals: number;
}

export interface Completion extends Ending {
  readonly kind: "complete";
  readonly result: Uint8Array | undefined;
  /** Replaces the record's metadata. */
  readonly metadata: Uint8Array | undefined;
}

export interface Failure extends Ending {
  readonly kind: "fail";
  readonly error: Uint8Array | undefined;
  readonly permanent: boolean;
  /** Replaces the record's metadata. */
  readonly metadata: Uint8Array | undefined;
}

/** Gives the claim back as if it had not run. */
export interface Release extends Ending {
  readonly kind: "release";
}

/** A finished step. Changes neither status nor lease. */
export interface StepResult extends SettlementBase {
  readonly kind: "step";
  readonly name: string;
  readonly result: Uint8Array;
}

export type Settlement = Completion | Failure | Release | StepResult;

export type SettleResult =
  /** `final`: it was a failure, and the work does not run again. */
  | { readonly kind: "settled"; readonly final: boolean }
  /** The token is no longer the record's, or the record was settled otherwise. Nothing changed. */
  | { readonly kind: "lost" }
  /** The row could not be looked at in time. Ask again. */
  | { readonly kind: "unknown" };

export interface ListQuery {
  readonly scope: string | undefined;
  readonly status: Status | undefined;
  readonly limit: number;
  /** From the page before. The order is the store's own; what exists throughout is listed exactly once. */
  readonly cursor: string | undefined;
}

export interface ListPage {
  readonly records: readonly StoredRecord[];
  readonly cursor: string | undefined;
}

export interface ForgetRequest {
  readonly scope: string;
  /** Absent: the whole scope. */
  readonly key: string | undefined;
  /** Also live claims. Their workers are not stopped, but fenced. */
  readonly force: boolean;
}

export interface ForgetResult {
  readonly forgotten: number;
  /** Records left alone because their claim is live. */
  readonly live: number;
}

/** A decision about a record, made by someone who saw `token` and `seenStatus`. */
export interface Resolution extends RecordId {
  readonly token: Token;
  readonly seenStatus: "uncertain" | "failed";
  readonly to:
    | { readonly status: "done"; readonly result: Uint8Array | undefined }
    | { readonly status: "failed"; readonly error: Uint8Array | undefined; readonly final: boolean };
}

export type ResolveResult = { readonly kind: "resolved" } | { readonly kind: "changed" } | { readonly kind: "absent" };

export interface PurgeResult {
  readonly purged: number;
  readonly uncertain: number;
  /** There may be more to do; call again. */
  readonly more: boolean;
}
