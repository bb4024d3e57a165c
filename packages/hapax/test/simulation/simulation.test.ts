import { describe, expect, it } from "vitest";
import { realLibrary } from "../../../../lab/simulation/library.js";
import { KINDS } from "../../../../lab/simulation/planted-bugs.js";
import { runsUntilCaught } from "../../../../lab/simulation/planted-suite.js";
import { checkProperty } from "../../../../lab/simulation/property.js";

/** The short form; `npm run lab` is the long one. */
describe("random interleavings over the engine and the memory store", () => {
  const SEED = 20_260_101;
  const random = Math.floor(Math.random() * 2 ** 31);

  it.each([
    ["a fixed seed", SEED, 600],
    [`the random seed ${random}`, random, 300],
  ])("G3 F6 P5 hold every invariant: %s", async (_name, seed, runs) => {
    const { failure } = await checkProperty({ library: realLibrary, runs, seed });
    expect(failure, `again: npm run lab -- --seed ${seed} --runs ${runs}\n${failure?.message}`).toBeUndefined();
  });
});

describe("the simulation catches", () => {
  it.each(KINDS.map((bug) => [bug.name, bug] as const))("%s", { timeout: 240_000 }, async (_name, bug) => {
    expect(await runsUntilCaught(bug, 5, 4_000)).toBeDefined();
  });
});
