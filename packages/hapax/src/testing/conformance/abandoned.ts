import assert from "node:assert/strict";
import { BATCH_ITEMS_MAX } from "../../core/limits.js";
import type { Clause } from "./clause.js";
import { bytes, expectKind, expectSameBytes } from "./expect.js";
import { reach } from "./states.js";
import { BRIEF_MS } from "./trial.js";

const HELD = { leaseMs: BRIEF_MS, onAbandoned: "hold" } as const;

/** Claims whose lease ran out: run again, or held for a decision. */
export const abandonedClauses: readonly Clause[] = [
  {
    rule: "rule 6",
    name: "an expired claim of policy hold becomes uncertain for whoever claims it",
    async check(trial) {
      const { token } = await trial.grant({ ...HELD, metadata: bytes("payment 7") });
      await trial.pass(BRIEF_MS);
      const answer = expectKind(await trial.claim({ onAbandoned: "rerun" }), "uncertain");
      assert.equal(answer.token, token);
      assert.equal(answer.runs, 1);
      expectSameBytes(answer.metadata, bytes("payment 7"));
      const record = await trial.record();
      assert.equal(record.status, "uncertain");
      assert.equal(record.token, token);
      assert.equal(record.runs, 1);
      assert.equal(record.expiresAtMs, undefined);
    },
  },
  {
    rule: "rule 6",
    name: "an expired claim of policy rerun becomes uncertain if the arriving claim's policy is hold",
    async check(trial) {
      const { token } = await reach(trial, "expired", { onAbandoned: "rerun" });
      const answer = expectKind(await trial.claim({ onAbandoned: "hold" }), "uncertain");
      assert.equal(answer.token, token);
      // And stays so, whoever comes next.
      expectKind(await trial.claim({ onAbandoned: "rerun" }), "uncertain");
      assert.equal((await trial.record()).status, "uncertain");
    },
  },
  {
    rule: "rule 6",
    name: "a live claim of policy hold is busy until its deadline",
    async check(trial) {
      await trial.grant(HELD);
      const restMs = await trial.passAlmost(BRIEF_MS);
      expectKind(await trial.claim({ onAbandoned: "hold" }), "busy");
      await trial.pass(restMs);
      expectKind(await trial.claim({ onAbandoned: "hold" }), "uncertain");
    },
  },
  {
    rule: "rule 6",
    name: "a failed record is granted under hold as under rerun, and has the policy of its last claim",
    async check(trial) {
      await reach(trial, "failed", { onAbandoned: "hold" });
      const again = await trial.grant({ onAbandoned: "rerun", leaseMs: BRIEF_MS });
      assert.equal(again.takeover, false);
      await trial.pass(BRIEF_MS);
      const { token } = await trial.grant({ onAbandoned: "rerun" });
      expectKind(await trial.fail(token), "settled");
      await trial.grant(HELD);
      await trial.pass(BRIEF_MS);
      expectKind(await trial.claim({ onAbandoned: "rerun" }), "uncertain");
    },
  },
  {
    rule: "rule 6",
    name: "a read shows an abandoned claim of policy hold as uncertain",
    async check(trial) {
      await trial.grant(HELD);
      await trial.pass(BRIEF_MS);
      assert.equal((await trial.record()).status, "uncertain");
    },
  },
  {
    rule: "rule 6",
    name: "a list shows every abandoned claim of policy hold as uncertain",
    async check(trial) {
      const keys = Array.from({ length: BATCH_ITEMS_MAX + 100 }, (_, index) => `key ${index}`);
      const requests = keys.map((key) => trial.request({ key, ...HELD }));
      await trial.store.claim(requests.slice(0, BATCH_ITEMS_MAX));
      await trial.store.claim(requests.slice(BATCH_ITEMS_MAX));
      await trial.pass(BRIEF_MS);
      const running = await trial.pages({ status: "running" });
      assert.equal(running.flat().length, 0);
      const uncertain = await trial.pages({ status: "uncertain" });
      assert.deepEqual(new Set(uncertain.flat().map(({ key }) => key)), new Set(keys));
    },
  },
  {
    rule: "rule 6",
    name: "the upkeep moves abandoned claims of policy hold, and leaves those of policy rerun and live ones",
    async check(trial) {
      await trial.purgeAll();
      await trial.grant({ key: "held", ...HELD });
      await trial.grant({ key: "rerun", leaseMs: BRIEF_MS });
      await trial.grant({ key: "live", onAbandoned: "hold" });
      await trial.pass(BRIEF_MS);
      const { uncertain } = await trial.purgeAll();
      assert.ok(uncertain >= 1, `the upkeep moved ${uncertain}`);
      assert.equal((await trial.record("held")).status, "uncertain");
      assert.equal((await trial.record("rerun")).status, "running");
      assert.equal((await trial.record("live")).status, "running");
      expectKind(await trial.claim({ key: "held" }), "uncertain");
      assert.equal((await trial.grant({ key: "rerun" })).takeover, true);
    },
  },
  {
    rule: "rule 6",
    name: "a list leaves an expired claim of policy rerun running, to be taken over",
    async check(trial) {
      await reach(trial, "expired");
      const [record] = (await trial.pages()).flat();
      assert.equal(record?.status, "running");
      assert.equal((await trial.grant()).takeover, true);
    },
  },
  {
    rule: "rule 6, rule 7",
    name: "an abandoned claim of policy hold is uncertain also when its attempts are used up",
    async check(trial) {
      await trial.grant({ ...HELD, maxAttempts: 1 });
      await trial.pass(BRIEF_MS);
      expectKind(await trial.claim({ maxAttempts: 1 }), "uncertain");
      assert.equal((await trial.record()).final, false);
    },
  },
  {
    rule: "rule 3",
    name: "an uncertain record outlives its retention",
    async check(trial) {
      await reach(trial, "uncertain", { retentionMs: BRIEF_MS });
      await trial.pass(2 * BRIEF_MS);
      await trial.purgeAll();
      expectKind(await trial.claim(), "uncertain");
    },
  },
];
