import { createHapax } from "hapax";
import { memoryStore } from "hapax/memory";

/** What `run` costs over calling the function, in µs a call: by one caller after the other, and by many together. */
export async function inMemory(calls: number, callers: number): Promise<{ alone: number; together: number }> {
  const hapax = createHapax({ store: memoryStore({ recordsMax: 10 * calls }), upkeep: false });
  const work = async () => ({ ok: true });
  let next = 0;
  const caller = (until: number) => async () => {
    while (next < until) await hapax.run({ scope: "payments", key: `order-${next++}` }, work);
  };
  await caller(calls)();
  const alone = await timed(calls, caller(2 * calls));
  const together = await timed(calls, async () => {
    await Promise.all(Array.from({ length: callers }, caller(3 * calls)));
  });
  const bare = await timed(calls, async () => {
    for (let call = 0; call < calls; call += 1) await work();
  });
  return { alone: alone - bare, together: together - bare };
}

async function timed(calls: number, work: () => Promise<void>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return ((performance.now() - startedMs) / calls) * 1_000;
}
