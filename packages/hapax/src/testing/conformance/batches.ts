import assert from "node:assert/strict";
import { BATCH_ITEMS_MAX } from "../../core/limits.js";
import type { Token } from "../../core/record.js";
import type { Clause } from "./clause.js";
import { bytes, expectDistinct, expectKind, expectSameBytes, kindsOf } from "./expect.js";
import { reach, STATES } from "./states.js";
import { NOBODYS_TOKEN } from "./trial.js";

const MANY = Array.from({ length: BATCH_ITEMS_MAX }, (_, index) => `key ${index}`);

/** One call is one batch: its items are independent, and its answers keep their order. */
export const batchClauses: readonly Clause[] = [
  {
    rule: "waist",
    name: "an empty batch is answered with nothing",
    async check({ store }) {
      assert.deepEqual(await store.claim([]), []);
      assert.deepEqual(await store.extend([]), []);
      assert.deepEqual(await store.settle([]), []);
    },
  },
  {
    rule: "waist",
    name: "claims of one batch that end differently are answered in their order",
    async check(trial) {
      for (const state of STATES) await reach(trial, state, { key: state, fingerprint: "a" });
      const expected = [
        ["new 1", "granted"],
        ["done", "done"],
        ["running", "busy"],
        ["final", "failed"],
        ["new 2", "granted"],
        ["uncertain", "uncertain"],
        ["expired", "granted"],
        ["failed", "granted"],
        ["released", "granted"],
      ] as const;
      const requests = expected.map(([key]) => trial.request({ key, fingerprint: "a" }));
      const mismatch = trial.request({ key: "done", fingerprint: "b" });
      const answers = await trial.store.claim([mismatch, ...requests, mismatch]);
      assert.deepEqual(kindsOf(answers), ["mismatch", ...expected.map(([, kind]) => kind), "mismatch"]);
      for (const [index, [key]] of expected.entries()) {
        const answer = answers[index + 1];
        if (answer?.kind === "granted") assert.equal(answer.token, (await trial.record(key)).token, key);
      }
    },
  },
  {
    rule: "waist",
    name: "settlements of one batch that end differently are answered in their order",
    async check(trial) {
      const stale = await reach(trial, "expired", { key: "taken" });
      const done = await trial.grant({ key: "done" });
      const failed = await trial.grant({ key: "failed" });
      const final = await trial.grant({ key: "final" });
      const released = await trial.grant({ key: "released" });
      const stepped = await trial.grant({ key: "stepped" });
      await trial.grant({ key: "taken" });
      const answers = await trial.store.settle([
        trial.completion(stale.token, { key: "taken" }),
        trial.completion(done.token, { key: "done" }),
        trial.failure(final.token, { key: "final", permanent: true }),
        trial.completion(NOBODYS_TOKEN, { key: "nobody's" }),
        trial.failure(failed.token, { key: "failed" }),
        trial.releasing(released.token, { key: "released" }),
        trial.stepResult(stepped.token, { key: "stepped" }),
        trial.stepResult(stale.token, { key: "taken" }),
      ]);
      assert.deepEqual(answers, [
        { kind: "lost" },
        { kind: "settled", final: false },
        { kind: "settled", final: true },
        { kind: "lost" },
        { kind: "settled", final: false },
        { kind: "settled", final: false },
        { kind: "settled", final: false },
        { kind: "lost" },
      ]);
      const statuses = ["taken", "done", "final", "failed", "released", "stepped"].map(
        async (key) => (await trial.record(key)).status,
      );
      assert.deepEqual(await Promise.all(statuses), ["running", "done", "failed", "failed", "failed", "running"]);
    },
  },
  {
    rule: "waist",
    name: "heartbeats of one batch that end differently are answered in their order",
    async check(trial) {
      const expired = await reach(trial, "expired", { key: "expired" });
      const one = await trial.grant({ key: "one" });
      const two = await trial.grant({ key: "two" });
      const lease = (key: string, token: Token) => ({ scope: trial.scope, key, token, leaseMs: 1_000_000 });
      const answers = await trial.store.extend([
        lease("two", two.token),
        lease("expired", expired.token),
        lease("nobody's", one.token),
        lease("one", one.token),
        lease("two", one.token),
      ]);
      assert.deepEqual(kindsOf(answers), ["extended", "lost", "lost", "extended", "lost"]);
    },
  },
  {
    rule: "waist",
    name: `a batch of ${BATCH_ITEMS_MAX} is claimed, extended, settled and replayed in its order`,
    async check(trial) {
      const answers = await trial.store.claim(MANY.map((key) => trial.request({ key })));
      const tokens = answers.map((answer) => expectKind(answer, "granted").token);
      expectDistinct(tokens);
      const named = MANY.map((key, index) => ({ key, token: tokens[index] as Token }));
      const extended = await trial.store.extend(
        named.map(({ key, token }) => ({ scope: trial.scope, key, token, leaseMs: 1_000_000 })),
      );
      assert.deepEqual(new Set(kindsOf(extended)), new Set(["extended"]));
      const settled = await trial.store.settle(
        named.map(({ key, token }) => trial.completion(token, { key, result: bytes(key) })),
      );
      assert.deepEqual(new Set(kindsOf(settled)), new Set(["settled"]));
      const reversed = [...MANY].reverse();
      const replays = await trial.store.claim(reversed.map((key) => trial.request({ key })));
      assert.equal(replays.length, MANY.length);
      for (const [index, replay] of replays.entries()) {
        expectSameBytes(expectKind(replay, "done").result, bytes(reversed[index] ?? ""));
      }
    },
  },
  {
    rule: "waist, rule 9",
    name: "the arrivals of one batch are counted record by record",
    async check(trial) {
      for (const key of ["done", "running", "failed"] as const) await reach(trial, key, { key });
      const arrivals = [
        ["done", 1],
        ["running", 2],
        ["failed", 0],
        ["done", 3],
        ["new", 4],
        ["running", 1],
        ["failed", 5],
        ["new", 1],
      ] as const;
      for (let times = 1; times <= 2; times += 1) {
        await trial.store.claim(arrivals.map(([key, count]) => trial.request({ key, arrivals: count })));
        const seen = ["done", "running", "failed", "new"].map(async (key) => (await trial.record(key)).seen);
        assert.deepEqual(await Promise.all(seen), [1 + 4 * times, 1 + 3 * times, 1 + 5 * times, 5 * times]);
      }
    },
  },
  {
    rule: "waist",
    name: "hostile neighbours harm nobody",
    async check(trial) {
      const hostile = ["'; drop table hapax_record; --", '"]}', "\\", "%", "$1", "{}", "[]", "null", "\u0001\u007f"];
      const keys = ["good 1", ...hostile, "good 2"];
      const claims = await trial.store.claim(
        keys.map((key) => trial.request({ key, owner: key, fingerprint: key, metadata: bytes(key) })),
      );
      const settlements = claims.map((answer, index) =>
        trial.completion(expectKind(answer, "granted").token, { key: keys[index] ?? "", result: bytes(`of ${index}`) }),
      );
      const stale = trial.completion(NOBODYS_TOKEN, { key: "good 1", result: new Uint8Array(1_000_000) });
      const settled = await trial.store.settle([stale, ...settlements]);
      assert.deepEqual(kindsOf(settled), ["lost", ...keys.map(() => "settled")]);
      for (const [index, key] of keys.entries()) {
        const record = await trial.record(key);
        assert.equal(record.owner, key);
        assert.equal(record.fingerprint, key);
        expectSameBytes(record.result, bytes(`of ${index}`));
      }
    },
  },
];
