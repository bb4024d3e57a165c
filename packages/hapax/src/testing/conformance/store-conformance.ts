import { abandonedClauses } from "./abandoned.js";
import { attemptClauses } from "./attempts.js";
import { batchClauses } from "./batches.js";
import { byteClauses } from "./bytes.js";
import { claimClauses } from "./claim.js";
import type { Clause } from "./clause.js";
import { counterClauses } from "./counters.js";
import { engineClauses } from "./engine.js";
import { extendClauses } from "./extend.js";
import { forgetClauses } from "./forget.js";
import { keyClauses } from "./keys.js";
import { listClauses } from "./list.js";
import { mismatchClauses } from "./mismatch.js";
import { purgeClauses } from "./purge.js";
import { raceClauses } from "./races.js";
import { repeatClauses } from "./repeats.js";
import { resolveClauses } from "./resolve.js";
import { retentionClauses } from "./retention.js";
import { sameClaimClauses } from "./same-claim.js";
import { sameSettlementClauses } from "./same-settlement.js";
import { setUpClauses } from "./set-up.js";
import { settleClauses } from "./settle.js";
import { stepClauses } from "./steps.js";
import { tokenClauses } from "./tokens.js";
import { createTrial, type StoreUnderTest } from "./trial.js";
import { watchClauses } from "./watch.js";

/** One clause of a store's contract, ready to run. */
export interface ConformanceCase {
  /** What it is about: `claim`, `settle`, `retention`, … */
  readonly group: string;
  /** The rule or requirement that it comes from. */
  readonly rule: string;
  /** A sentence that is true of every store. Unique within its group. */
  readonly name: string;
  /** Opens a store, checks it, closes it. Rejects with an `AssertionError` that says what was expected. */
  readonly run: () => Promise<void>;
}

const GROUPS: Readonly<Record<string, readonly Clause[]>> = {
  "set-up": setUpClauses,
  claim: claimClauses,
  "same claim": sameClaimClauses,
  mismatch: mismatchClauses,
  counters: counterClauses,
  settle: settleClauses,
  "same settlement": sameSettlementClauses,
  extend: extendClauses,
  abandoned: abandonedClauses,
  attempts: attemptClauses,
  retention: retentionClauses,
  resolve: resolveClauses,
  forget: forgetClauses,
  steps: stepClauses,
  tokens: tokenClauses,
  batches: batchClauses,
  repeats: repeatClauses,
  bytes: byteClauses,
  keys: keyClauses,
  list: listClauses,
  purge: purgeClauses,
  races: raceClauses,
  watch: watchClauses,
  engine: engineClauses,
};

/**
 * The definition of a store, as cases that any test runner can run. A store that passes all of them can be given to
 * `createHapax`.
 *
 * Every case opens a store of its own, or the same one again: it keeps to scopes that no other case uses. Cases that
 * share a database run one after the other.
 *
 * @example
 * import { manualClock, storeConformance } from "hapax/testing";
 *
 * const cases = storeConformance(() => {
 *   const clock = manualClock();
 *   return { store: memoryStore({ clock }), passTime: clock.advance };
 * });
 * for (const { group, rule, name, run } of cases) test(`${group}: ${name} (${rule})`, run);
 */
export function storeConformance(open: () => StoreUnderTest | Promise<StoreUnderTest>): readonly ConformanceCase[] {
  return Object.entries(GROUPS).flatMap(([group, clauses]) =>
    clauses.map(({ rule, name, check }) => ({
      group,
      rule,
      name,
      async run() {
        const opened = await open();
        try {
          await check(createTrial(opened));
        } finally {
          await opened.close?.();
        }
      },
    })),
  );
}
