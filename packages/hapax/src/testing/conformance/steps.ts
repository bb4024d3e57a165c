import assert from "node:assert/strict";
import { STEP_NAME_BYTES_MAX } from "../../core/limits.js";
import type { Clause } from "./clause.js";
import { bytes, expectKind, expectSameBytes, expectSameRecord, expectSteps } from "./expect.js";
import { reach } from "./states.js";
import { BRIEF_MS, NOBODYS_TOKEN } from "./trial.js";

/** Results of finished steps: the next run of the record does not do them again. */
export const stepClauses: readonly Clause[] = [
  ...(["fail", "release"] as const).map(
    (kind): Clause => ({
      rule: "rule 5",
      name: `steps survive a ${kind}`,
      async check(trial) {
        const { token } = await trial.grant();
        expectKind(await trial.step(token, { name: "reserve", result: bytes("r1") }), "settled");
        expectKind(await trial.step(token, { name: "charge", result: bytes("c1") }), "settled");
        expectKind(await trial[kind](token), "settled");
        expectSteps(await trial.grant(), { reserve: "r1", charge: "c1" });
      },
    }),
  ),
  {
    rule: "rule 5, F4",
    name: "steps survive a takeover, and those of several runs add up",
    async check(trial) {
      const first = await trial.grant({ leaseMs: BRIEF_MS });
      expectKind(await trial.step(first.token, { name: "reserve", result: bytes("r1") }), "settled");
      await trial.pass(BRIEF_MS);
      const second = await trial.grant({ leaseMs: BRIEF_MS });
      expectSteps(second, { reserve: "r1" });
      expectKind(await trial.step(second.token, { name: "charge", result: bytes("c2") }), "settled");
      await trial.pass(BRIEF_MS);
      expectSteps(await trial.grant(), { reserve: "r1", charge: "c2" });
    },
  },
  {
    rule: "rule 5",
    name: "a step changes neither status nor lease, nor anything else of the record",
    async check(trial) {
      const { token } = await reach(trial, "running");
      const before = await trial.record();
      await trial.pass(1);
      assert.equal(expectKind(await trial.step(token), "settled").final, false);
      expectSameRecord(await trial.record(), before);
    },
  },
  {
    rule: "rule 5",
    name: "a step past the lease is accepted while nobody took over, and keeps the claim from nobody",
    async check(trial) {
      const { token } = await reach(trial, "expired");
      const before = await trial.record();
      expectKind(await trial.step(token, { result: bytes("late") }), "settled");
      expectSameRecord(await trial.record(), before);
      const next = await trial.grant();
      assert.equal(next.takeover, true);
      expectSteps(next, { step: "late" });
    },
  },
  {
    rule: "rule 5",
    name: "a step is accepted on an uncertain record, which stays uncertain",
    async check(trial) {
      const { token } = await reach(trial, "uncertain");
      expectKind(await trial.step(token, { result: bytes("late") }), "settled");
      expectKind(await trial.claim(), "uncertain");
      const to = { status: "failed", error: undefined, final: false } as const;
      expectKind(await trial.resolve(token, { to }), "resolved");
      expectSteps(await trial.grant(), { step: "late" });
    },
  },
  {
    rule: "rule 4",
    name: "the same step again with the same bytes is settled; with other bytes it is refused and the first stays",
    async check(trial) {
      const { token } = await trial.grant();
      expectKind(await trial.step(token, { result: bytes("first") }), "settled");
      expectKind(await trial.step(token, { result: bytes("first") }), "settled");
      expectKind(await trial.step(token, { result: bytes("second") }), "lost");
      expectKind(await trial.step(token, { result: bytes("") }), "lost");
      expectKind(await trial.release(token), "settled");
      expectSteps(await trial.grant(), { step: "first" });
    },
  },
  {
    rule: "rule 5, F6",
    name: "a step with a stale token is refused, and leaves nothing behind",
    async check(trial) {
      const { token: stale } = await reach(trial, "expired");
      const { token } = await trial.grant();
      expectKind(await trial.step(stale, { name: "stale" }), "lost");
      expectKind(await trial.step(token, { name: "current" }), "settled");
      expectKind(await trial.release(token), "settled");
      expectSteps(await trial.grant(), { current: "step result" });
    },
  },
  ...(["complete", "fail", "release"] as const).map(
    (kind): Clause => ({
      rule: "rule 5",
      name: `a step after ${kind} is refused, and leaves nothing behind`,
      async check(trial) {
        const { token } = await trial.grant();
        expectKind(await trial[kind](token), "settled");
        const before = await trial.record();
        expectKind(await trial.step(token), "lost");
        expectSameRecord(await trial.record(), before);
        if (kind !== "complete") expectSteps(await trial.grant(), {});
      },
    }),
  ),
  {
    rule: "rule 5",
    name: "a step for a key without a record is refused, and leaves nothing behind",
    async check(trial) {
      expectKind(await trial.step(NOBODYS_TOKEN), "lost");
      expectSteps(await trial.grant(), {});
    },
  },
  {
    rule: "rule 2",
    name: "the steps of a record that is done are gone when the key is granted anew",
    async check(trial) {
      const { token } = await trial.grant({ retentionMs: BRIEF_MS });
      expectKind(await trial.step(token), "settled");
      expectKind(await trial.complete(token), "settled");
      expectKind(await trial.complete(token), "settled");
      await trial.pass(BRIEF_MS);
      const fresh = await trial.grant();
      expectSteps(fresh, {});
      // The name is free again, for other bytes.
      expectKind(await trial.step(fresh.token, { result: bytes("anew") }), "settled");
      expectKind(await trial.release(fresh.token), "settled");
      expectSteps(await trial.grant(), { step: "anew" });
    },
  },
  {
    rule: "waist, rule 4",
    name: "a claim that is twice in one batch has the steps twice",
    async check(trial) {
      const { token } = await trial.grant();
      expectKind(await trial.step(token), "settled");
      expectKind(await trial.fail(token), "settled");
      const request = trial.request();
      for (const answer of await trial.store.claim([request, request])) {
        expectSteps(expectKind(answer, "granted"), { step: "step result" });
      }
    },
  },
  {
    rule: "waist",
    name: "steps belong to their own key",
    async check(trial) {
      const one = await trial.grant({ key: "one" });
      const two = await trial.grant({ key: "two" });
      expectKind(await trial.step(one.token, { key: "one" }), "settled");
      expectKind(await trial.release(one.token, { key: "one" }), "settled");
      expectKind(await trial.release(two.token, { key: "two" }), "settled");
      expectSteps(await trial.grant({ key: "one" }), { step: "step result" });
      expectSteps(await trial.grant({ key: "two" }), {});
    },
  },
  {
    rule: "waist",
    name: "step names are told apart to the last character, and their bytes come back as they were",
    async check(trial) {
      const names = [
        "charge",
        "Charge",
        "charge ",
        "e\u0301",
        "\u00e9",
        "🧾",
        "'; --",
        "x".repeat(STEP_NAME_BYTES_MAX),
      ];
      const { token } = await trial.grant();
      const answers = await trial.store.settle(
        names.map((name, index) => trial.stepResult(token, { name, result: Uint8Array.of(index, 0, 255) })),
      );
      for (const answer of answers) expectKind(answer, "settled");
      const empty = await trial.step(token, { name: "empty", result: new Uint8Array() });
      expectKind(empty, "settled");
      expectKind(await trial.fail(token), "settled");
      const { steps } = await trial.grant();
      assert.deepEqual(new Set(steps.keys()), new Set([...names, "empty"]));
      names.forEach((name, index) => {
        expectSameBytes(steps.get(name), Uint8Array.of(index, 0, 255));
      });
      expectSameBytes(steps.get("empty"), new Uint8Array());
    },
  },
];
