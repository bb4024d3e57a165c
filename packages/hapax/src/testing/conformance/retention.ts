import assert from "node:assert/strict";
import type { Clause } from "./clause.js";
import { bytes, expectKind, expectNear, expectNewer, expectSteps } from "./expect.js";
import { reach } from "./states.js";
import { BRIEF_MS, type Trial } from "./trial.js";

const SETTLED_STATES = ["done", "failed", "released", "final"] as const;

/** Whether purge has come by or not must make no difference. */
const DELETIONS: readonly (readonly [when: string, act: (trial: Trial) => Promise<unknown>])[] = [
  ["before anything is deleted", async () => {}],
  ["after a purge", (trial) => trial.purgeAll()],
];

/** How long a settled record is remembered, and what is left of it afterwards: nothing. */
export const retentionClauses: readonly Clause[] = [
  {
    rule: "rule 3, G7",
    name: "retention starts at settle, and not at the claim",
    async check(trial) {
      const { token } = await trial.grant({ retentionMs: BRIEF_MS });
      await trial.pass(BRIEF_MS);
      expectKind(await trial.complete(token), "settled");
      const restMs = await trial.passAlmost(BRIEF_MS);
      expectKind(await trial.claim(), "done");
      await trial.pass(restMs);
      assert.equal((await trial.grant()).runs, 1);
    },
  },
  ...SETTLED_STATES.map(
    (state): Clause => ({
      rule: "rule 3, G7",
      name: `a record that is ${state} is there until its retention is over, and not after`,
      async check(trial) {
        await reach(trial, state, { retentionMs: BRIEF_MS });
        const { expiresAtMs, finishedAtMs } = await trial.record();
        expectNear(expiresAtMs, Number(finishedAtMs) + BRIEF_MS);
        const restMs = await trial.passAlmost(BRIEF_MS);
        await trial.record();
        await trial.pass(restMs);
        assert.equal(await trial.read(), undefined);
      },
    }),
  ),
  {
    rule: "rule 3, G7",
    name: "a running record never expires by its retention",
    async check(trial) {
      const { token } = await trial.grant({ retentionMs: BRIEF_MS });
      await trial.pass(3 * BRIEF_MS);
      await trial.purgeAll();
      expectKind(await trial.claim(), "busy");
      expectKind(await trial.extend(token), "extended");
      assert.equal((await trial.record()).expiresAtMs, undefined);
    },
  },
  {
    rule: "rule 3",
    name: "an expired claim that nobody took over outlives its retention",
    async check(trial) {
      await reach(trial, "expired", { retentionMs: BRIEF_MS });
      await trial.pass(2 * BRIEF_MS);
      await trial.purgeAll();
      const { takeover, runs } = await trial.grant();
      assert.equal(takeover, true);
      assert.equal(runs, 2);
    },
  },
  {
    rule: "rule 3",
    name: "a failed record that runs again has no retention until it settles again",
    async check(trial) {
      await reach(trial, "failed", { retentionMs: BRIEF_MS });
      const { token } = await trial.grant({ retentionMs: BRIEF_MS });
      await trial.pass(2 * BRIEF_MS);
      expectKind(await trial.claim(), "busy");
      expectKind(await trial.complete(token), "settled");
      expectKind(await trial.claim(), "done");
    },
  },
  {
    rule: "rule 3",
    name: "a duplicate does not prolong the retention",
    async check(trial) {
      await reach(trial, "done", { retentionMs: BRIEF_MS });
      const { expiresAtMs } = await trial.record();
      await trial.pass(1);
      expectKind(await trial.claim({ retentionMs: 1_000_000 }), "done");
      assert.equal((await trial.record()).expiresAtMs, expiresAtMs);
    },
  },
  {
    rule: "rule 3",
    name: "each record has the retention of its own claim",
    async check(trial) {
      await reach(trial, "done", { key: "long" });
      await reach(trial, "done", { key: "brief", retentionMs: BRIEF_MS });
      await trial.pass(BRIEF_MS);
      expectKind(await trial.claim({ key: "long" }), "done");
      await trial.grant({ key: "brief" });
    },
  },
  {
    rule: "rule 3",
    name: "a decision starts the retention of an uncertain record",
    async check(trial) {
      const { token } = await reach(trial, "uncertain", { retentionMs: BRIEF_MS });
      await trial.pass(BRIEF_MS);
      expectKind(await trial.resolve(token), "resolved");
      expectKind(await trial.claim(), "done");
      await trial.pass(BRIEF_MS);
      assert.equal((await trial.grant()).runs, 1);
    },
  },
  ...DELETIONS.flatMap(([when, act]) => [
    ...SETTLED_STATES.map(
      (state): Clause => ({
        rule: "rule 2",
        name: `past its retention a record that was ${state} is claimed as if it had never been, ${when}`,
        async check(trial) {
          const { token } = await trial.grant({ fingerprint: "a", metadata: bytes("old"), arrivals: 4 });
          expectKind(await trial.step(token), "settled");
          expectKind(await trial.fail(token), "settled");
          const old = await reach(trial, state, { fingerprint: "a", retentionMs: BRIEF_MS });
          const { firstSeenAtMs } = await trial.record();
          await trial.pass(BRIEF_MS);
          await act(trial);
          const fresh = await trial.grant({ fingerprint: "b" });
          assert.equal(fresh.runs, 1);
          assert.equal(fresh.takeover, false);
          expectSteps(fresh, {});
          expectNewer(fresh.token, old.token);
          const record = await trial.record();
          assert.equal(record.seen, 1);
          assert.equal(record.fingerprint, "b");
          assert.equal(record.metadata, undefined);
          assert.equal(record.error, undefined);
          assert.ok(record.firstSeenAtMs > firstSeenAtMs, "it remembers when the old record was first seen");
          expectKind(await trial.fail(fresh.token), "settled");
          expectSteps(await trial.grant(), {});
        },
      }),
    ),
    {
      rule: "rule 2",
      name: `past its retention a record is absent for every other operation, ${when}`,
      async check(trial: Trial) {
        for (const state of SETTLED_STATES) {
          const key = state;
          const { token } = await reach(trial, state, { key, retentionMs: BRIEF_MS });
          await trial.pass(BRIEF_MS);
          await act(trial);
          for (const kind of ["complete", "fail", "release", "step"] as const) {
            expectKind(await trial[kind](token, { key }), "lost");
          }
          expectKind(await trial.extend(token, { key }), "lost");
          expectKind(await trial.resolve(token, { key, seenStatus: "failed" }), "absent");
          assert.deepEqual(await trial.store.forget({ scope: trial.scope, key, force: true }), {
            forgotten: 0,
            live: 0,
          });
          assert.equal(await trial.read(key), undefined);
          assert.deepEqual((await trial.pages()).flat(), []);
        }
        assert.deepEqual(await trial.store.forget({ scope: trial.scope, key: undefined, force: true }), {
          forgotten: 0,
          live: 0,
        });
      },
    },
  ]),
];
