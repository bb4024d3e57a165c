import assert from "node:assert/strict";
import type { Store } from "../../core/store.js";
import type { Clause } from "./clause.js";
import { bytes, expectKind, expectNewer, expectSameBytes } from "./expect.js";
import { reach } from "./states.js";

/** What a store says of itself, and how it is set up. */
export const setUpClauses: readonly Clause[] = [
  {
    rule: "waist",
    name: "capabilities are booleans, and true of the store",
    async check(trial) {
      const store: Store<unknown> = trial.store;
      const { durable, shared, push, transactions, synchronousTransactions, blocking } = store.capabilities;
      for (const said of [durable, shared, push, transactions, synchronousTransactions, blocking]) {
        assert.equal(typeof said, "boolean");
      }
      assert.equal(push, store.watch !== undefined);
      assert.equal(transactions, store.transaction !== undefined);
      assert.ok(transactions || !synchronousTransactions, "it has no transactions that could be synchronous");
    },
  },
  {
    rule: "waist",
    name: "migrating again, many times at once, keeps every record and every token",
    async check(trial) {
      const { token } = await reach(trial, "done");
      await Promise.all(Array.from({ length: 5 }, () => trial.store.migrate()));
      expectSameBytes(expectKind(await trial.claim(), "done").result, bytes("result"));
      expectNewer((await trial.grant({ key: "another" })).token, token);
    },
  },
];
