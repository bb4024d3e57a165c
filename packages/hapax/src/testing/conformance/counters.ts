import assert from "node:assert/strict";
import type { Clause } from "./clause.js";
import { expectKind, expectSameRecord } from "./expect.js";
import { reach, STATES } from "./states.js";

/** How often a key arrived (`seen`) and was executed (`runs`). */
export const counterClauses: readonly Clause[] = [
  ...STATES.map(
    (state): Clause => ({
      rule: "rule 9, S5",
      name: `a claim on a record that is ${state} counts all who arrived with it`,
      async check(trial) {
        await reach(trial, state);
        const before = await trial.record();
        await trial.claim({ arrivals: 3 });
        const after = await trial.record();
        assert.equal(after.seen, before.seen + 3);
        assert.ok(after.lastSeenAtMs >= before.lastSeenAtMs, "lastSeenAtMs went back");
        assert.equal(after.firstSeenAtMs, before.firstSeenAtMs);
        await trial.claim();
        assert.equal((await trial.record()).seen, before.seen + 4);
      },
    }),
  ),
  ...(["running", "done", "final", "uncertain"] as const).map(
    (state): Clause => ({
      rule: "rule 9",
      name: `a waiter that asks again on a record that is ${state} changes nothing`,
      async check(trial) {
        await reach(trial, state);
        const before = await trial.record();
        for (let times = 0; times < 3; times += 1) {
          await trial.pass(1);
          await trial.claim({ arrivals: 0 });
          expectSameRecord(await trial.record(), before);
        }
      },
    }),
  ),
  ...(["expired", "failed"] as const).map(
    (state): Clause => ({
      rule: "rule 9",
      name: `a waiter that is granted a record that is ${state} counts as a run, and not as another arrival`,
      async check(trial) {
        await reach(trial, state);
        const before = await trial.record();
        await trial.pass(1);
        const { runs } = await trial.grant({ arrivals: 0 });
        assert.equal(runs, 2);
        const after = await trial.record();
        assert.equal(after.seen, before.seen);
        assert.equal(after.lastSeenAtMs, before.lastSeenAtMs);
      },
    }),
  ),
  {
    rule: "rule 9",
    name: "a new record counts all who arrived with its claim",
    async check(trial) {
      const { runs } = await trial.grant({ arrivals: 7 });
      assert.equal(runs, 1);
      const record = await trial.record();
      assert.equal(record.seen, 7);
      assert.equal(record.runs, 1);
    },
  },
  {
    rule: "rule 9",
    name: "a waiter whose record is gone counts in the new one",
    async check(trial) {
      await trial.grant({ arrivals: 0 });
      assert.equal((await trial.record()).seen, 1);
    },
  },
  ...(["complete", "fail", "release"] as const).map(
    (kind): Clause => ({
      rule: "rule 9",
      name: `arrivals that joined the execution travel with its ${kind}, and count once`,
      async check(trial) {
        const { token } = await trial.grant();
        expectKind(await trial[kind](token, { arrivals: 4 }), "settled");
        assert.equal((await trial.record()).seen, 5);
        expectKind(await trial[kind](token, { arrivals: 4 }), "settled");
        assert.equal((await trial.record()).seen, 5);
      },
    }),
  ),
  {
    rule: "rule 9",
    name: "a settlement without arrivals does not count as one",
    async check(trial) {
      const { token } = await trial.grant();
      const before = await trial.record();
      await trial.pass(1);
      expectKind(await trial.complete(token), "settled");
      const after = await trial.record();
      assert.equal(after.seen, 1);
      assert.equal(after.lastSeenAtMs, before.lastSeenAtMs);
    },
  },
  {
    rule: "rule 9",
    name: "a settlement that is refused counts nothing",
    async check(trial) {
      const { token } = await reach(trial, "expired");
      await trial.grant();
      expectKind(await trial.complete(token, { arrivals: 4 }), "lost");
      assert.equal((await trial.record()).seen, 2);
    },
  },
  {
    rule: "G5",
    name: "runs counts every grant",
    async check(trial) {
      for (let run = 1; run <= 5; run += 1) {
        const { token, runs } = await trial.grant();
        assert.equal(runs, run);
        expectKind(await trial.fail(token), "settled");
      }
      const { runs } = await trial.grant();
      assert.equal(runs, 6);
      assert.equal((await trial.record()).runs, 6);
    },
  },
];
