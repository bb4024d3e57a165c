import assert from "node:assert/strict";
import type { Clause } from "./clause.js";
import { expectKind, expectNewer, expectSameRecord, expectSteps } from "./expect.js";
import { reach } from "./states.js";
import { BRIEF_MS } from "./trial.js";

const CLAIM_ID = "the claim whose reply was lost";

/** The same claimId again: a caller that never heard its answer. */
export const sameClaimClauses: readonly Clause[] = [
  {
    rule: "rule 4",
    name: "the same claim again on its running record gets the same grant, and changes nothing",
    async check(trial) {
      const first = await reach(trial, "running", { claimId: CLAIM_ID });
      const before = await trial.record();
      const again = await trial.grant({ claimId: CLAIM_ID });
      assert.equal(again.token, first.token);
      assert.equal(again.runs, first.runs);
      assert.equal(again.takeover, false);
      assert.equal(again.leaseUntilMs, first.leaseUntilMs);
      expectSameRecord(await trial.record(), before);
    },
  },
  {
    rule: "rule 4",
    name: "the same claim again past its lease gets the same grant with its deadline unchanged",
    async check(trial) {
      const first = await reach(trial, "expired", { claimId: CLAIM_ID });
      const before = await trial.record();
      const again = await trial.grant({ claimId: CLAIM_ID });
      assert.equal(again.token, first.token);
      assert.equal(again.leaseUntilMs, first.leaseUntilMs);
      expectSameRecord(await trial.record(), before);
      // Its lease is over all the same.
      assert.equal((await trial.grant()).takeover, true);
    },
  },
  {
    rule: "rule 4",
    name: "the same claim again past its lease under hold, before anybody moved it, gets the same grant",
    async check(trial) {
      const claim = { claimId: CLAIM_ID, leaseMs: BRIEF_MS, onAbandoned: "hold" } as const;
      const first = await trial.grant(claim);
      await trial.pass(BRIEF_MS);
      const again = await trial.grant(claim);
      assert.equal(again.token, first.token);
      assert.equal(again.leaseUntilMs, first.leaseUntilMs);
    },
  },
  {
    rule: "rule 4",
    name: "the same claim again after a heartbeat has the deadline of the heartbeat",
    async check(trial) {
      const first = await trial.grant({ claimId: CLAIM_ID, leaseMs: BRIEF_MS });
      const extended = expectKind(await trial.extend(first.token), "extended");
      const again = await trial.grant({ claimId: CLAIM_ID });
      assert.equal(again.leaseUntilMs, extended.leaseUntilMs);
    },
  },
  {
    rule: "rule 4",
    name: "the same claim again has the steps that are finished",
    async check(trial) {
      const { token } = await reach(trial, "running", { claimId: CLAIM_ID });
      expectKind(await trial.step(token, { name: "charge" }), "settled");
      expectSteps(await trial.grant({ claimId: CLAIM_ID }), { charge: "step result" });
    },
  },
  ...(["failed", "released"] as const).map(
    (state): Clause => ({
      rule: "rule 4",
      name: `a late copy of a claim whose run was ${state} is stale, and changes nothing`,
      async check(trial) {
        await reach(trial, state, { claimId: CLAIM_ID });
        const before = await trial.record();
        expectKind(await trial.claim({ claimId: CLAIM_ID }), "stale");
        expectSameRecord(await trial.record(), before);
        await trial.grant();
      },
    }),
  ),
  ...(
    [
      ["done", "done"],
      ["final", "failed"],
      ["uncertain", "uncertain"],
    ] as const
  ).map(
    ([state, answer]): Clause => ({
      rule: "rule 4",
      name: `the same claim again on a record that is ${state} gets that state`,
      async check(trial) {
        await reach(trial, state, { claimId: CLAIM_ID });
        expectKind(await trial.claim({ claimId: CLAIM_ID }), answer);
      },
    }),
  ),
  {
    rule: "rule 4",
    name: "the same claim again after a takeover is a stranger's",
    async check(trial) {
      await reach(trial, "expired", { claimId: CLAIM_ID });
      const { token } = await trial.grant();
      expectKind(await trial.claim({ claimId: CLAIM_ID }), "busy");
      assert.equal((await trial.record()).token, token);
    },
  },
  {
    rule: "rule 4",
    name: "each takeover is the same grant to its own claim",
    async check(trial) {
      await reach(trial, "expired");
      const taken = await trial.grant({ claimId: CLAIM_ID });
      const again = await trial.grant({ claimId: CLAIM_ID });
      assert.equal(again.token, taken.token);
      assert.equal(again.runs, 2);
    },
  },
  {
    rule: "rule 2",
    name: "the same claim again past the retention is a new one",
    async check(trial) {
      const first = await reach(trial, "done", { claimId: CLAIM_ID, retentionMs: BRIEF_MS });
      await trial.pass(BRIEF_MS);
      const again = await trial.grant({ claimId: CLAIM_ID });
      expectNewer(again.token, first.token);
      assert.equal(again.runs, 1);
    },
  },
  {
    rule: "rule 8",
    name: "the same claim again after a forget is a new one",
    async check(trial) {
      const first = await reach(trial, "running", { claimId: CLAIM_ID });
      await trial.store.forget({ scope: trial.scope, key: "key", force: true });
      const again = await trial.grant({ claimId: CLAIM_ID });
      expectNewer(again.token, first.token);
      assert.equal(again.runs, 1);
    },
  },
];
