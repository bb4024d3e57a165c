import assert from "node:assert/strict";
import type { Clause } from "./clause.js";
import { bytes, expectKind, expectNewer, expectSameBytes, expectSameRecord } from "./expect.js";
import { reach } from "./states.js";
import { BRIEF_MS, NOBODYS_TOKEN } from "./trial.js";

const RUN_AGAIN = { status: "failed", error: undefined, final: false } as const;

/** Decisions about a record, made by someone who saw its token and status. */
export const resolveClauses: readonly Clause[] = [
  {
    rule: "rule 6",
    name: "an uncertain record resolved as done is replayed",
    async check(trial) {
      const { token } = await reach(trial, "uncertain");
      expectKind(await trial.resolve(token), "resolved");
      const done = expectKind(await trial.claim(), "done");
      assert.equal(done.token, token);
      expectSameBytes(done.result, bytes("resolved"));
      const record = await trial.record();
      assert.equal(record.status, "done");
      assert.equal(record.settledBy, "resolve");
      assert.equal(record.runs, 1);
      assert.ok(record.finishedAtMs !== undefined && record.expiresAtMs !== undefined, "its retention has not begun");
    },
  },
  {
    rule: "rule 6",
    name: "an uncertain record resolved as failed runs again",
    async check(trial) {
      const { token } = await reach(trial, "uncertain");
      expectKind(await trial.resolve(token, { to: { ...RUN_AGAIN, error: bytes("lost in the post") } }), "resolved");
      const record = await trial.record();
      assert.equal(record.status, "failed");
      assert.equal(record.final, false);
      expectSameBytes(record.error, bytes("lost in the post"));
      const granted = await trial.grant();
      assert.equal(granted.runs, 2);
      assert.equal(granted.takeover, false);
      expectNewer(granted.token, token);
    },
  },
  {
    rule: "rule 6",
    name: "an uncertain record resolved as failed for good is replayed as its error",
    async check(trial) {
      const { token } = await reach(trial, "uncertain");
      const to = { status: "failed", error: bytes("never arrived"), final: true } as const;
      expectKind(await trial.resolve(token, { to }), "resolved");
      expectSameBytes(expectKind(await trial.claim(), "failed").error, bytes("never arrived"));
    },
  },
  {
    rule: "rule 7",
    name: "a final failure resolved as done is replayed, and its error is gone",
    async check(trial) {
      const { token } = await reach(trial, "final");
      expectKind(await trial.resolve(token, { seenStatus: "failed" }), "resolved");
      expectSameBytes(expectKind(await trial.claim(), "done").result, bytes("resolved"));
      const record = await trial.record();
      assert.equal(record.final, false);
      assert.equal(record.error, undefined);
    },
  },
  {
    rule: "rule 7",
    name: "a final failure resolved as failed runs again",
    async check(trial) {
      const { token } = await reach(trial, "final");
      expectKind(await trial.resolve(token, { seenStatus: "failed", to: RUN_AGAIN }), "resolved");
      assert.equal((await trial.record()).final, false);
      assert.equal((await trial.grant()).runs, 2);
    },
  },
  {
    rule: "rule 7",
    name: "an uncertain record resolved as failed is final when its attempts are used up, and not before",
    async check(trial) {
      for (const [maxAttempts, answer] of [
        [1, "failed"],
        [2, "granted"],
      ] as const) {
        const key = `${maxAttempts} attempts`;
        const { token } = await reach(trial, "uncertain", { key, maxAttempts });
        expectKind(await trial.resolve(token, { key, to: RUN_AGAIN }), "resolved");
        assert.equal((await trial.record(key)).final, answer === "failed");
        expectKind(await trial.claim({ key }), answer);
      }
    },
  },
  {
    rule: "rule 6",
    name: "an abandoned claim of policy hold can be resolved before anybody else has seen it",
    async check(trial) {
      const { token } = await trial.grant({ leaseMs: BRIEF_MS, onAbandoned: "hold" });
      await trial.pass(BRIEF_MS);
      expectKind(await trial.resolve(token), "resolved");
      expectKind(await trial.claim(), "done");
    },
  },
  {
    rule: "rule 6",
    name: "a decision on another token is refused, and changes nothing",
    async check(trial) {
      await reach(trial, "uncertain");
      const { token: other } = await trial.grant({ key: "another" });
      const before = await trial.record();
      expectKind(await trial.resolve(other), "changed");
      expectKind(await trial.resolve(NOBODYS_TOKEN), "changed");
      expectSameRecord(await trial.record(), before);
    },
  },
  ...(
    [
      ["uncertain", "failed"],
      ["failed", "uncertain"],
      ["final", "uncertain"],
      ["running", "uncertain"],
      ["running", "failed"],
      ["expired", "uncertain"],
      ["done", "uncertain"],
      ["done", "failed"],
    ] as const
  ).map(
    ([state, seenStatus]): Clause => ({
      rule: "rule 6",
      name: `a decision of someone who saw ${seenStatus} is refused on a record that is ${state}, and changes nothing`,
      async check(trial) {
        const { token } = await reach(trial, state);
        const before = await trial.record();
        expectKind(await trial.resolve(token, { seenStatus }), "changed");
        expectSameRecord(await trial.record(), before);
      },
    }),
  ),
  {
    rule: "rule 6",
    name: "of two decisions the second is refused",
    async check(trial) {
      const { token } = await reach(trial, "uncertain");
      expectKind(await trial.resolve(token), "resolved");
      const before = await trial.record();
      expectKind(await trial.resolve(token, { to: RUN_AGAIN }), "changed");
      expectKind(await trial.resolve(token), "changed");
      expectSameRecord(await trial.record(), before);
    },
  },
  {
    rule: "rule 6",
    name: "a decision is refused once the worker has reported",
    async check(trial) {
      const { token } = await reach(trial, "uncertain");
      expectKind(await trial.complete(token), "settled");
      expectKind(await trial.resolve(token), "changed");
      expectSameBytes(expectKind(await trial.claim(), "done").result, bytes("result"));
    },
  },
  {
    rule: "rule 6",
    name: "a decision on a failure is refused once the key runs again",
    async check(trial) {
      const { token } = await reach(trial, "failed");
      await trial.grant();
      expectKind(await trial.resolve(token, { seenStatus: "failed" }), "changed");
      assert.equal((await trial.record()).status, "running");
    },
  },
  {
    rule: "rule 6",
    name: "a decision on a key without a record finds none, and makes none",
    async check(trial) {
      expectKind(await trial.resolve(NOBODYS_TOKEN), "absent");
      assert.equal(await trial.read(), undefined);
    },
  },
  ...(["done", "failed"] as const).flatMap((status) =>
    (["complete", "fail", "release", "step", "extend"] as const).map(
      (kind): Clause => ({
        rule: "rule 6",
        name: `${kind} is refused once the record was resolved as ${status}, also with the same bytes`,
        async check(trial) {
          const { token } = await reach(trial, "uncertain");
          const to =
            status === "done"
              ? ({ status, result: bytes("result") } as const)
              : ({ status, error: bytes("error"), final: false } as const);
          expectKind(await trial.resolve(token, { to }), "resolved");
          const before = await trial.record();
          expectKind(await trial[kind](token), "lost");
          expectSameRecord(await trial.record(), before);
        },
      }),
    ),
  ),
];
