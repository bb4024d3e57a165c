import { HapaxError } from "../errors.js";
import type { ClaimResult, ExtendResult, SettleResult } from "./store.js";

export const CLAIM_KINDS: ReadonlySet<string> = new Set<ClaimResult["kind"]>([
  ...(["granted", "busy", "done", "failed", "mismatch", "uncertain", "stale"] as const),
]);
export const SETTLE_KINDS: ReadonlySet<string> = new Set<SettleResult["kind"]>(["settled", "lost", "unknown"]);
export const EXTEND_KINDS: ReadonlySet<string> = new Set<ExtendResult["kind"]>(["extended", "lost", "unknown"]);

/** An answer that nobody knows must not be guessed at: it counts as none. */
export function understood<Answer extends { readonly kind: string }>(
  answers: readonly Answer[],
  kinds: ReadonlySet<string>,
): readonly Answer[] {
  for (const answer of answers) {
    if (kinds.has(answer?.kind)) continue;
    throw new HapaxError("store-unavailable", "The store gave an answer that this version of hapax does not know.");
  }
  return answers;
}
