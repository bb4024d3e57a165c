import assert from "node:assert/strict";
import type { Clause } from "./clause.js";
import { expectDistinct, expectKind, kindsOf } from "./expect.js";
import { reach } from "./states.js";

const CALLERS = 60;

function counts(kinds: readonly string[]): Record<string, number> {
  const counted: Record<string, number> = {};
  for (const kind of kinds) counted[kind] = (counted[kind] ?? 0) + 1;
  return counted;
}

/** Calls that are under way together: each pair ends as if one had come first. */
export const raceClauses: readonly Clause[] = [
  {
    rule: "rule 1, G3",
    name: `of ${CALLERS} parallel claims on a new key one is granted, and all are counted`,
    async check(trial) {
      const answers = await Promise.all(Array.from({ length: CALLERS }, () => trial.claim()));
      assert.deepEqual(counts(kindsOf(answers)), { granted: 1, busy: CALLERS - 1 });
      const record = await trial.record();
      assert.equal(record.seen, CALLERS);
      assert.equal(record.runs, 1);
    },
  },
  ...(["expired", "failed", "released"] as const).map(
    (state): Clause => ({
      rule: "rule 1, G2",
      name: `of ${CALLERS} parallel claims on a record that is ${state} one is granted, and all are counted`,
      async check(trial) {
        await reach(trial, state);
        const before = await trial.record();
        const answers = await Promise.all(Array.from({ length: CALLERS }, () => trial.claim()));
        assert.deepEqual(counts(kindsOf(answers)), { granted: 1, busy: CALLERS - 1 });
        const record = await trial.record();
        assert.equal(record.seen, before.seen + CALLERS);
        assert.equal(record.runs, before.runs + 1);
      },
    }),
  ),
  {
    rule: "rule 9, S5",
    name: `${CALLERS} parallel duplicates of a done record are all answered and all counted`,
    async check(trial) {
      await reach(trial, "done");
      const answers = await Promise.all(Array.from({ length: CALLERS }, () => trial.claim()));
      assert.deepEqual(counts(kindsOf(answers)), { done: CALLERS });
      assert.equal((await trial.record()).seen, CALLERS + 1);
    },
  },
  {
    rule: "rule 1",
    name: "parallel claims on different keys are all granted, with tokens of their own",
    async check(trial) {
      const answers = await Promise.all(
        Array.from({ length: CALLERS }, (_, index) => trial.grant({ key: `key ${index}` })),
      );
      expectDistinct(answers.map(({ token }) => token));
    },
  },
  {
    rule: "rule 4",
    name: "parallel sends of one claim are one grant",
    async check(trial) {
      const request = trial.request();
      const answers = await Promise.all(Array.from({ length: 10 }, () => trial.grant(request)));
      assert.equal(new Set(answers.map(({ token }) => token)).size, 1);
      assert.equal((await trial.record()).runs, 1);
    },
  },
  {
    rule: "rule 4",
    name: "of different settlements of one token in parallel one is settled, and the record is as it says",
    async check(trial) {
      const { token } = await trial.grant();
      const [complete, fail, release] = await Promise.all([
        trial.complete(token),
        trial.fail(token),
        trial.release(token),
      ]);
      assert.deepEqual(counts(kindsOf([complete, fail, release])), { settled: 1, lost: 2 });
      const { settledBy } = await trial.record();
      const winner = complete.kind === "settled" ? "complete" : fail.kind === "settled" ? "fail" : "release";
      assert.equal(settledBy, winner);
    },
  },
  {
    rule: "rule 5",
    name: "a late completion and a takeover in parallel: one of them has the record",
    async check(trial) {
      const { token } = await reach(trial, "expired");
      const [claim, complete] = await Promise.all([trial.claim(), trial.complete(token)]);
      const expected = complete.kind === "settled" ? "done" : "granted";
      expectKind(claim, expected);
      assert.equal((await trial.record()).status, expected === "done" ? "done" : "running");
    },
  },
  {
    rule: "rule 6",
    name: "a late completion and a decision in parallel: one of them has the record",
    async check(trial) {
      const { token } = await reach(trial, "uncertain");
      const [resolve, complete] = await Promise.all([trial.resolve(token), trial.complete(token)]);
      const winner = complete.kind === "settled" ? "complete" : "resolve";
      expectKind(resolve, winner === "resolve" ? "resolved" : "changed");
      assert.equal((await trial.record()).settledBy, winner);
    },
  },
  {
    rule: "rule 8",
    name: "a forget and a claim in parallel: the record is forgotten or live, and never both",
    async check(trial) {
      await reach(trial, "failed");
      const [{ forgotten, live }, { runs }] = await Promise.all([
        trial.store.forget({ scope: trial.scope, key: "key", force: false }),
        trial.grant(),
      ]);
      assert.deepEqual(
        { forgotten, live, runs },
        runs === 1 ? { forgotten: 1, live: 0, runs } : { forgotten: 0, live: 1, runs },
      );
    },
  },
  {
    rule: "rule 8",
    name: "a completion and a forced forget in parallel: the record is forgotten either way",
    async check(trial) {
      const { token } = await trial.grant();
      const [forgot] = await Promise.all([
        trial.store.forget({ scope: trial.scope, key: "key", force: true }),
        trial.complete(token),
      ]);
      assert.deepEqual(forgot, { forgotten: 1, live: 0 });
      assert.equal(await trial.read(), undefined);
      assert.equal((await trial.grant()).runs, 1);
    },
  },
];
