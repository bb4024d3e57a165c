import { describe, expect, it } from "vitest";
import { realLibrary } from "../../../../lab/simulation/library.js";
import { KINDS } from "../../../../lab/simulation/planted-bugs.js";
import { runsUntilCaught } from "../../../../lab/simulation/planted-suite.js";
import { checkProperty } from "../../../../lab/simulation/property.js";

/** The short form; `npm run lab` is the long one. */
describe("random interleavings over the engine and the memory store", () => {
  // Fixed here, so that a test that passed passes again; the lab draws new ones.
  it.each([
    [20_260_101, 600],
    [7, 300],
  ])("G3 F6 P5 hold every invariant: seed %i", async (seed, runs) => {
    const { failure } = await checkProperty({ library: realLibrary, runs, seed });
    expect(failure, `again: npm run lab -- --seed ${seed} --runs ${runs}\n${failure?.message}`).toBeUndefined();
  });
});

describe("the simulation catches", () => {
  it.each(KINDS.map((bug) => [bug.name, bug] as const))("%s", { timeout: 240_000 }, async (_name, bug) => {
    expect(await runsUntilCaught(bug, 5, 4_000)).toBeDefined();
  });
});
