import assert from "node:assert/strict";
import { createHapax, type Hapax } from "../../core/hapax.js";
import { KEY_BYTES_MAX, SCOPE_BYTES_MAX } from "../../core/limits.js";
import type { Clause } from "./clause.js";
import type { Trial } from "./trial.js";

/** What the engine refuses, so that no store ever sees it. */
const REFUSED_KEYS: Readonly<Record<string, string>> = {
  "a NUL": "key\0",
  "a lone high surrogate": "key\ud83d",
  "a lone low surrogate": "\udc4dkey",
  "more than 512 bytes": "k".repeat(KEY_BYTES_MAX + 1),
  "more than 512 bytes in few characters": "👍".repeat(KEY_BYTES_MAX / 4 + 1),
  "nothing in it": "",
};

async function withHapax(trial: Trial, check: (hapax: Hapax) => Promise<void>): Promise<void> {
  const hapax = createHapax({ store: trial.store, upkeep: false });
  try {
    await check(hapax);
  } finally {
    await hapax.close({ timeout: "5s" });
  }
}

function codeOf(outcome: PromiseSettledResult<unknown> | undefined): unknown {
  if (outcome?.status !== "rejected") return outcome?.status;
  return (outcome.reason as { code?: unknown }).code ?? String(outcome.reason);
}

/** The store under the engine. */
export const engineClauses: readonly Clause[] = [
  ...Object.entries(REFUSED_KEYS).map(
    ([what, bad]): Clause => ({
      rule: "waist",
      name: `a key with ${what} is refused beside good neighbours of the same tick, which run`,
      check: (trial) =>
        withHapax(trial, async (hapax) => {
          const { scope } = trial;
          const ran: string[] = [];
          const run = (key: string) => hapax.run({ scope, key }, () => ran.push(key));
          const outcomes = await Promise.allSettled([run("good 1"), run(bad), run("good 2"), run(bad)]);
          assert.deepEqual(outcomes.map(codeOf), ["fulfilled", "invalid-key", "fulfilled", "invalid-key"]);
          assert.deepEqual(ran.sort(), ["good 1", "good 2"]);
          assert.equal((await trial.record("good 1")).status, "done");
          assert.equal((await trial.record("good 2")).status, "done");
          assert.equal((await trial.pages()).flat().length, 2);
        }),
    }),
  ),
  {
    rule: "waist",
    name: "a scope that is too long or malformed is refused beside good neighbours of the same tick, which run",
    check: (trial) =>
      withHapax(trial, async (hapax) => {
        const run = (scope: string) => hapax.run({ scope, key: "key" }, () => scope);
        const bad = [`${trial.scope}\0`, `${trial.scope}\ud83d`, "s".repeat(SCOPE_BYTES_MAX + 1)];
        const outcomes = await Promise.allSettled([run(trial.scope), ...bad.map(run)]);
        assert.deepEqual(outcomes.map(codeOf), ["fulfilled", "invalid-scope", "invalid-scope", "invalid-scope"]);
        assert.equal((await trial.record()).status, "done");
      }),
  },
  {
    rule: "G3, P5",
    name: "concurrent deliveries in several processes run once, and all get the value",
    check: (trial) =>
      withHapax(trial, (one) =>
        withHapax(trial, async (two) => {
          let runs = 0;
          const work = async () => {
            runs += 1;
            await new Promise(setImmediate);
            return { paid: true, amount: 4_200n };
          };
          const call = { scope: trial.scope, key: "key", payload: { order: 7 } };
          const outs = await Promise.all(
            Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? one : two).run(call, work)),
          );
          assert.equal(runs, 1);
          assert.equal(outs.filter(({ replayed }) => !replayed).length, 1);
          for (const { value } of outs) assert.deepEqual(value, { paid: true, amount: 4_200n });
          const late = await two.run(call, work);
          assert.equal(late.replayed, true);
          assert.deepEqual(late.value, { paid: true, amount: 4_200n });
        }),
      ),
  },
  {
    rule: "P7, G6",
    name: "a function that throws leaves nothing that is replayed, and the next delivery runs",
    check: (trial) =>
      withHapax(trial, async (hapax) => {
        const call = { scope: trial.scope, key: "key" };
        const refused = new Error("card refused");
        await assert.rejects(
          hapax.run(call, () => {
            throw refused;
          }),
          (error) => error === refused,
        );
        const out = await hapax.run(call, () => "paid");
        assert.equal(out.value, "paid");
        assert.equal(out.attempt, 2);
      }),
  },
];
