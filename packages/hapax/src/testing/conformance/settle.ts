import assert from "node:assert/strict";
import type { Clause } from "./clause.js";
import { bytes, expectKind, expectNear, expectSameBytes, expectSameRecord } from "./expect.js";
import { reach } from "./states.js";
import { LONG_MS, NOBODYS_TOKEN } from "./trial.js";

/** What ends an execution. `step` ends none, and is accepted by the same token rule. */
const ENDINGS = ["complete", "fail", "release"] as const;
const SETTLEMENTS = [...ENDINGS, "step"] as const;

/** Settlements: accepted by the token alone, whatever the clock says. */
export const settleClauses: readonly Clause[] = [
  {
    rule: "G4",
    name: "complete makes a running record done",
    async check(trial) {
      const { token } = await trial.grant();
      const { firstSeenAtMs } = await trial.record();
      const settled = expectKind(await trial.complete(token), "settled");
      assert.equal(settled.final, false);
      const record = await trial.record();
      assert.equal(record.status, "done");
      assert.equal(record.final, false);
      assert.equal(record.settledBy, "complete");
      assert.equal(record.token, token);
      assert.equal(record.runs, 1);
      expectSameBytes(record.result, bytes("result"));
      expectNear(record.finishedAtMs, firstSeenAtMs);
      expectNear(record.expiresAtMs, firstSeenAtMs + LONG_MS);
    },
  },
  {
    rule: "G4, G6",
    name: "fail makes a running record failed, to be run again",
    async check(trial) {
      const { token } = await trial.grant();
      const { firstSeenAtMs } = await trial.record();
      const settled = expectKind(await trial.fail(token), "settled");
      assert.equal(settled.final, false);
      const record = await trial.record();
      assert.equal(record.status, "failed");
      assert.equal(record.final, false);
      assert.equal(record.settledBy, "fail");
      assert.equal(record.runs, 1);
      assert.equal(record.result, undefined);
      expectSameBytes(record.error, bytes("error"));
      expectNear(record.finishedAtMs, firstSeenAtMs);
      expectNear(record.expiresAtMs, firstSeenAtMs + LONG_MS);
    },
  },
  {
    rule: "rule 7",
    name: "release makes a running record failed without an error, its run not counted",
    async check(trial) {
      const { token } = await reach(trial, "failed").then(() => trial.grant());
      const settled = expectKind(await trial.release(token), "settled");
      assert.equal(settled.final, false);
      const record = await trial.record();
      assert.equal(record.status, "failed");
      assert.equal(record.final, false);
      assert.equal(record.settledBy, "release");
      assert.equal(record.runs, 1);
      assert.equal(record.error, undefined);
      assert.ok(record.expiresAtMs !== undefined, "the retention of a released record has not begun");
    },
  },
  ...(["complete", "fail"] as const).map(
    (kind): Clause => ({
      rule: "G5",
      name: `${kind} replaces the metadata, or leaves it`,
      async check(trial) {
        const kept = await trial.grant({ key: "kept", metadata: bytes("of the claim") });
        expectKind(await trial[kind](kept.token, { key: "kept" }), "settled");
        expectSameBytes((await trial.record("kept")).metadata, bytes("of the claim"));
        const replaced = await trial.grant({ key: "replaced", metadata: bytes("of the claim") });
        expectKind(
          await trial[kind](replaced.token, { key: "replaced", metadata: bytes("of the settlement") }),
          "settled",
        );
        expectSameBytes((await trial.record("replaced")).metadata, bytes("of the settlement"));
      },
    }),
  ),
  ...ENDINGS.map(
    (kind): Clause => ({
      rule: "rule 5",
      name: `${kind} is accepted after the lease ran out, while nobody took over`,
      async check(trial) {
        const { token } = await reach(trial, "expired");
        expectKind(await trial[kind](token), "settled");
        assert.equal((await trial.record()).settledBy, kind);
      },
    }),
  ),
  ...ENDINGS.map(
    (kind): Clause => ({
      rule: "rule 5",
      name: `${kind} is accepted from uncertain, and ends it`,
      async check(trial) {
        const { token } = await reach(trial, "uncertain");
        expectKind(await trial[kind](token), "settled");
        const record = await trial.record();
        assert.equal(record.settledBy, kind);
        assert.ok(record.expiresAtMs !== undefined, "its retention has not begun");
        expectKind(await trial.claim(), kind === "complete" ? "done" : "granted");
      },
    }),
  ),
  ...SETTLEMENTS.map(
    (kind): Clause => ({
      rule: "rule 5, F6",
      name: `${kind} is refused after a takeover, and the newer record is untouched`,
      async check(trial) {
        const { token: stale } = await reach(trial, "expired");
        const { token } = await trial.grant();
        const before = await trial.record();
        expectKind(await trial[kind](stale), "lost");
        expectSameRecord(await trial.record(), before);
        expectKind(await trial.complete(token), "settled");
      },
    }),
  ),
  ...SETTLEMENTS.map(
    (kind): Clause => ({
      rule: "rule 5, F6",
      name: `${kind} is refused once a newer run of the key has ended`,
      async check(trial) {
        const { token: stale } = await reach(trial, "failed");
        const { token } = await trial.grant();
        expectKind(await trial.complete(token), "settled");
        const before = await trial.record();
        expectKind(await trial[kind](stale), "lost");
        expectSameRecord(await trial.record(), before);
      },
    }),
  ),
  ...SETTLEMENTS.map(
    (kind): Clause => ({
      rule: "rule 1",
      name: `${kind} with a token that is not the record's is refused`,
      async check(trial) {
        await reach(trial, "running");
        const { token: ofAnotherKey } = await trial.grant({ key: "another" });
        const before = await trial.record();
        expectKind(await trial[kind](NOBODYS_TOKEN), "lost");
        expectKind(await trial[kind](ofAnotherKey), "lost");
        expectSameRecord(await trial.record(), before);
      },
    }),
  ),
  ...SETTLEMENTS.map(
    (kind): Clause => ({
      rule: "rule 1",
      name: `${kind} on a key without a record is refused, and makes none`,
      async check(trial) {
        expectKind(await trial[kind](NOBODYS_TOKEN), "lost");
        assert.equal(await trial.read(), undefined);
        const { runs } = await trial.grant();
        assert.equal(runs, 1);
      },
    }),
  ),
];
