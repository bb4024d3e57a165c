import { AssertionError } from "node:assert";
import { afterEach, describe, expect, it, vi } from "vitest";
import { type ConformanceCase, manualClock, storeConformance } from "../../src/testing/index.js";
import { batchMutants } from "./mutants/batches.js";
import { claimMutants } from "./mutants/claims.js";
import { lifetimeMutants } from "./mutants/lifetimes.js";
import type { Mutant } from "./mutants/mutant.js";
import { settlementMutants } from "./mutants/settlements.js";

type Transitions = typeof import("../../src/core/transitions.js");
type UpkeepTransitions = typeof import("../../src/core/upkeep-transitions.js");

afterEach(() => {
  vi.doUnmock("../../src/core/transitions.js");
  vi.doUnmock("../../src/core/upkeep-transitions.js");
  vi.resetModules();
});

/** The kit on a memory store with a fault in it. */
async function casesOn({ transitions, upkeep, store: change }: Partial<Mutant>): Promise<readonly ConformanceCase[]> {
  vi.resetModules();
  vi.doMock("../../src/core/transitions.js", async (importOriginal) => {
    const real = await importOriginal<Transitions>();
    return { ...real, ...transitions?.(real) };
  });
  vi.doMock("../../src/core/upkeep-transitions.js", async (importOriginal) => {
    const real = await importOriginal<UpkeepTransitions>();
    return { ...real, ...upkeep?.(real) };
  });
  const { memoryStore } = await import("../../src/stores/memory/index.js");
  return storeConformance(() => {
    const clock = manualClock();
    const store = memoryStore({ clock });
    return { store: { ...store, ...change?.(store) }, passTime: clock.advance };
  });
}

/** What the cases failed with, in their order; all at once, since each has a store of its own. */
async function failuresOf(cases: readonly ConformanceCase[]): Promise<readonly unknown[]> {
  const outcomes = await Promise.allSettled(cases.map(({ run }) => run()));
  return outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason] : []));
}

describe("the kit", () => {
  it("passes a store without a fault", async () => {
    expect(await failuresOf(await casesOn({}))).toEqual([]);
  });

  it.each([...claimMutants, ...settlementMutants, ...lifetimeMutants, ...batchMutants])(
    "catches $name",
    async (mutant) => {
      const cases = (await casesOn(mutant)).filter(({ group }) => group === mutant.caughtBy);
      const failures = await failuresOf(cases);
      expect(failures.length).toBeGreaterThan(0);
      // It was the check that saw it: nothing fell over.
      expect(failures[0]).toBeInstanceOf(AssertionError);
    },
  );

  it("names every case once", async () => {
    const names = storeConformance(() => expect.unreachable()).map(({ group, name }) => `${group}: ${name}`);
    expect(new Set(names).size).toBe(names.length);
  });

  it("says which rule each case comes from", () => {
    for (const { rule } of storeConformance(() => expect.unreachable())) {
      expect(rule).toMatch(/^(rule \d+|tokens|waist|[A-Z]\d+)(, (rule \d+|[A-Z]\d+))*$/);
    }
  });
});
