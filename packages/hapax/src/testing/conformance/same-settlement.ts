import assert from "node:assert/strict";
import type { Token } from "../../core/record.js";
import type { Settlement } from "../../core/store.js";
import type { Clause } from "./clause.js";
import { bytes, expectKind, expectSameRecord } from "./expect.js";
import { reach } from "./states.js";
import { BRIEF_MS, type Trial } from "./trial.js";

/** Settlements that differ from each other in what counts: kind, bytes, and whether the work may run again. */
const DIFFERENT: Readonly<Record<string, (trial: Trial, token: Token) => Settlement>> = {
  complete: (trial, token) => trial.completion(token),
  "complete with another result": (trial, token) => trial.completion(token, { result: bytes("other") }),
  "complete with an empty result": (trial, token) => trial.completion(token, { result: bytes("") }),
  "complete without a result": (trial, token) => trial.completion(token, { result: undefined }),
  "complete with metadata": (trial, token) => trial.completion(token, { metadata: bytes("metadata") }),
  fail: (trial, token) => trial.failure(token),
  "fail with another error": (trial, token) => trial.failure(token, { error: bytes("other") }),
  "fail with an empty error": (trial, token) => trial.failure(token, { error: bytes("") }),
  "fail without an error": (trial, token) => trial.failure(token, { error: undefined }),
  "fail for good": (trial, token) => trial.failure(token, { permanent: true }),
  release: (trial, token) => trial.releasing(token),
};

/** Metadata that a settlement leaves alone is not compared: it says nothing about it. */
function saysLess(first: string, second: string): boolean {
  return first === "complete with metadata" && second === "complete";
}

/** The same settlement again is a lost reply; another one by that token is a contradiction. */
export const sameSettlementClauses: readonly Clause[] = [
  ...Object.entries(DIFFERENT).map(
    ([first, make]): Clause => ({
      rule: "rule 4",
      name: `${first}: the same again answers settled, and changes nothing`,
      async check(trial) {
        const { token } = await trial.grant({ arrivals: 2 });
        const settled = expectKind(await trial.settle(make(trial, token)), "settled");
        const before = await trial.record();
        for (let times = 0; times < 2; times += 1) {
          await trial.pass(1);
          assert.deepEqual(await trial.settle(make(trial, token)), settled);
          expectSameRecord(await trial.record(), before);
        }
      },
    }),
  ),
  ...Object.entries(DIFFERENT).map(
    ([first, make]): Clause => ({
      rule: "rule 4",
      name: `${first}: another settlement by that token is refused, and changes nothing`,
      async check(trial) {
        const { token } = await trial.grant();
        expectKind(await trial.settle(make(trial, token)), "settled");
        const before = await trial.record();
        for (const [second, makeOther] of Object.entries(DIFFERENT)) {
          if (second === first || saysLess(first, second)) continue;
          const answer = await trial.settle(makeOther(trial, token));
          assert.equal(answer.kind, "lost", `${second} after ${first} was answered ${answer.kind}`);
          expectSameRecord(await trial.record(), before);
        }
      },
    }),
  ),
  ...(["complete", "fail", "release"] as const).map(
    (kind): Clause => ({
      rule: "rule 4",
      name: `${kind} again past the retention is refused`,
      async check(trial) {
        const { token } = await trial.grant({ retentionMs: BRIEF_MS });
        expectKind(await trial[kind](token), "settled");
        await trial.pass(BRIEF_MS);
        expectKind(await trial[kind](token), "lost");
        assert.equal(await trial.read(), undefined);
      },
    }),
  ),
  ...(["fail", "release"] as const).map(
    (kind): Clause => ({
      rule: "rule 4",
      name: `${kind} again once the key runs anew is refused`,
      async check(trial) {
        const { token } = await trial.grant();
        expectKind(await trial[kind](token), "settled");
        await trial.grant();
        const before = await trial.record();
        expectKind(await trial[kind](token), "lost");
        expectSameRecord(await trial.record(), before);
      },
    }),
  ),
  {
    rule: "rule 4",
    name: "complete again after the record was re-created is refused",
    async check(trial) {
      const { token } = await reach(trial, "done", { retentionMs: BRIEF_MS });
      await trial.pass(BRIEF_MS);
      const second = await trial.grant();
      expectKind(await trial.complete(token), "lost");
      expectKind(await trial.complete(second.token), "settled");
    },
  },
];
