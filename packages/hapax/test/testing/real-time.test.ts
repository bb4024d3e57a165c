import { describe, expect, it } from "vitest";
import { memoryStore } from "../../src/stores/memory/index.js";
import { storeConformance } from "../../src/testing/index.js";

/** So many cases wait at a time: all at once would keep each other from the processor. */
const AT_ONCE = 24;

describe("the kit on a store with a clock of its own", () => {
  it("really waits, and finds the same", async () => {
    const waiting = [...storeConformance(() => ({ store: memoryStore() }))];
    const failures: string[] = [];
    const worker = async () => {
      for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
        const { group, name, run } = next;
        await run().catch((error: unknown) => failures.push(`${group}: ${name}: ${String(error)}`));
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    expect(failures).toEqual([]);
  });
});
