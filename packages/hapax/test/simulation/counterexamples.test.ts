import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FOUND_RUNS } from "../../../../lab/simulation/counterexamples.js";
import { realLibrary } from "../../../../lab/simulation/library.js";
import { plans } from "../../../../lab/simulation/plans.js";
import { Counterexample, simulate } from "../../../../lab/simulation/world.js";

describe("runs that broke an invariant once", () => {
  it.each(FOUND_RUNS.map(({ name, plan }) => [name, plan] as const))("%s", async (_name, plan) => {
    await simulate(realLibrary, plan);
  });
});

describe("the simulation", () => {
  it("does the same again for the same plan, to the message", async () => {
    for (const plan of fc.sample(plans, { numRuns: 40, seed: 3 })) {
      const [first, second] = [await told(plan), await told(plan)];
      expect(second).toBe(first);
    }
  });
});

async function told(plan: Parameters<typeof simulate>[1]): Promise<string> {
  try {
    return String(await simulate(realLibrary, plan));
  } catch (error) {
    if (error instanceof Counterexample) return error.message;
    throw error;
  }
}
