import assert from "node:assert/strict";
import { parseToken } from "../../core/record.js";
import type { Clause } from "./clause.js";
import { bytes, expectKind, expectNear, expectNewer, expectSameBytes, expectSameRecord } from "./expect.js";
import { reach } from "./states.js";
import { BRIEF_MS, LONG_MS } from "./trial.js";

/** What a claim answers in each state, and the record that a grant leaves. */
export const claimClauses: readonly Clause[] = [
  {
    rule: "rule 1, G1",
    name: "a claim on a new key is granted",
    async check(trial) {
      const granted = await trial.grant();
      assert.equal(parseToken(granted.token), granted.token);
      assert.equal(granted.runs, 1);
      assert.equal(granted.takeover, false);
      assert.equal(granted.steps.size, 0);
    },
  },
  {
    rule: "rule 1, G5",
    name: "the record of a grant holds what the claim said",
    async check(trial) {
      const request = trial.request({
        owner: "worker 1",
        fingerprint: "sha256:abc",
        onAbandoned: "hold",
        maxAttempts: 3,
        retentionMs: 1_234_567,
        metadata: bytes("source path"),
      });
      const granted = expectKind(await trial.claim(request), "granted");
      const { firstSeenAtMs, lastSeenAtMs, leaseUntilMs, metadata, ...record } = await trial.record();
      assert.deepEqual(record, {
        scope: trial.scope,
        key: "key",
        status: "running",
        final: false,
        token: granted.token,
        claimId: request.claimId,
        owner: "worker 1",
        fingerprint: "sha256:abc",
        onAbandoned: "hold",
        maxAttempts: 3,
        retentionMs: 1_234_567,
        finishedAtMs: undefined,
        expiresAtMs: undefined,
        runs: 1,
        seen: 1,
        settledBy: undefined,
        result: undefined,
        error: undefined,
      });
      expectSameBytes(metadata, bytes("source path"));
      expectNear(lastSeenAtMs, firstSeenAtMs);
      expectNear(leaseUntilMs, firstSeenAtMs + LONG_MS);
      assert.equal(granted.leaseUntilMs, leaseUntilMs);
    },
  },
  {
    rule: "rule 1, G3",
    name: "a claim on a live record is busy, and says for how long",
    async check(trial) {
      await reach(trial, "running");
      const { retryAfterMs } = expectKind(await trial.claim(), "busy");
      assert.ok(retryAfterMs > 0 && retryAfterMs <= LONG_MS, `retryAfterMs is ${retryAfterMs}`);
    },
  },
  {
    rule: "rule 1",
    name: "a busy duplicate changes nothing of the claim that is live",
    async check(trial) {
      await reach(trial, "running", { metadata: bytes("the holder's") });
      const before = await trial.record();
      const duplicate = { owner: "other", leaseMs: 1, retentionMs: 1, onAbandoned: "hold", maxAttempts: 1 } as const;
      expectKind(await trial.claim({ ...duplicate, metadata: bytes("other") }), "busy");
      const after = await trial.record();
      expectSameRecord({ ...after, lastSeenAtMs: before.lastSeenAtMs }, { ...before, seen: 2 });
    },
  },
  {
    rule: "rule 1, G2",
    name: "a lease is over when the store's time reaches its deadline, and not before",
    async check(trial) {
      const first = await trial.grant({ leaseMs: BRIEF_MS });
      const restMs = await trial.passAlmost(BRIEF_MS);
      expectKind(await trial.claim(), "busy");
      await trial.pass(restMs);
      const second = await trial.grant();
      assert.equal(second.takeover, true);
      expectNewer(second.token, first.token);
    },
  },
  {
    rule: "rule 1",
    name: "asking again when a busy answer said so meets a lease that is over",
    async check(trial) {
      await trial.grant({ leaseMs: BRIEF_MS });
      const { retryAfterMs } = expectKind(await trial.claim(), "busy");
      assert.ok(retryAfterMs <= BRIEF_MS, `retryAfterMs is ${retryAfterMs}`);
      await trial.pass(retryAfterMs);
      await trial.grant();
    },
  },
  {
    rule: "rule 1, F4",
    name: "a takeover is a run of its own, with the new claim's terms",
    async check(trial) {
      await reach(trial, "expired", { owner: "worker 1", metadata: bytes("first") });
      const request = trial.request({
        owner: "worker 2",
        metadata: bytes("second"),
        retentionMs: 1_000_000,
        maxAttempts: 9,
      });
      const granted = await trial.grant(request);
      assert.equal(granted.runs, 2);
      assert.equal(granted.takeover, true);
      const record = await trial.record();
      const { token, claimId, owner, retentionMs, maxAttempts, runs, seen } = record;
      assert.deepEqual(
        { token, claimId, owner, retentionMs, maxAttempts, runs, seen },
        {
          token: granted.token,
          claimId: request.claimId,
          owner: "worker 2",
          retentionMs: 1_000_000,
          maxAttempts: 9,
          runs: 2,
          seen: 2,
        },
      );
      expectSameBytes(record.metadata, bytes("second"));
      assert.equal(record.leaseUntilMs, granted.leaseUntilMs);
      expectNear(record.leaseUntilMs, record.lastSeenAtMs + LONG_MS);
    },
  },
  {
    rule: "rule 1, G6",
    name: "a failed record is granted to the next claim, without what the failure left",
    async check(trial) {
      const first = await reach(trial, "failed", { metadata: bytes("kept") });
      const { firstSeenAtMs } = await trial.record();
      const second = await trial.grant();
      assert.equal(second.runs, 2);
      assert.equal(second.takeover, false);
      expectNewer(second.token, first.token);
      const record = await trial.record();
      const { status, error, finishedAtMs, expiresAtMs, settledBy } = record;
      assert.deepEqual(
        { status, error, finishedAtMs, expiresAtMs, settledBy },
        { status: "running", error: undefined, finishedAtMs: undefined, expiresAtMs: undefined, settledBy: undefined },
      );
      assert.equal(record.firstSeenAtMs, firstSeenAtMs);
      // A claim that brings no metadata leaves what is there.
      expectSameBytes(record.metadata, bytes("kept"));
    },
  },
  {
    rule: "rule 7",
    name: "a released record is granted to the next claim, as if it had not run",
    async check(trial) {
      const first = await reach(trial, "released");
      const second = await trial.grant();
      assert.equal(second.runs, 1);
      assert.equal(second.takeover, false);
      expectNewer(second.token, first.token);
    },
  },
  {
    rule: "rule 1, G3",
    name: "a claim on a done record gets its result, however often it asks",
    async check(trial) {
      const granted = await reach(trial, "done");
      for (let times = 0; times < 3; times += 1) {
        const done = expectKind(await trial.claim(), "done");
        expectSameBytes(done.result, bytes("result"));
        assert.equal(done.token, granted.token);
        assert.equal(done.runs, 1);
        assert.equal(done.expiresAtMs, (await trial.record()).expiresAtMs);
      }
    },
  },
  {
    rule: "rule 7",
    name: "a claim on a final failure gets its error, however often it asks",
    async check(trial) {
      const granted = await reach(trial, "final");
      for (let times = 0; times < 3; times += 1) {
        const failed = expectKind(await trial.claim(), "failed");
        expectSameBytes(failed.error, bytes("error"));
        assert.equal(failed.token, granted.token);
        assert.equal(failed.runs, 1);
      }
    },
  },
  {
    rule: "rule 6",
    name: "a claim on an uncertain record learns whose it was, however often it asks",
    async check(trial) {
      const granted = await reach(trial, "uncertain", { metadata: bytes("payment 7") });
      for (let times = 0; times < 3; times += 1) {
        const uncertain = expectKind(await trial.claim(), "uncertain");
        assert.equal(uncertain.token, granted.token);
        assert.equal(uncertain.runs, 1);
        expectSameBytes(uncertain.metadata, bytes("payment 7"));
      }
    },
  },
];
