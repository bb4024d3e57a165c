import fc from "fast-check";
import type { Library } from "./library.js";
import type { Invariant } from "./observer/verdict.js";
import type { Plan } from "./plan.js";
import { plans } from "./plans.js";
import { Counterexample, simulate } from "./world.js";

export interface PropertyOptions {
  readonly library: Library;
  readonly runs: number;
  readonly seed: number;
  /** Begin at this counterexample, as a failed run printed it. */
  readonly path?: string;
  /** Stop at the first counterexample instead of looking for a smaller one. */
  readonly first?: boolean;
  /** Look for a smaller counterexample for at most this long. */
  readonly shrinkMs?: number;
  /** Called after each run. */
  readonly onRun?: (runs: number) => void;
}

export interface PropertyResult {
  /** Runs until the first failure, or all. */
  readonly runs: number;
  readonly seed: number;
  readonly failure: Failure | undefined;
}

export interface Failure {
  readonly invariant: Invariant | undefined;
  readonly path: string;
  /** What broke, and the timeline of the smallest run that breaks it. */
  readonly message: string;
  readonly plan: Plan | undefined;
}

const SHRINK_MS = 20_000;

/** Draws plans and runs them, until one breaks an invariant. */
export async function checkProperty(options: PropertyOptions): Promise<PropertyResult> {
  const { library, runs, seed, path, first = false, shrinkMs = SHRINK_MS, onRun } = options;
  let done = 0;
  let failedAtMs: number | undefined;
  const property = fc.asyncProperty(plans, async (plan) => {
    if (failedAtMs !== undefined && Date.now() - failedAtMs > shrinkMs) return;
    try {
      await simulate(library, plan);
      if (failedAtMs !== undefined) return;
      done += 1;
      onRun?.(done);
    } catch (error) {
      failedAtMs ??= Date.now();
      throw error;
    }
  });
  const details = await fc.check(property, {
    numRuns: runs,
    seed,
    endOnFailure: first,
    ...(path === undefined ? {} : { path }),
  });
  if (!details.failed) return { runs: done, seed, failure: undefined };
  const error = details.errorInstance;
  return {
    runs: done + 1,
    seed,
    failure: {
      invariant: error instanceof Counterexample ? error.invariant : undefined,
      path: details.counterexamplePath ?? "",
      plan: details.counterexample?.[0],
      message: error instanceof Counterexample ? error.message : String(error instanceof Error ? error.stack : error),
    },
  };
}
