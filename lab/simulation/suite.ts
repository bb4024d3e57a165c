import type { Suite } from "../suite.js";
import { realLibrary } from "./library.js";
import { checkProperty } from "./property.js";

/** Random interleavings over the real engine and the memory store, held against the invariants. */
export const simulation: Suite = {
  name: "Simulation: random interleavings, lost replies, stalls and crashes",
  async run({ runs, seed, path, progress }) {
    const startedMs = performance.now();
    const onRun = (done: number) => {
      if (done % 50 !== 0) return;
      const perSecond = done / ((performance.now() - startedMs) / 1_000);
      progress(`${done} of ${runs} runs, ${perSecond.toFixed(0)}/s, ${((runs - done) / perSecond).toFixed(0)} s left`);
    };
    const { failure, runs: done } = await checkProperty({
      library: realLibrary,
      runs,
      seed,
      onRun,
      ...(path === undefined ? {} : { path }),
    });
    if (failure === undefined) return { ok: true, lines: [`${done} runs hold every invariant (seed ${seed})`] };
    const again = `again: npm run lab -- --seed ${seed} --path ${failure.path}`;
    return { ok: false, lines: [`run ${done} breaks an invariant (seed ${seed}); ${again}`, failure.message] };
  },
};
