import { HapaxError } from "../errors.js";
import type { CancelTimer, Clock } from "./clock.js";
import type { Events } from "./events.js";
import type { HeldClaim } from "./held-claim.js";
import type { Logger } from "./logger.js";
import { shownOperation } from "./operation.js";
import type { ExtendResult } from "./store.js";
import type { StoreClient } from "./store-client.js";

/** Keeps every claim of the process alive with one timer and one batch, and tells those that can no longer be trusted. */
export interface Heartbeat {
  /** A claim was added to the executions. Whatever leaves them is no longer looked after. */
  added(claim: HeldClaim): void;
  stop(): void;
}

export interface HeartbeatOptions {
  readonly clock: Clock;
  readonly now: () => number;
  readonly client: Pick<StoreClient, "extend">;
  readonly events: Events;
  readonly logger: Logger;
  /** The claims that this process runs. */
  readonly executions: ReadonlyMap<string, HeldClaim>;
}

/** A claim due within this part of its interval goes along with the batch. Extending early is harmless. */
const EARLY_PART = 1 / 4;
/** How soon a failed extension is tried again, at the least. */
const RETRY_MS_MIN = 50;

export function createHeartbeat(options: HeartbeatOptions): Heartbeat {
  const { clock, now, client, events, logger, executions } = options;
  /** When the timer fires, by the monotonic clock: trust time may jump ahead of it. */
  let firesAtMs = Number.POSITIVE_INFINITY;
  let cancelTimer: CancelTimer | undefined;
  let rearming = false;

  function added(claim: HeldClaim): void {
    wakeBy(dueAtMs(claim));
  }

  /** With equal leases the claim that came first is due first, and the timer stands already. */
  function wakeBy(dueMs: number): void {
    if (dueMs === Number.POSITIVE_INFINITY) return;
    const delayMs = Math.max(0, dueMs - now());
    const atMs = clock.monotonicMs() + delayMs;
    if (atMs >= firesAtMs) return;
    cancelTimer?.();
    firesAtMs = atMs;
    cancelTimer = clock.after(delayMs, tick, { keepAlive: false });
  }

  function tick(): void {
    cancelTimer = undefined;
    firesAtMs = Number.POSITIVE_INFINITY;
    const nowMs = now();
    for (const claim of executions.values()) {
      if (!claim.running) continue;
      if (nowMs >= claim.trustedUntilMs) claim.lose(claim.lostError("no heartbeat was answered in time"));
      else if (!claim.beating && isDue(claim, nowMs)) void beat(claim);
    }
    rearm();
  }

  /** Once for all the answers of a batch: looking at every claim for each of them would be quadratic. */
  function rearmSoon(): void {
    if (rearming) return;
    rearming = true;
    queueMicrotask(rearm);
  }

  function rearm(): void {
    rearming = false;
    let nextMs = Number.POSITIVE_INFINITY;
    for (const claim of executions.values()) {
      if (claim.running) nextMs = Math.min(nextMs, dueAtMs(claim));
    }
    wakeBy(nextMs);
  }

  /** The extensions of one tick leave together: the group commit gathers them. */
  async function beat(claim: HeldClaim): Promise<void> {
    const { scope, key, settings } = claim.operation;
    const sentMs = now();
    claim.beating = true;
    let result: ExtendResult | { readonly kind: "error"; readonly error: unknown };
    try {
      result = await client.extend({ scope, key, token: claim.token, leaseMs: settings.leaseMs });
    } catch (error) {
      result = { kind: "error", error };
    }
    claim.beating = false;
    // Its settlement is under way, or its trust is over: then the answer is too late to matter.
    if (!claim.running) return;
    switch (result.kind) {
      case "extended":
        // Counted from the send: the store's lease began no earlier.
        claim.trustedUntilMs = sentMs + settings.trustMs;
        claim.nextBeatMs = sentMs + (settings.heartbeatMs ?? Number.POSITIVE_INFINITY);
        events.emit("heartbeat", () => aboutClaim(claim));
        break;
      case "lost":
        claim.lose(claim.lostError("another worker took it over, or it was forgotten"));
        break;
      default:
        retryBeat(
          claim,
          result.kind === "error" ? result.error : new HapaxError("store-unavailable", "The record was locked."),
        );
    }
    rearmSoon();
  }

  function retryBeat(claim: HeldClaim, error: unknown): void {
    claim.nextBeatMs = now() + Math.max(RETRY_MS_MIN, (claim.trustedUntilMs - now()) / 4);
    events.emit("heartbeat_failed", () => ({ ...aboutClaim(claim), error }));
    logger.warn("heartbeat_failed: the claim was not extended; the work goes on while it is trusted", {
      ...shownOperation(claim.operation),
      error,
    });
  }

  return {
    added,
    stop: () => cancelTimer?.(),
  };
}

function dueAtMs(claim: HeldClaim): number {
  const beatMs = claim.beating ? Number.POSITIVE_INFINITY : claim.nextBeatMs;
  return Math.min(beatMs, claim.trustedUntilMs);
}

function isDue(claim: HeldClaim, nowMs: number): boolean {
  const earlyMs = (claim.operation.settings.heartbeatMs ?? 0) * EARLY_PART;
  return claim.nextBeatMs - nowMs <= earlyMs;
}

export function aboutClaim(claim: HeldClaim): {
  scope: string;
  key: string;
  token: HeldClaim["token"];
  attempt: number;
} {
  const { operation, token, attempt } = claim;
  return { scope: operation.scope, key: operation.key, token, attempt };
}
