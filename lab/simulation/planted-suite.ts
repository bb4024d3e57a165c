import type { Suite } from "../suite.js";
import { KINDS, PLANTED_BUGS, type PlantedBug } from "./planted-bugs.js";
import { plant } from "./planting.js";
import { checkProperty } from "./property.js";

/** A bug that survives this many runs is not caught. */
const RUNS_MAX = 8_000;
/** The same for each, so that the numbers can be compared. */
const SEED = 5;

/** The simulation would be worthless if it could not fail: each bug, planted in a copy of the sources, must break it. */
export const plantedBugs: Suite = {
  name: "Planted bugs: each must be caught",
  async run({ short, progress }) {
    const lines: string[] = [];
    let ok = true;
    for (const bug of short ? KINDS : PLANTED_BUGS) {
      progress(bug.name);
      const caughtAfter = await runsUntilCaught(bug, SEED);
      ok &&= caughtAfter !== undefined;
      lines.push(
        caughtAfter === undefined
          ? `NOT CAUGHT  ${bug.name}`
          : `caught after ${String(caughtAfter).padStart(4)} runs  ${bug.name}`,
      );
    }
    return { ok, lines };
  },
};

/** How many runs it took, if the bug is caught at all. */
export async function runsUntilCaught(
  bug: PlantedBug,
  seed: number,
  runsMax: number = RUNS_MAX,
): Promise<number | undefined> {
  const { library, remove } = await plant(bug);
  try {
    const { runs, failure } = await checkProperty({ library, runs: runsMax, seed, first: true });
    return failure === undefined ? undefined : runs;
  } finally {
    await remove();
  }
}
