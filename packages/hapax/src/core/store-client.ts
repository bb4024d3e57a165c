import { randomUUID } from "node:crypto";
import { HapaxError, shownKey } from "../errors.js";
import { type Clock, sleep } from "./clock.js";
import { type GroupCommit, groupCommit } from "./group-commit.js";
import { type Grant, type HeldClaim, tooManyJoiners } from "./held-claim.js";
import { JOINERS_MAX } from "./limits.js";
import type { Operation } from "./operation.js";
import type { ClaimRequest, ClaimResult, ExtendResult, Lease, RecordStore, Settlement, SettleResult } from "./store.js";

/**
 * The engine's side of the waist: sends claims and settlements, and sends them again when a reply is lost.
 * The claimId and the token make that safe; a call is never answered with a guess.
 */
export interface StoreClient {
  claim(operation: Operation, arrivals: 0 | 1): Promise<ClaimAnswer>;
  settle(claim: HeldClaim, settlement: Settlement): Promise<SettleAnswer>;
  readonly extensions: GroupCommit<Lease, ExtendResult>;
}

export type ClaimAnswer =
  | Exclude<ClaimResult, { kind: "granted" }>
  /** Trust counts from the first send of the claim, which the store cannot have seen later than it granted. */
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

interface Caller {
  readonly resolve: (answer: ClaimAnswer) => void;
  readonly reject: (error: unknown) => void;
  left: boolean;
}

/** One claimId on its way: equal arrivals fold into it until it is first sent. */
interface Ask {
  readonly operation: Operation;
  readonly request: ClaimRequest & { arrivals: number };
  readonly callers: Caller[];
  firstSentMs: number | undefined;
}

export function createStoreClient(options: StoreClientOptions): StoreClient {
  const { store, clock, now, owner, storeTimeoutMs, onReleased } = options;
  const { blocking } = store.capabilities;
  const shared = { clock, timeoutMs: storeTimeoutMs, blocking };
  const gathering = new Map<string, Ask>();
  // Unguessable a process, counted a claim: unique without drawing randomness for each.
  const claimIdPrefix = randomUUID();
  let claimCount = 0;

  const claims = groupCommit<Ask, ClaimResult>({
    ...shared,
    commit: (asks) => store.claim(asks.map(({ request }) => request)),
    bytesOf: ({ request }) => request.metadata?.byteLength ?? 0,
    onSend(ask) {
      ask.firstSentMs ??= now();
      if (gathering.get(ask.operation.id) === ask) gathering.delete(ask.operation.id);
    },
    onLate: (ask, result) => releaseUnwanted(ask.operation, result),
  });
  const settlements = groupCommit<Settlement, SettleResult>({
    ...shared,
    commit: (batch) => store.settle(batch),
    bytesOf: settlementBytes,
  });
  const extensions = groupCommit<Lease, ExtendResult>({
    ...shared,
    commit: (leases) => store.extend(leases),
    bytesOf: () => 0,
  });

  function claim(operation: Operation, arrivals: 0 | 1): Promise<ClaimAnswer> {
    return new Promise((resolve, reject) => {
      const { signal } = operation;
      if (signal?.aborted) return reject(signal.reason);
      const caller = signal === undefined ? { resolve, reject, left: false } : leavingCaller(resolve, reject, signal);
      const gathered = gathering.get(operation.id);
      if (gathered !== undefined && foldable(gathered.operation, operation)) {
        if (gathered.callers.length >= JOINERS_MAX) return reject(tooManyJoiners(operation.key));
        gathered.request.arrivals += arrivals;
        gathered.callers.push(caller);
        return;
      }
      const ask = newAsk(operation, arrivals, caller);
      if (gathered === undefined) gathering.set(operation.id, ask);
      void deliver(ask);
    });
  }

  function newAsk(operation: Operation, arrivals: number, caller: Caller): Ask {
    const { scope, key, fingerprint, metadata, settings } = operation;
    claimCount += 1;
    return {
      operation,
      callers: [caller],
      firstSentMs: undefined,
      request: {
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
      },
    };
  }

  async function deliver(ask: Ask): Promise<void> {
    try {
      answer(ask, await sendUntilAnswered(ask));
    } catch (error) {
      if (gathering.get(ask.operation.id) === ask) gathering.delete(ask.operation.id);
      for (const { reject } of ask.callers) reject(error);
    }
  }

  /** The same claimId again gets the same grant, so a lost reply costs nothing; past its window it is not sent again. */
  async function sendUntilAnswered(ask: Ask): Promise<ClaimResult> {
    const giveUpMs = now() + storeTimeoutMs;
    for (let retryMs = RETRY_MS_MIN; ; retryMs = Math.min(retryMs * 2, RETRY_MS_MAX)) {
      try {
        return await claims.send(ask);
      } catch (error) {
        if (error instanceof HapaxError && error.code !== "store-unavailable") throw error;
        const windowEndsMs = (ask.firstSentMs ?? now()) + ask.operation.settings.trustMs;
        if (now() + retryMs >= Math.min(giveUpMs, windowEndsMs)) throw unavailable(ask.operation, error);
        await sleep(clock, jittered(retryMs));
      }
    }
  }

  function answer(ask: Ask, result: ClaimResult): void {
    if (result.kind !== "granted") {
      for (const { resolve } of ask.callers) resolve(result);
      return;
    }
    const { operation, callers, firstSentMs = now() } = ask;
    const inTime = now() < firstSentMs + operation.settings.trustMs;
    const leader = inTime ? callers.find(({ left }) => !left) : undefined;
    if (leader === undefined) releaseUnwanted(operation, result);
    for (const caller of callers) {
      if (caller === leader) caller.resolve({ ...result, firstSentMs });
      else if (leader === undefined) caller.resolve({ kind: "stale" });
      else caller.resolve({ kind: "busy", retryAfterMs: operation.settings.leaseMs });
    }
  }

  /** A grant that was heard too late, or whose callers have left, is given back with its token. */
  function releaseUnwanted(operation: Operation, result: ClaimResult): void {
    if (result.kind !== "granted") return;
    const { scope, key } = operation;
    settlements.send({ kind: "release", scope, key, token: result.token, arrivals: 0 }).then(
      () => onReleased(operation, result),
      // The lease ends by itself.
      () => {},
    );
  }

  async function settle(held: HeldClaim, settlement: Settlement): Promise<SettleAnswer> {
    let unanswered = false;
    for (let retryMs = RETRY_MS_MIN; ; retryMs = Math.min(retryMs * 2, RETRY_MS_MAX)) {
      let failure: unknown;
      try {
        const result = await settlements.send(settlement);
        if (result.kind === "settled") return result;
        if (result.kind === "lost") return { kind: unanswered ? "unknown" : "lost" };
        failure = new HapaxError("store-unavailable", "The record was locked.");
      } catch (error) {
        unanswered = true;
        failure = error;
      }
      if (!held.trusted) return { kind: "unanswered", error: failure };
      await sleep(clock, jittered(retryMs));
    }
  }

  return { claim, settle, extensions };
}

/** A caller that stops listening when its signal aborts. */
function leavingCaller(resolve: Caller["resolve"], reject: Caller["reject"], signal: AbortSignal): Caller {
  const caller: Caller = {
    left: false,
    resolve(answer) {
      signal.removeEventListener("abort", leave);
      resolve(answer);
    },
    reject(error) {
      signal.removeEventListener("abort", leave);
      reject(error);
    },
  };
  const leave = () => {
    caller.left = true;
    caller.reject(signal.reason);
  };
  signal.addEventListener("abort", leave, { once: true });
  return caller;
}

/** Equal in everything that the store would decide or write by. */
function foldable(left: Operation, right: Operation): boolean {
  if (left.fingerprint !== right.fingerprint || left.metadata !== right.metadata) return false;
  const a = left.settings;
  const b = right.settings;
  return (
    a === b ||
    (a.leaseMs === b.leaseMs &&
      a.retentionMs === b.retentionMs &&
      a.onAbandoned === b.onAbandoned &&
      a.maxAttempts === b.maxAttempts)
  );
}

function settlementBytes(settlement: Settlement): number {
  switch (settlement.kind) {
    case "complete":
    case "step":
      return settlement.result?.byteLength ?? 0;
    case "fail":
      return settlement.error?.byteLength ?? 0;
    case "release":
      return 0;
  }
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
