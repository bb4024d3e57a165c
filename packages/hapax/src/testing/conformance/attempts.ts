import assert from "node:assert/strict";
import type { Clause } from "./clause.js";
import { bytes, expectKind, expectSameBytes, expectSameRecord } from "./expect.js";
import { reach } from "./states.js";
import { BRIEF_MS } from "./trial.js";

/** When a failure is final, and when it is not. */
export const attemptClauses: readonly Clause[] = [
  {
    rule: "rule 7",
    name: "a permanent failure is final at once",
    async check(trial) {
      const { token } = await trial.grant({ maxAttempts: 10 });
      const settled = expectKind(await trial.fail(token, { permanent: true }), "settled");
      assert.equal(settled.final, true);
      assert.equal((await trial.record()).final, true);
      expectSameBytes(expectKind(await trial.claim(), "failed").error, bytes("error"));
    },
  },
  {
    rule: "rule 7",
    name: "the failure of the last attempt is final, and none before it",
    async check(trial) {
      for (const attempt of [1, 2, 3]) {
        const { token, runs } = await trial.grant({ maxAttempts: 3 });
        assert.equal(runs, attempt);
        const settled = expectKind(await trial.fail(token, { error: bytes(`attempt ${attempt}`) }), "settled");
        assert.equal(settled.final, attempt === 3);
      }
      const failed = expectKind(await trial.claim({ maxAttempts: 3 }), "failed");
      assert.equal(failed.runs, 3);
      expectSameBytes(failed.error, bytes("attempt 3"));
      // Final stays final, also for a claim that would allow more.
      expectKind(await trial.claim({ maxAttempts: 10 }), "failed");
      expectKind(await trial.claim(), "failed");
    },
  },
  {
    rule: "rule 7",
    name: "the same last failure again is still final",
    async check(trial) {
      const { token } = await trial.grant({ maxAttempts: 1 });
      assert.equal(expectKind(await trial.fail(token), "settled").final, true);
      assert.equal(expectKind(await trial.fail(token), "settled").final, true);
    },
  },
  {
    rule: "rule 7",
    name: "without a limit a record fails and runs again without end",
    async check(trial) {
      for (let attempt = 1; attempt <= 12; attempt += 1) {
        const { token } = await trial.grant();
        assert.equal(expectKind(await trial.fail(token), "settled").final, false);
      }
      assert.equal((await trial.grant()).runs, 13);
    },
  },
  {
    rule: "rule 7",
    name: "a takeover that would exceed the limit makes the record final instead",
    async check(trial) {
      const { token } = await reach(trial, "expired", { maxAttempts: 1 });
      const failed = expectKind(await trial.claim({ maxAttempts: 1, arrivals: 2 }), "failed");
      assert.equal(failed.token, token);
      assert.equal(failed.runs, 1);
      const record = await trial.record();
      assert.equal(record.status, "failed");
      assert.equal(record.final, true);
      assert.equal(record.runs, 1);
      assert.equal(record.seen, 3);
      assert.ok(record.expiresAtMs !== undefined, "its retention has not begun");
      expectKind(await trial.claim(), "failed");
    },
  },
  {
    rule: "rule 7",
    name: "a takeover within the limit is granted",
    async check(trial) {
      await reach(trial, "expired", { maxAttempts: 2 });
      assert.equal((await trial.grant({ maxAttempts: 2 })).runs, 2);
    },
  },
  {
    rule: "rule 7",
    name: "a claim on a failed record that would exceed the claim's own limit makes it final for everyone",
    async check(trial) {
      const { token } = await reach(trial, "failed");
      const failed = expectKind(await trial.claim({ maxAttempts: 1 }), "failed");
      assert.equal(failed.token, token);
      assert.equal((await trial.record()).final, true);
      expectSameBytes(failed.error, bytes("error"));
      expectKind(await trial.claim({ maxAttempts: 10 }), "failed");
      expectKind(await trial.claim(), "failed");
      assert.equal((await trial.record()).seen, 4);
    },
  },
  ...(["complete", "fail", "release", "step", "extend"] as const).map(
    (kind): Clause => ({
      rule: "rule 7, F6",
      name: `${kind} is refused once the attempts were used up by a takeover`,
      async check(trial) {
        const { token } = await reach(trial, "expired", { maxAttempts: 1 });
        expectKind(await trial.claim({ maxAttempts: 1 }), "failed");
        const before = await trial.record();
        expectKind(await trial[kind](token), "lost");
        expectSameRecord(await trial.record(), before);
      },
    }),
  ),
  {
    rule: "rule 7",
    name: "a release is never final, and gives its attempt back once",
    async check(trial) {
      for (let times = 0; times < 3; times += 1) {
        const { token, runs } = await trial.grant({ maxAttempts: 1 });
        assert.equal(runs, 1);
        assert.equal(expectKind(await trial.release(token), "settled").final, false);
        assert.equal(expectKind(await trial.release(token), "settled").final, false);
        const record = await trial.record();
        assert.equal(record.runs, 0);
        assert.equal(record.final, false);
      }
    },
  },
  {
    rule: "rule 7",
    name: "a release between two failures leaves the count of the failures",
    async check(trial) {
      const first = await trial.grant({ maxAttempts: 2 });
      expectKind(await trial.fail(first.token), "settled");
      const second = await trial.grant({ maxAttempts: 2 });
      assert.equal(second.runs, 2);
      expectKind(await trial.release(second.token), "settled");
      const third = await trial.grant({ maxAttempts: 2 });
      assert.equal(third.runs, 2);
      assert.equal(expectKind(await trial.fail(third.token), "settled").final, true);
    },
  },
  {
    rule: "rule 3, rule 7",
    name: "a final failure ends with its retention",
    async check(trial) {
      await reach(trial, "final", { retentionMs: BRIEF_MS });
      const restMs = await trial.passAlmost(BRIEF_MS);
      expectKind(await trial.claim(), "failed");
      await trial.pass(restMs);
      assert.equal((await trial.grant()).runs, 1);
    },
  },
  {
    rule: "rule 3, rule 7",
    name: "a record that a takeover made final ends with its retention",
    async check(trial) {
      await reach(trial, "expired", { maxAttempts: 1, retentionMs: BRIEF_MS });
      expectKind(await trial.claim({ maxAttempts: 1 }), "failed");
      await trial.pass(BRIEF_MS);
      assert.equal((await trial.grant({ maxAttempts: 1 })).runs, 1);
    },
  },
];
