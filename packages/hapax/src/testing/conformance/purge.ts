import assert from "node:assert/strict";
import type { Clause } from "./clause.js";
import { expectKind, expectNewer, expectSameRecord, expectSteps } from "./expect.js";
import { reach } from "./states.js";
import { BRIEF_MS, LONG_MS } from "./trial.js";

/** The upkeep: bounded pieces, and never a record that somebody could still see. */
export const purgeClauses: readonly Clause[] = [
  {
    rule: "rule 3",
    name: "a purge leaves every record whose retention is not over",
    async check(trial) {
      const states = ["running", "expired", "failed", "released", "done", "final", "uncertain"] as const;
      for (const state of states) await reach(trial, state, { key: state });
      const before = (await trial.pages()).flat();
      await trial.purgeAll();
      assert.equal(before.length, states.length);
      for (const record of before) expectSameRecord(await trial.read(record.key), record);
    },
  },
  {
    rule: "rule 2",
    name: "a purge piece deletes no more than its limit, and says when there is more",
    async check(trial) {
      await trial.purgeAll();
      for (let index = 0; index < 7; index += 1) {
        await reach(trial, "done", { key: `key ${index}`, retentionMs: BRIEF_MS });
      }
      await trial.pass(BRIEF_MS);
      let purged = 0;
      for (let pieces = 1; ; pieces += 1) {
        const piece = await trial.store.purge(3);
        assert.ok(piece.purged <= 3, `a piece of 3 deleted ${piece.purged}`);
        purged += piece.purged;
        if (!piece.more) break;
        assert.ok(pieces < 100, "it always says that there is more");
      }
      // A store whose records expire by themselves deletes none here; one that deletes must not stop half-way.
      assert.ok(purged === 0 || purged >= 7, `the purge ended after ${purged} of 7`);
    },
  },
  {
    rule: "rule 6",
    name: "a purge piece moves no more abandoned claims than its limit, and in the end all of them",
    async check(trial) {
      await trial.purgeAll();
      const keys = Array.from({ length: 5 }, (_, index) => `key ${index}`);
      for (const key of keys) await trial.grant({ key, leaseMs: BRIEF_MS, onAbandoned: "hold" });
      await trial.pass(BRIEF_MS);
      let uncertain = 0;
      for (let pieces = 1; ; pieces += 1) {
        const piece = await trial.store.purge(2);
        assert.ok(piece.uncertain <= 2, `a piece of 2 moved ${piece.uncertain}`);
        uncertain += piece.uncertain;
        if (!piece.more) break;
        assert.ok(pieces < 100, "it always says that there is more");
      }
      assert.ok(uncertain >= 5, `the purge ended after ${uncertain} of 5`);
      for (const key of keys) expectKind(await trial.claim({ key }), "uncertain");
    },
  },
  {
    rule: "rule 2",
    name: "a purge with nothing to do says so",
    async check(trial) {
      await trial.purgeAll();
      assert.equal((await trial.store.purge(100)).more, false);
    },
  },
  {
    rule: "rule 8",
    name: "a forgotten record is purged, and the worker that held it stays fenced",
    async check(trial) {
      const { token } = await trial.grant();
      expectKind(await trial.step(token), "settled");
      await trial.store.forget({ scope: trial.scope, key: "key", force: true });
      await trial.purgeAll();
      expectKind(await trial.complete(token), "lost");
      const fresh = await trial.grant();
      expectNewer(fresh.token, token);
      expectSteps(fresh, {});
    },
  },
  {
    rule: "rule 2",
    name: "a purge never takes a record that is being claimed anew",
    async check(trial) {
      const keys = Array.from({ length: 20 }, (_, index) => `key ${index}`);
      for (let round = 0; round < 3; round += 1) {
        const retentionMs = round === 2 ? LONG_MS : BRIEF_MS;
        const claims = keys.map((key) => trial.grant({ key, retentionMs }));
        const purges = Array.from({ length: 5 }, () => trial.store.purge(4));
        const granted = await Promise.all(claims);
        await Promise.all(purges);
        for (const [index, { runs, token }] of granted.entries()) {
          assert.equal(runs, 1);
          expectKind(await trial.complete(token, { key: keys[index] ?? "" }), "settled");
        }
        await trial.pass(BRIEF_MS);
      }
      await trial.purgeAll();
      for (const key of keys) expectKind(await trial.claim({ key }), "done");
    },
  },
];
