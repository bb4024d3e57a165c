import { describe, it } from "vitest";
import { memoryStore } from "../../src/stores/memory/index.js";
import { manualClock, storeConformance } from "../../src/testing/index.js";

describe("the memory store is a store", () => {
  const cases = storeConformance(() => {
    const clock = manualClock();
    return { store: memoryStore({ clock }), passTime: clock.advance };
  });
  for (const { group, rule, name, run } of cases) it(`${group}: ${name} (${rule})`, run);
});
