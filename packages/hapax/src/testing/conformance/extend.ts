import assert from "node:assert/strict";
import type { Clause } from "./clause.js";
import { expectKind, expectNear, expectSameRecord } from "./expect.js";
import { reach, STATES } from "./states.js";
import { BRIEF_MS, LONG_MS, NOBODYS_TOKEN } from "./trial.js";

/** Heartbeats: they keep a live claim, and bring none back. */
export const extendClauses: readonly Clause[] = [
  {
    rule: "F2",
    name: "a heartbeat moves the deadline, and changes nothing else",
    async check(trial) {
      const { token } = await trial.grant({ leaseMs: LONG_MS / 2 });
      const before = await trial.record();
      const { leaseUntilMs } = expectKind(await trial.extend(token, { leaseMs: LONG_MS }), "extended");
      expectNear(leaseUntilMs, before.leaseUntilMs + LONG_MS / 2);
      expectSameRecord(await trial.record(), { ...before, leaseUntilMs });
    },
  },
  {
    rule: "F3",
    name: "work that outlives its first lease keeps the claim while heartbeats succeed",
    async check(trial) {
      const { token } = await trial.grant({ leaseMs: BRIEF_MS });
      expectKind(await trial.extend(token), "extended");
      await trial.pass(BRIEF_MS);
      expectKind(await trial.claim(), "busy");
      expectKind(await trial.extend(token), "extended");
      expectKind(await trial.complete(token), "settled");
    },
  },
  {
    rule: "F4",
    name: "the lease of the last heartbeat is over at its own deadline",
    async check(trial) {
      const { token } = await trial.grant({ leaseMs: LONG_MS });
      const extended = expectKind(await trial.extend(token, { leaseMs: BRIEF_MS }), "extended");
      assert.equal((await trial.record()).leaseUntilMs, extended.leaseUntilMs);
      const restMs = await trial.passAlmost(BRIEF_MS);
      expectKind(await trial.claim(), "busy");
      await trial.pass(restMs);
      assert.equal((await trial.grant()).takeover, true);
    },
  },
  {
    rule: "rule 5",
    name: "a heartbeat is accepted until the deadline and refused at it, although nobody took over",
    async check(trial) {
      const { token } = await trial.grant({ leaseMs: BRIEF_MS });
      const restMs = await trial.passAlmost(BRIEF_MS);
      expectKind(await trial.extend(token, { leaseMs: BRIEF_MS }), "extended");
      await trial.pass(restMs);
      await trial.pass(BRIEF_MS);
      const before = await trial.record();
      expectKind(await trial.extend(token), "lost");
      expectSameRecord(await trial.record(), before);
    },
  },
  {
    rule: "rule 5",
    name: "a heartbeat exactly at the deadline is refused",
    async check(trial) {
      const { token } = await reach(trial, "expired");
      expectKind(await trial.extend(token), "lost");
    },
  },
  {
    rule: "rule 5",
    name: "a refused heartbeat revives nothing: the next claim takes over",
    async check(trial) {
      const { token } = await reach(trial, "expired");
      expectKind(await trial.extend(token), "lost");
      expectKind(await trial.extend(token), "lost");
      assert.equal((await trial.grant()).takeover, true);
    },
  },
  {
    rule: "rule 5, F6",
    name: "a heartbeat after a takeover is refused, and the newer claim is untouched",
    async check(trial) {
      const { token } = await reach(trial, "expired");
      await trial.grant();
      const before = await trial.record();
      expectKind(await trial.extend(token), "lost");
      expectSameRecord(await trial.record(), before);
    },
  },
  ...STATES.filter((state) => state !== "running").map(
    (state): Clause => ({
      rule: "rule 5",
      name: `a heartbeat for a record that is ${state} is refused, and changes nothing`,
      async check(trial) {
        const { token } = await reach(trial, state);
        const before = await trial.record();
        expectKind(await trial.extend(token), "lost");
        expectSameRecord(await trial.record(), before);
      },
    }),
  ),
  {
    rule: "rule 8",
    name: "a heartbeat after a forget is refused, and makes no record",
    async check(trial) {
      const { token } = await reach(trial, "running");
      await trial.store.forget({ scope: trial.scope, key: "key", force: true });
      expectKind(await trial.extend(token), "lost");
      assert.equal(await trial.read(), undefined);
    },
  },
  {
    rule: "rule 1",
    name: "a heartbeat with a token that is not the record's is refused",
    async check(trial) {
      await reach(trial, "running");
      const { token: ofAnotherKey } = await trial.grant({ key: "another" });
      const before = await trial.record();
      expectKind(await trial.extend(ofAnotherKey), "lost");
      expectSameRecord(await trial.record(), before);
    },
  },
  {
    rule: "rule 1",
    name: "a heartbeat for a key without a record is refused, and makes none",
    async check(trial) {
      expectKind(await trial.extend(NOBODYS_TOKEN), "lost");
      assert.equal(await trial.read(), undefined);
    },
  },
];
