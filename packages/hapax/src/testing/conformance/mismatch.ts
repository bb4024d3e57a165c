import assert from "node:assert/strict";
import type { Clause } from "./clause.js";
import { bytes, expectKind, expectSameRecord } from "./expect.js";
import { reach, STATES } from "./states.js";
import { BRIEF_MS } from "./trial.js";

/** Another payload under a known key. */
export const mismatchClauses: readonly Clause[] = [
  ...STATES.map(
    (state): Clause => ({
      rule: "rule 2",
      name: `another fingerprint on a record that is ${state} is a mismatch, and changes nothing`,
      async check(trial) {
        await reach(trial, state, { fingerprint: "a" });
        const before = await trial.record();
        const other = { fingerprint: "b", arrivals: 5, metadata: bytes("other"), owner: "other" };
        for (let times = 0; times < 2; times += 1) {
          expectKind(await trial.claim(other), "mismatch");
          expectSameRecord(await trial.record(), before);
        }
      },
    }),
  ),
  {
    rule: "rule 2",
    name: "another fingerprint is a mismatch also with the claimId of the record",
    async check(trial) {
      await trial.grant({ claimId: "claim", fingerprint: "a" });
      expectKind(await trial.claim({ claimId: "claim", fingerprint: "b" }), "mismatch");
    },
  },
  {
    rule: "rule 2",
    name: "another fingerprint takes no claim over, and makes none uncertain",
    async check(trial) {
      const { token } = await trial.grant({ fingerprint: "a", leaseMs: BRIEF_MS });
      await trial.pass(BRIEF_MS);
      expectKind(await trial.claim({ fingerprint: "b", onAbandoned: "hold" }), "mismatch");
      const record = await trial.record();
      assert.equal(record.status, "running");
      assert.equal(record.token, token);
    },
  },
  {
    rule: "rule 2",
    name: "the same fingerprint is none",
    async check(trial) {
      await reach(trial, "done", { fingerprint: "a" });
      expectKind(await trial.claim({ fingerprint: "a" }), "done");
    },
  },
  {
    rule: "rule 2",
    name: "a claim without a fingerprint is not compared",
    async check(trial) {
      await reach(trial, "done", { fingerprint: "a" });
      expectKind(await trial.claim(), "done");
      assert.equal((await trial.record()).fingerprint, "a");
    },
  },
  {
    rule: "rule 2",
    name: "a record without a fingerprint is not compared",
    async check(trial) {
      await reach(trial, "done");
      expectKind(await trial.claim({ fingerprint: "a" }), "done");
      expectKind(await trial.claim({ fingerprint: "b" }), "done");
    },
  },
  ...(["failed", "expired"] as const).map(
    (state): Clause => ({
      rule: "rule 2",
      name: `a grant without a fingerprint on a record that is ${state} keeps the first one`,
      async check(trial) {
        await reach(trial, state, { fingerprint: "a" });
        await trial.grant();
        assert.equal((await trial.record()).fingerprint, "a");
        expectKind(await trial.claim({ fingerprint: "b" }), "mismatch");
      },
    }),
  ),
  {
    rule: "rule 2",
    name: "a record takes the fingerprint of the first grant that has one",
    async check(trial) {
      await reach(trial, "failed");
      await trial.grant({ fingerprint: "a" });
      assert.equal((await trial.record()).fingerprint, "a");
      expectKind(await trial.claim({ fingerprint: "b" }), "mismatch");
    },
  },
  {
    rule: "rule 2",
    name: "a busy claim leaves no fingerprint behind",
    async check(trial) {
      await reach(trial, "running");
      expectKind(await trial.claim({ fingerprint: "a" }), "busy");
      assert.equal((await trial.record()).fingerprint, undefined);
      expectKind(await trial.claim({ fingerprint: "b" }), "busy");
    },
  },
  {
    rule: "rule 2",
    name: "past the retention any fingerprint is granted",
    async check(trial) {
      await reach(trial, "done", { fingerprint: "a", retentionMs: BRIEF_MS });
      await trial.pass(BRIEF_MS);
      await trial.grant({ fingerprint: "b" });
      assert.equal((await trial.record()).fingerprint, "b");
      expectKind(await trial.claim({ fingerprint: "a" }), "mismatch");
    },
  },
  {
    rule: "rule 8",
    name: "after a forget any fingerprint is granted, and none is left over",
    async check(trial) {
      await reach(trial, "done", { fingerprint: "a" });
      await trial.store.forget({ scope: trial.scope, key: "key", force: false });
      await trial.grant();
      assert.equal((await trial.record()).fingerprint, undefined);
    },
  },
];
