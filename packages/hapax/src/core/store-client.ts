import { randomUUID } from "node:crypto";
import { HapaxError, shownKey } from "../errors.js";
import { bytesOf, settlementBytes } from "./batch-bytes.js";
import { type Caller, newCaller } from "./caller.js";
import { type Clock, sleep } from "./clock.js";
import { groupCommit, type Parcel } from "./group-commit.js";
import { type Grant, type HeldClaim, tooManyJoiners } from "./held-claim.js";
import { JOINERS_MAX } from "./limits.js";
import { type Operation, sameTerms } from "./operation.js";
import type { ClaimRequest, ClaimResult, ExtendResult, Lease, RecordStore, Settlement, SettleResult } from "./store.js";
import { CLAIM_KINDS, EXTEND_KINDS, SETTLE_KINDS, understood } from "./store-answers.js";

/**
 * The engine's side of the waist: sends claims and settlements, and sends them again when a reply is lost.
 * The claimId and the token make that safe; a call is never answered with a guess.
 */
export interface StoreClient {
  claim(operation: Operation, arrivals: 0 | 1): Promise<ClaimAnswer>;
  settle(claim: HeldClaim, settlement: Settlement): Promise<SettleAnswer>;
  extend(lease: Lease): Promise<ExtendResult>;
  /** Counts arrivals that nobody waits for any more: a claim without callers. */
  count(operation: Operation, arrivals: number): void;
  /** Gives a grant back that came too late to be used. */
  release(operation: Operation, grant: Grant): void;
  /** Grants nothing any more; settlements may still be sent. */
  close(error: HapaxError): void;
}

export type ClaimAnswer =
  | Exclude<ClaimResult, { kind: "granted" }>
  /** Trust counts from the first send of the claim: the store cannot have granted it any earlier. */
  | (Grant & { readonly firstSentMs: number });

export type SettleAnswer =
  | Extract<SettleResult, { kind: "settled" }>
  | { readonly kind: "lost" }
  /** Refused, but an earlier send went unanswered and may have been the one that counted. */
  | { readonly kind: "unknown" }
  /** No answer while the claim was trusted. */
  | { readonly kind: "unanswered"; readonly error: unknown };

export interface StoreClientOptions {
  readonly store: RecordStore;
  readonly clock: Clock;
  readonly now: () => number;
  readonly owner: string;
  readonly storeTimeoutMs: number;
  readonly onReleased: (operation: Operation, grant: Grant) => void;
}

const RETRY_MS_MIN = 20;
const RETRY_MS_MAX = 1_000;

/** One claimId on its way: equal arrivals fold into it until it is first sent. */
interface Ask extends Parcel<ClaimResult> {
  readonly operation: Operation;
  readonly request: ClaimRequest & { arrivals: number };
  readonly callers: Caller<ClaimAnswer>[];
  /** `asking` until one of its sends is answered or all are given up. The same claimId can be answered more than once. */
  state: "asking" | "answered" | "refused";
  firstSentMs: number | undefined;
  retryMs: number;
  readonly retryUntilMs: number;
}

interface Sent<Item, Answer> extends Parcel<Answer> {
  readonly item: Item;
}

export function createStoreClient(options: StoreClientOptions): StoreClient {
  const { store, clock, now, owner, storeTimeoutMs, onReleased } = options;
  const { blocking } = store.capabilities;
  // A claim is sent again during the first half of its time, and the last send may take the other half.
  const sendMs = storeTimeoutMs / 2;
  const shared = { clock, timeoutMs: sendMs, blocking };
  const gathering = new Map<string, Ask>();
  // Unguessable a process, counted a claim: unique without drawing randomness for each.
  const claimIdPrefix = randomUUID();
  let claimCount = 0;
  let closedBy: HapaxError | undefined;
  /** When the answers that are being handed out were heard. */
  let heardMs = 0;

  const claims = groupCommit<Ask, ClaimResult>({
    ...shared,
    async commit(asks) {
      leave(asks, now());
      const results = await store.claim(asks.map(({ request }) => request));
      heardMs = now();
      return understood(results, CLAIM_KINDS);
    },
    bytesOf: ({ request }) => bytesOf(request.metadata),
    onLate(ask, result) {
      heardMs = now();
      answer(ask, result);
    },
  });
  const settlements = groupCommit<Sent<Settlement, SettleResult>, SettleResult>({
    ...shared,
    commit: async (batch) => understood(await store.settle(batch.map(({ item }) => item)), SETTLE_KINDS),
    bytesOf: ({ item }) => settlementBytes(item),
  });
  const extensions = groupCommit<Sent<Lease, ExtendResult>, ExtendResult>({
    ...shared,
    commit: async (batch) => understood(await store.extend(batch.map(({ item }) => item)), EXTEND_KINDS),
    bytesOf: () => 0,
  });

  function claim(operation: Operation, arrivals: 0 | 1): Promise<ClaimAnswer> {
    return new Promise((resolve, reject) => {
      const { signal } = operation;
      if (signal?.aborted) return reject(signal.reason);
      const caller: Caller<ClaimAnswer> = newCaller(resolve, reject, signal);
      const gathered = gathering.get(operation.id);
      if (gathered !== undefined && sameTerms(gathered.operation, operation)) {
        if (gathered.callers.length >= JOINERS_MAX) return caller.reject(tooManyJoiners(operation.key));
        gathered.request.arrivals += arrivals;
        gathered.callers.push(caller);
        return;
      }
      const ask = newAsk(operation, arrivals, [caller]);
      if (gathered === undefined) gathering.set(operation.id, ask);
      claims.send(ask);
    });
  }

  function newAsk(operation: Operation, arrivals: number, callers: Caller<ClaimAnswer>[]): Ask {
    const ask: Ask = {
      operation,
      request: newRequest(operation, arrivals),
      callers,
      state: "asking",
      firstSentMs: undefined,
      retryMs: RETRY_MS_MIN,
      retryUntilMs: clock.monotonicMs() + sendMs,
      resolve: (result) => answer(ask, result),
      reject: (error) => void retryOrRefuse(ask, error),
    };
    return ask;
  }

  function newRequest(operation: Operation, arrivals: number): ClaimRequest & { arrivals: number } {
    const { scope, key, fingerprint, metadata, settings } = operation;
    claimCount += 1;
    return {
      scope,
      key,
      claimId: `${claimIdPrefix}-${claimCount}`,
      owner,
      fingerprint,
      leaseMs: settings.leaseMs,
      retentionMs: settings.retentionMs,
      onAbandoned: settings.onAbandoned,
      maxAttempts: settings.maxAttempts,
      metadata,
      arrivals,
    };
  }

  /** An ask that has been sent takes no more callers. */
  function leave(asks: readonly Ask[], sentMs: number): void {
    for (const ask of asks) {
      ask.firstSentMs ??= sentMs;
      if (gathering.get(ask.operation.id) === ask) gathering.delete(ask.operation.id);
    }
  }

  /**
   * An answer may come late, when the ask was sent again or given up meanwhile:
   *
   *     send 1 ─────────────────── lost? ────────────► granted, token 7      the same grant twice: to give back
   *     send 2 (same claimId) ──► granted, token 7 ──► runs                  the second would end the run
   */
  function answer(ask: Ask, result: ClaimResult): void {
    if (ask.state === "refused") return releaseUnwanted(ask.operation, result);
    if (ask.state === "answered") return;
    if (closedBy !== undefined) return refuse(ask, closedBy, result);
    ask.state = "answered";
    const { operation, callers, firstSentMs = heardMs } = ask;
    if (result.kind !== "granted") {
      for (const caller of callers) caller.resolve(result);
      return;
    }
    const inTime = heardMs < firstSentMs + operation.settings.trustMs;
    const leader = inTime ? callers.find(({ left }) => !left) : undefined;
    if (leader === undefined) releaseUnwanted(operation, result);
    const { token, runs, leaseUntilMs, takeover, steps } = result;
    for (const caller of callers) {
      if (caller === leader) {
        caller.resolve({ kind: "granted", token, runs, leaseUntilMs, takeover, steps, firstSentMs });
      } else if (leader === undefined) caller.resolve({ kind: "stale" });
      else caller.resolve({ kind: "busy", retryAfterMs: operation.settings.leaseMs });
    }
  }

  /** The same claimId again gets the same grant, so a lost reply costs nothing; past its window it is not sent again. */
  async function retryOrRefuse(ask: Ask, error: unknown): Promise<void> {
    const { operation, retryMs, firstSentMs = now() } = ask;
    const retryable = closedBy === undefined && (!(error instanceof HapaxError) || error.code === "store-unavailable");
    const inWindow = now() + retryMs < firstSentMs + operation.settings.trustMs;
    if (retryable && inWindow && clock.monotonicMs() + retryMs < ask.retryUntilMs) {
      ask.retryMs = Math.min(retryMs * 2, RETRY_MS_MAX);
      await sleep(clock, jittered(retryMs));
      if (ask.state === "asking") claims.send(ask);
      return;
    }
    if (ask.state === "asking") refuse(ask, closedBy ?? (retryable ? unavailable(operation, error) : error));
  }

  function refuse(ask: Ask, error: unknown, result?: ClaimResult): void {
    const { operation, callers } = ask;
    ask.state = "refused";
    if (gathering.get(operation.id) === ask) gathering.delete(operation.id);
    if (result !== undefined) releaseUnwanted(operation, result);
    for (const caller of callers) caller.reject(error);
  }

  /** A grant that was heard too late, or whose callers have left, is given back with its token. */
  function releaseUnwanted(operation: Operation, result: ClaimResult): void {
    if (result.kind !== "granted") return;
    const { scope, key } = operation;
    sendSettlement({ kind: "release", scope, key, token: result.token, arrivals: 0 }).then(
      (released) => {
        if (released.kind === "settled") onReleased(operation, result);
      },
      // The lease ends by itself.
      () => {},
    );
  }

  function sendSettlement(item: Settlement): Promise<SettleResult> {
    return new Promise((resolve, reject) => settlements.send({ item, resolve, reject }));
  }

  function settle(held: HeldClaim, item: Settlement): Promise<SettleAnswer> {
    return new Promise((resolve) => {
      let unanswered = false;
      let retryMs = RETRY_MS_MIN;
      const sent: Sent<Settlement, SettleResult> = {
        item,
        resolve(result) {
          if (result.kind === "settled") resolve(result);
          else if (result.kind === "lost") resolve({ kind: unanswered ? "unknown" : "lost" });
          else void sendAgain(new HapaxError("store-unavailable", "The record was locked."));
        },
        reject(error) {
          unanswered = true;
          void sendAgain(error);
        },
        sentAgain() {
          unanswered = true;
        },
      };
      /** While the claim is valid; then the store has had its chance, and the caller must not wait for ever. */
      const sendAgain = async (error: unknown) => {
        if (!held.trusted) return resolve({ kind: "unanswered", error });
        await sleep(clock, jittered(retryMs));
        retryMs = Math.min(retryMs * 2, RETRY_MS_MAX);
        settlements.send(sent);
      };
      settlements.send(sent);
    });
  }

  return {
    claim,
    settle,
    release: releaseUnwanted,
    count(operation, arrivals) {
      if (arrivals > 0) claims.send(newAsk(operation, arrivals, []));
    },
    extend: (item) => new Promise((resolve, reject) => extensions.send({ item, resolve, reject })),
    close(error) {
      closedBy = error;
      claims.close(error);
    },
  };
}

/** Half to all of it, so that many who failed together do not return together. */
function jittered(ms: number): number {
  return ms * (0.5 + Math.random() / 2);
}

function unavailable({ scope, key }: Operation, cause: unknown): HapaxError {
  return new HapaxError(
    "store-unavailable",
    `The store did not answer the claim on ${scope}/${shownKey(key)}; nothing was run. ` +
      'Try again, or choose onStoreDown: "open" where running twice is better than not at all.',
    { scope, key: shownKey(key), cause },
  );
}
