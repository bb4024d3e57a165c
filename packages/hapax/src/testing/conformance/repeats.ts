import assert from "node:assert/strict";
import type { Clause } from "./clause.js";
import { expectKind, kindsOf } from "./expect.js";
import { reach } from "./states.js";

/** One record several times in one batch: as if its items had come one after the other, in some order. */
export const repeatClauses: readonly Clause[] = [
  {
    rule: "waist, G3",
    name: "the same new key several times in one batch is granted once, and every arrival counts",
    async check(trial) {
      const keys = ["twice", "once", "twice", "twice"];
      const answers = await trial.store.claim(keys.map((key) => trial.request({ key })));
      expectKind(answers[1] ?? { kind: "missing" }, "granted");
      const twice = answers.filter((_, index) => index !== 1);
      assert.deepEqual(kindsOf(twice).sort(), ["busy", "busy", "granted"]);
      const record = await trial.record("twice");
      assert.equal(record.seen, 3);
      assert.equal(record.runs, 1);
    },
  },
  ...(["done", "failed", "expired"] as const).map(
    (state): Clause => ({
      rule: "waist, G3",
      name: `the same key several times in one batch on a record that is ${state} is granted at most once`,
      async check(trial) {
        await reach(trial, state);
        const answers = await trial.store.claim(Array.from({ length: 4 }, () => trial.request()));
        const expected = state === "done" ? ["done", "done", "done", "done"] : ["busy", "busy", "busy", "granted"];
        assert.deepEqual(kindsOf(answers).sort(), expected);
        assert.equal((await trial.record()).seen, 5);
      },
    }),
  ),
  {
    rule: "waist, rule 6",
    name: "the same key several times in one batch on an abandoned record of policy hold is uncertain to all",
    async check(trial) {
      await reach(trial, "expired", { onAbandoned: "hold" });
      const answers = await trial.store.claim(Array.from({ length: 4 }, () => trial.request()));
      assert.deepEqual(new Set(kindsOf(answers)), new Set(["uncertain"]));
      assert.equal((await trial.record()).seen, 5);
    },
  },
  {
    rule: "waist, rule 7",
    name: "the same key several times in one batch is final to all once its attempts are used up",
    async check(trial) {
      await reach(trial, "expired", { maxAttempts: 1 });
      const answers = await trial.store.claim(Array.from({ length: 4 }, () => trial.request({ maxAttempts: 1 })));
      assert.deepEqual(new Set(kindsOf(answers)), new Set(["failed"]));
      assert.equal((await trial.record()).seen, 5);
    },
  },
  {
    rule: "waist, rule 2",
    name: "a new key with two fingerprints in one batch is granted to one, and a mismatch to the other",
    async check(trial) {
      const answers = await trial.store.claim([
        trial.request({ fingerprint: "a" }),
        trial.request({ fingerprint: "b" }),
      ]);
      assert.deepEqual(kindsOf(answers).sort(), ["granted", "mismatch"]);
      const winner = answers[0]?.kind === "granted" ? "a" : "b";
      const record = await trial.record();
      assert.equal(record.fingerprint, winner);
      assert.equal(record.seen, 1);
    },
  },
  {
    rule: "waist, rule 4",
    name: "the same claim twice in one batch is the same grant",
    async check(trial) {
      const request = trial.request();
      const answers = await trial.store.claim([request, request]);
      const tokens = answers.map((answer) => expectKind(answer, "granted").token);
      assert.equal(tokens[0], tokens[1]);
      assert.equal((await trial.record()).runs, 1);
    },
  },
  {
    rule: "waist, rule 4",
    name: "the same settlement twice in one batch is settled twice and counted once",
    async check(trial) {
      const { token } = await trial.grant();
      const release = trial.releasing(token, { arrivals: 2 });
      assert.deepEqual(kindsOf(await trial.store.settle([release, release])), ["settled", "settled"]);
      const record = await trial.record();
      assert.equal(record.seen, 3);
      assert.equal(record.runs, 0);
    },
  },
  {
    rule: "waist, rule 4",
    name: "of two settlements of one token in one batch one is settled, and the record is as it says",
    async check(trial) {
      const { token } = await trial.grant();
      const answers = await trial.store.settle([trial.completion(token), trial.failure(token)]);
      assert.deepEqual(kindsOf(answers).sort(), ["lost", "settled"]);
      const expected = answers[0]?.kind === "settled" ? "done" : "failed";
      assert.equal((await trial.record()).status, expected);
    },
  },
  {
    rule: "waist",
    name: "the same lease twice in one batch is extended twice",
    async check(trial) {
      const { token } = await trial.grant();
      const lease = { scope: trial.scope, key: "key", token, leaseMs: 1_000_000 };
      assert.deepEqual(kindsOf(await trial.store.extend([lease, lease])), ["extended", "extended"]);
    },
  },
];
